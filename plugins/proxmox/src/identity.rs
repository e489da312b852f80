//! Whose machine it is: the cluster's tag, the claim in the description, and the random identity of one creation.

/// The tag that every machine of emhost carries.
pub const TAG: &str = "emhost";

/// The tag of one cluster.
pub fn cluster_tag(cluster: &str) -> String {
    format!("{TAG}-{cluster}").to_ascii_lowercase()
}

/// What a description says about a machine of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The cluster's id.
    pub cluster: String,
    /// The node's name.
    pub node: String,
    /// Made at random for one creation.
    pub identity: String,
}

impl Claim {
    /// The line that makes the claim.
    pub fn line(&self) -> String {
        format!("emhost cluster={} node={} identity={}", self.cluster, self.node, self.identity)
    }

    /// The first claim in a description.
    pub fn find(description: &str) -> Option<Self> {
        description.lines().find_map(Self::read)
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.trim().split(' ');
        if words.next()? != "emhost" {
            return None;
        }
        let mut value = |key: &str| {
            let (known, value) = words.next()?.split_once('=')?;
            (known == key && !value.is_empty()).then(|| value.to_owned())
        };
        Some(Self { cluster: value("cluster")?, node: value("node")?, identity: value("identity")? })
    }

    /// A description that makes this claim and no other, with everything else that people wrote into it.
    pub fn written_into(&self, description: &str) -> String {
        let others = description.lines().filter(|line| Self::read(line).is_none());
        std::iter::once(self.line()).chain(others.map(str::to_owned)).collect::<Vec<_>>().join("\n")
    }
}

/// The tags of a machine, whichever of its separators Proxmox used.
pub fn tags(text: &str) -> Vec<String> {
    let words = text.split([',', ';', ' ']).filter(|tag| !tag.is_empty());
    words.map(str::to_ascii_lowercase).collect()
}

/// A UUID of version 4 out of 16 random bytes.
pub fn uuid(random: &[u8]) -> String {
    let mut bytes = [0u8; 16];
    for (byte, random) in bytes.iter_mut().zip(random) {
        *byte = *random;
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = crate::digest::hex(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// An identity that nobody else will ever have.
pub fn new() -> String {
    uuid(&wasip2::random::random::get_random_bytes(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim() -> Claim {
        Claim { cluster: "c0ffee".to_owned(), node: "dev-cp-1".to_owned(), identity: uuid(&[0xff; 16]) }
    }

    #[test]
    fn a_claim_is_found_among_what_people_wrote() {
        let line = "emhost cluster=c0ffee node=dev-cp-1 identity=ffffffff-ffff-4fff-bfff-ffffffffffff";
        assert_eq!(claim().line(), line);
        assert_eq!(Claim::find(&format!("ask Ann\n  {line}\nbefore you touch it\n")), Some(claim()));
        for other in
            ["", "emhost", "emhost cluster=a node=b", "emhost cluster= node=b identity=c", "see emhost cluster=a node=b identity=c"]
        {
            assert_eq!(Claim::find(other), None, "{other}");
        }
    }

    #[test]
    fn a_description_makes_one_claim_and_keeps_the_rest() {
        let other = Claim { identity: "old".to_owned(), ..claim() };
        let text = claim().written_into(&format!("a\n{}\nb", other.line()));
        assert_eq!(text, format!("{}\na\nb", claim().line()));
    }

    #[test]
    fn identities_are_uuids_of_version_4() {
        assert_eq!(uuid(&[0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(tags("B;a,emhost-x c"), ["b", "a", "emhost-x", "c"]);
        assert_eq!(cluster_tag("C0FFEE"), "emhost-c0ffee");
    }
}

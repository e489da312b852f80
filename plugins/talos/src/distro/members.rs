//! The members of etcd, by which the host keeps quorum.

use emhost_sdk::distro::Member;
use emhost_sdk::{Attribute, Cluster, Failure, Node, Site};
use emhost_talos_api::machine::{EtcdMember, EtcdMemberAlarmAlarmType, EtcdMemberStatus};

use super::api::Api;
use super::client::{Client, address};
use super::refusal::said;

/// Control planes that answer, and the members that etcd lists.
pub struct Council {
    /// Every control plane that answers, by name.
    pub planes: Vec<(String, Api)>,
    /// What etcd lists, and through whom.
    pub listed: Option<(usize, Vec<EtcdMember>)>,
    /// Why the others do not answer, and why those that do list nothing.
    pub troubles: Vec<String>,
}

impl Council {
    /// Asks every control plane, once.
    pub fn gather(client: &Client<'_>) -> Result<Self, Failure> {
        let (mut planes, mut listed, mut troubles) = (Vec::new(), None, Vec::new());
        for node in client.control_planes() {
            let name = node.name();
            if node.machine_identity().is_none() {
                troubles.push(format!("{name} has no machine"));
                continue;
            }
            match client.configured(&node)? {
                Err(why) => troubles.push(format!("{name}: {why}")),
                Ok((api, _)) => {
                    if listed.is_none() {
                        match list(&api)? {
                            Ok(members) => listed = Some((planes.len(), members)),
                            Err(why) => troubles.push(format!("{name}: {why}")),
                        }
                    }
                    planes.push((name, api));
                }
            }
        }
        Ok(Self { planes, listed, troubles })
    }

    /// The members, and the node through which they were listed.
    pub fn members(&self) -> Option<(&Api, &[EtcdMember])> {
        let (through, members) = self.listed.as_ref()?;
        Some((&self.planes.get(*through)?.1, members))
    }

    fn api(&self, name: &str) -> Option<&Api> {
        self.planes.iter().find(|(plane, _)| plane == name).map(|(_, api)| api)
    }
}

fn list(api: &Api) -> Result<Result<Vec<EtcdMember>, String>, Failure> {
    // Whoever asks a node without etcd waits for a while.
    let service = api.service("etcd").map_err(api.failed("ask for its services"))?;
    match service {
        Some(service) if service.state == "Running" => {}
        Some(service) => return Ok(Err(format!("etcd is {}", service.state))),
        None => return Ok(Err("it has no etcd".to_owned())),
    }
    match api.etcd_members() {
        Ok(members) if members.is_empty() => Ok(Err("etcd lists no members".to_owned())),
        Ok(members) => Ok(Ok(members)),
        Err(status) => Ok(Err(said(&status))),
    }
}

/// Lists them.
pub fn members(site: Site<'_>) -> Result<Vec<Member>, Failure> {
    let client = Client::new(site.cluster);
    let council = Council::gather(&client)?;
    let Some((through, listed)) = council.members() else {
        let summary = format!("no control plane of {} lists the members of etcd: {}", site.cluster.name(), council.troubles.join("; "));
        return Err(Failure::unavailable("talos/members", summary).help("see whether a majority of the control planes runs"));
    };
    let alarms = through.etcd_alarms().unwrap_or_default();
    let alarm = |id: u64| {
        let of = alarms.iter().filter(|alarm| alarm.member_id == id && alarm.alarm != EtcdMemberAlarmAlarmType::None as i32);
        of.map(|alarm| EtcdMemberAlarmAlarmType::try_from(alarm.alarm).map_or("unknown", name_of)).next()
    };
    let judged = |member: &EtcdMember| {
        let node = node_of(site.cluster, member);
        let health = match council.api(&node) {
            None => Err("its node does not answer".to_owned()),
            Some(api) => api.etcd_status().map_err(|status| said(&status)).and_then(|status| judge(member.id, &status)),
        };
        let trouble = alarm(member.id).map(|alarm| format!("alarm {alarm}")).or(health.err());
        let mut attributes = vec![attribute("id", format!("{:016x}", member.id))];
        attributes.extend(trouble.as_ref().map(|trouble| attribute("trouble", trouble.clone())));
        Member { node: Some(node), voting: !member.is_learner, healthy: trouble.is_none(), attributes }
    };
    Ok(listed.iter().map(judged).collect())
}

fn attribute(key: &str, value: String) -> Attribute {
    Attribute { key: key.to_owned(), value }
}

fn name_of(alarm: EtcdMemberAlarmAlarmType) -> &'static str {
    match alarm {
        EtcdMemberAlarmAlarmType::None => "none",
        EtcdMemberAlarmAlarmType::Nospace => "no space",
        EtcdMemberAlarmAlarmType::Corrupt => "corrupt",
    }
}

/// What is wrong with a member by its own words.
fn judge(id: u64, status: &EtcdMemberStatus) -> Result<(), String> {
    if status.member_id != id {
        return Err("its node has another member".to_owned());
    }
    if !status.errors.is_empty() {
        return Err(status.errors.join("; "));
    }
    if status.leader == 0 { Err("it knows no leader".to_owned()) } else { Ok(()) }
}

/// The node that a member belongs to: by its name, else by its address. One that the inventory does not know keeps its own name.
pub fn node_of(cluster: &Cluster, member: &EtcdMember) -> String {
    let known: Vec<(String, Option<String>)> = cluster.nodes().iter().map(|node: &Node| (node.name(), address(node))).collect();
    matching(&known, member).unwrap_or_else(|| member.hostname.clone())
}

/// Whether a member is this node's.
pub fn is_of(node: &Node, member: &EtcdMember) -> bool {
    matching(&[(node.name(), address(node))], member).is_some()
}

fn matching(known: &[(String, Option<String>)], member: &EtcdMember) -> Option<String> {
    let by_name = known.iter().find(|(name, _)| *name == member.hostname);
    let hosts: Vec<&str> = member.peer_urls.iter().chain(&member.client_urls).filter_map(|url| host(url)).collect();
    let at = |address: &Option<String>| address.as_deref().is_some_and(|address| hosts.contains(&address));
    by_name.or_else(|| known.iter().find(|(_, address)| at(address))).map(|(name, _)| name.clone())
}

/// The host in `https://10.0.0.1:2380` or `https://[fd00::1]:2380`.
fn host(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next(),
        None => rest.split([':', '/']).next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_belongs_to_a_node_by_name_or_address() {
        let member = |hostname: &str, url: &str| EtcdMember {
            id: 1,
            hostname: hostname.to_owned(),
            peer_urls: vec![url.to_owned()],
            client_urls: Vec::new(),
            is_learner: false,
        };
        let known = [("cp-1".to_owned(), Some("10.0.0.1".to_owned())), ("cp-2".to_owned(), Some("fd00::2".to_owned()))];
        assert_eq!(matching(&known, &member("cp-1", "https://10.0.0.9:2380")).as_deref(), Some("cp-1"));
        assert_eq!(matching(&known, &member("talos-a", "https://10.0.0.1:2380")).as_deref(), Some("cp-1"));
        assert_eq!(matching(&known, &member("talos-a", "https://[fd00::2]:2380")).as_deref(), Some("cp-2"));
        assert_eq!(matching(&known, &member("talos-a", "https://10.0.0.11:2380")), None);
    }

    #[test]
    fn a_member_is_healthy_by_its_own_words() {
        let status = EtcdMemberStatus { member_id: 7, leader: 7, ..EtcdMemberStatus::default() };
        assert_eq!(judge(7, &status), Ok(()));
        assert!(judge(8, &status).is_err());
        assert!(judge(7, &EtcdMemberStatus { leader: 0, ..status.clone() }).is_err());
        assert_eq!(judge(7, &EtcdMemberStatus { errors: vec!["no leader".to_owned()], ..status }), Err("no leader".to_owned()));
    }
}

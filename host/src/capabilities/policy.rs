//! What a plugin may do: the one place where grants are decided. Pure.
//!
//! A right takes four yeses: the plugin *asks* for it in its manifest, the site *granted* it, the
//! *role* it is called in may ever have it, and the *verb* may use it (a plan changes nothing).
//! What a component does not import it cannot call at all, so imports need no check here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::plugins::Role;

/// A function of the contract, as the host calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are those of the contract")]
pub enum Verb {
    Validate,
    UpgradeState,
    Prepare,
    RenderConfig,
    Resolve,
    Media,
    Ensure,
    Versions,
    Discover,
    CheckDevice,
    Assign,
    ContributeGpu,
    CheckSite,
    ObserveMachine,
    PlanMachine,
    ApplyMachine,
    Owned,
    Discard,
    ObserveNode,
    PlanNode,
    ApplyNode,
    PlanCluster,
    ApplyCluster,
    Members,
    Health,
    Access,
    Backup,
    Restore,
    ContributeAddon,
    RenderAddon,
}

/// How far a verb reaches beyond its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// Nothing: the same inputs give the same answer.
    Pure,
    /// Secrets only, which it may also create.
    Prepares,
    /// It looks, and changes nothing.
    Reads,
    /// One change per call.
    Changes,
}

impl Verb {
    /// The role it belongs to; none for `lifecycle`, which runs without any grant.
    pub fn role(self) -> Option<Role> {
        #[allow(clippy::enum_glob_use, reason = "a table of all of them")]
        use Verb::*;
        Some(match self {
            Validate | UpgradeState => return None,
            Prepare | RenderConfig => Role::Configurator,
            Resolve | Media | Ensure | Versions => Role::BootSource,
            Discover | CheckDevice | Assign | ContributeGpu => Role::Gpu,
            CheckSite | ObserveMachine | PlanMachine | ApplyMachine | Owned | Discard => Role::Provisioner,
            ObserveNode | PlanNode | ApplyNode | PlanCluster | ApplyCluster | Members | Health | Access => Role::Distro,
            Backup | Restore => Role::DistroBackup,
            ContributeAddon | RenderAddon => Role::Addon,
        })
    }

    /// The name in the contract, with its interface: `provisioner.apply`.
    pub fn as_str(self) -> &'static str {
        #[allow(clippy::enum_glob_use, reason = "a table of all of them")]
        use Verb::*;
        match self {
            Validate => "lifecycle.validate",
            UpgradeState => "lifecycle.upgrade-state",
            Prepare => "configurator.prepare",
            RenderConfig => "configurator.render",
            Resolve => "boot-source.resolve",
            Media => "boot-source.media",
            Ensure => "boot-source.ensure",
            Versions => "boot-source.versions",
            Discover => "gpu.discover",
            CheckDevice => "gpu.check",
            Assign => "gpu.assign",
            ContributeGpu => "gpu.contribute",
            CheckSite => "provisioner.check",
            ObserveMachine => "provisioner.observe",
            PlanMachine => "provisioner.plan",
            ApplyMachine => "provisioner.apply",
            Owned => "provisioner.owned",
            Discard => "provisioner.discard",
            ObserveNode => "distro.observe",
            PlanNode => "distro.plan",
            ApplyNode => "distro.apply",
            PlanCluster => "distro.plan-cluster",
            ApplyCluster => "distro.apply-cluster",
            Members => "distro.members",
            Health => "distro.health",
            Access => "distro.access",
            Backup => "distro-backup.backup",
            Restore => "distro-backup.restore",
            ContributeAddon => "addon.contribute",
            RenderAddon => "addon.render",
        }
    }

    fn reach(self) -> Reach {
        #[allow(clippy::enum_glob_use, reason = "a table of all of them")]
        use Verb::*;
        match self {
            Validate | UpgradeState | RenderConfig | Media | Assign | ContributeGpu | ContributeAddon | RenderAddon => Reach::Pure,
            Prepare => Reach::Prepares,
            Resolve | Versions | Discover | CheckDevice | CheckSite | ObserveMachine | PlanMachine | Owned | ObserveNode | PlanNode
            | PlanCluster | Members | Health | Access | Backup => Reach::Reads,
            Ensure | ApplyMachine | Discard | ApplyNode | ApplyCluster | Restore => Reach::Changes,
        }
    }

    /// Whether one change may go out in this call.
    pub fn changes(self) -> bool {
        self.reach() == Reach::Changes
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name, or the beginning of names where it ends in `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern(String);

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => self.0 == name,
        }
    }

    fn covers(&self, other: &Self) -> bool {
        match other.0.strip_suffix('*') {
            Some(start) => self.0.ends_with('*') && self.matches(start),
            None => self.matches(&other.0),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One right, as it is written in a manifest, on the command line and in `emhost.lock`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Grant {
    /// `http:SLOT`: HTTP requests to the slot, with its credential.
    Http(String),
    /// `grpc:SLOT`: gRPC calls to the slot.
    Grpc(String),
    /// `grpc-read:SLOT:/service/Method`: this method only reads, so it is no change.
    GrpcRead(String, Pattern),
    /// `secret:NAME`: a handle on the secret, without its bytes.
    Secret(Pattern),
    /// `store:NAME`: keep a value under the name, unless there is one.
    Store(Pattern),
    /// `reveal:NAME`: the secret's bytes.
    Reveal(Pattern),
    /// `generate:NAME`: have the host make a key under the name, unless there is one.
    Generate(Pattern),
    /// `sign:NAME`: have the host sign with the secret as an authority.
    Sign(Pattern),
    /// `archive`: large bytes that the host keeps.
    Archive,
}

/// A grant nobody could have meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no grant: {reason}")]
pub struct GrantError {
    text: String,
    reason: &'static str,
}

/// Whether a slot's or secret's name is well formed, so that it can never be a path or a pattern.
pub fn is_name(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| byte.is_ascii_alphanumeric())
        && name.len() <= 128
        && !name.contains("..")
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

impl FromStr for Grant {
    type Err = GrantError;

    fn from_str(text: &str) -> Result<Self, GrantError> {
        let fail = |reason| GrantError { text: crate::redact::one_line(text, 80), reason };
        if text == "archive" {
            return Ok(Self::Archive);
        }
        let (kind, rest) = text.split_once(':').ok_or_else(|| {
            fail("write `http:SLOT`, `grpc:SLOT`, `grpc-read:SLOT:METHOD`, `secret:NAME`, `store:NAME`, `reveal:NAME`, `generate:NAME`, `sign:NAME` or `archive`")
        })?;
        let slot = |name: &str| {
            if is_name(name) { Ok(name.to_owned()) } else { Err(fail("the slot's name has characters that no slot has")) }
        };
        let secret = || {
            let name = rest.strip_suffix('*').unwrap_or(rest);
            // A lone `*` would be every secret there will ever be.
            if is_name(name) { Ok(Pattern(rest.to_owned())) } else { Err(fail("the secret's name has characters that no secret has")) }
        };
        Ok(match kind {
            "http" => Self::Http(slot(rest)?),
            "grpc" => Self::Grpc(slot(rest)?),
            "grpc-read" => {
                let (name, method) = rest.split_once(':').ok_or_else(|| fail("write `grpc-read:SLOT:/service/Method`"))?;
                let path = method.strip_suffix('*').unwrap_or(method);
                let plain = path.starts_with('/')
                    && path.len() > 1
                    && path.len() <= 200
                    && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._".contains(&byte));
                if !plain {
                    return Err(fail("write the method as `/service/Method`"));
                }
                Self::GrpcRead(slot(name)?, Pattern(method.to_owned()))
            }
            "secret" => Self::Secret(secret()?),
            "store" => Self::Store(secret()?),
            "reveal" => Self::Reveal(secret()?),
            "generate" => Self::Generate(secret()?),
            "sign" => Self::Sign(secret()?),
            _ => return Err(fail("there is no such kind of grant")),
        })
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(slot) => write!(f, "http:{slot}"),
            Self::Grpc(slot) => write!(f, "grpc:{slot}"),
            Self::GrpcRead(slot, method) => write!(f, "grpc-read:{slot}:{method}"),
            Self::Secret(name) => write!(f, "secret:{name}"),
            Self::Store(name) => write!(f, "store:{name}"),
            Self::Reveal(name) => write!(f, "reveal:{name}"),
            Self::Generate(name) => write!(f, "generate:{name}"),
            Self::Sign(name) => write!(f, "sign:{name}"),
            Self::Archive => f.write_str("archive"),
        }
    }
}

impl TryFrom<String> for Grant {
    type Error = GrantError;

    fn try_from(text: String) -> Result<Self, GrantError> {
        text.parse()
    }
}

impl From<Grant> for String {
    fn from(grant: Grant) -> Self {
        grant.to_string()
    }
}

impl Grant {
    /// What it means to the person who decides about it.
    pub fn meaning(&self) -> String {
        match self {
            Self::Http(slot) => format!("sends HTTP requests to slot `{slot}`, with the site's credential for it"),
            Self::Grpc(slot) => format!("makes gRPC calls to slot `{slot}`"),
            Self::GrpcRead(slot, method) => format!("says that `{method}` of slot `{slot}` only reads"),
            Self::Secret(name) => format!("uses secret `{name}` without seeing it"),
            Self::Store(name) => format!("stores secret `{name}` where there is none yet"),
            Self::Reveal(name) => format!("READS the value of secret `{name}`"),
            Self::Generate(name) => format!("has the host make key `{name}` where there is none yet"),
            Self::Sign(name) => format!("has the host sign client certificates with `{name}`"),
            Self::Archive => "keeps large data with the host".to_owned(),
        }
    }

    /// The most a role can ever be granted, whatever it asks and whoever agrees.
    fn within(&self, role: Role) -> bool {
        match self {
            Self::Http(_) => matches!(role, Role::BootSource | Role::Gpu | Role::Provisioner | Role::Distro | Role::DistroBackup),
            Self::Grpc(_) | Self::GrpcRead(..) | Self::Sign(_) => matches!(role, Role::Distro | Role::DistroBackup),
            // An addon names secrets in what it renders; the host puts the values in, and it never sees one.
            Self::Secret(_) => matches!(role, Role::Configurator | Role::Distro | Role::DistroBackup | Role::Addon),
            Self::Reveal(_) => matches!(role, Role::Configurator | Role::Distro | Role::DistroBackup),
            Self::Store(_) | Self::Generate(_) => matches!(role, Role::Configurator),
            Self::Archive => matches!(role, Role::DistroBackup),
        }
    }

    /// Whether having this one is having the other.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::GrpcRead(slot, have), Self::GrpcRead(other_slot, want)) => slot == other_slot && have.covers(want),
            (Self::Secret(have), Self::Secret(want))
            | (Self::Store(have), Self::Store(want))
            | (Self::Reveal(have), Self::Reveal(want))
            | (Self::Generate(have), Self::Generate(want))
            | (Self::Sign(have), Self::Sign(want)) => have.covers(want),
            _ => self == other,
        }
    }
}

/// Something a running plugin wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need<'a> {
    /// An HTTP request to a slot.
    Http {
        /// The slot's name.
        slot: &'a str,
        /// Whether the request may change something.
        change: bool,
    },
    /// A gRPC channel to a slot.
    GrpcOpen {
        /// The slot's name.
        slot: &'a str,
    },
    /// A gRPC call.
    GrpcCall {
        /// The slot's name.
        slot: &'a str,
        /// The full method path.
        method: &'a str,
        /// Whether the method may change something; see [`Policy::is_change`].
        change: bool,
    },
    /// A handle on a secret.
    Get(&'a str),
    /// Keep a value as a secret.
    Store(&'a str),
    /// The bytes of a secret.
    Reveal(&'a str),
    /// Make a key.
    Generate(&'a str),
    /// Sign with a key.
    Sign(&'a str),
    /// Use an archive.
    Archive,
}

impl Need<'_> {
    fn grant(&self) -> Grant {
        let name = |name: &str| Pattern(name.to_owned());
        match *self {
            Self::Http { slot, .. } => Grant::Http(slot.to_owned()),
            Self::GrpcOpen { slot } | Self::GrpcCall { slot, .. } => Grant::Grpc(slot.to_owned()),
            Self::Get(secret) => Grant::Secret(name(secret)),
            Self::Store(secret) => Grant::Store(name(secret)),
            Self::Reveal(secret) => Grant::Reveal(name(secret)),
            Self::Generate(secret) => Grant::Generate(name(secret)),
            Self::Sign(secret) => Grant::Sign(name(secret)),
            Self::Archive => Grant::Archive,
        }
    }

    /// Further grants that include this right: a handle comes with whatever uses one.
    fn included_in(&self) -> Vec<Grant> {
        let Self::Get(secret) = *self else { return Vec::new() };
        let name = || Pattern(secret.to_owned());
        vec![Grant::Store(name()), Grant::Reveal(name()), Grant::Generate(name()), Grant::Sign(name())]
    }

    fn least(&self) -> Reach {
        match self {
            Self::Http { change: true, .. } | Self::GrpcCall { change: true, .. } => Reach::Changes,
            Self::Http { .. } | Self::GrpcOpen { .. } | Self::GrpcCall { .. } | Self::Archive => Reach::Reads,
            Self::Store(_) | Self::Generate(_) => Reach::Prepares,
            Self::Get(_) | Self::Reveal(_) | Self::Sign(_) => Reach::Pure,
        }
    }
}

/// Why something was not allowed, and the lines that would allow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What was refused and why, on one line.
    pub summary: String,
    /// What to do, if anything can be done.
    pub help: Option<String>,
    /// Whether the plugin broke a rule of the contract, rather than lacked a grant.
    pub broke_rule: bool,
}

/// The rights of one plugin at one site.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    plugin: String,
    roles: Vec<Role>,
    asked: Vec<Grant>,
    granted: Vec<Grant>,
}

impl Policy {
    /// The roles the site gave the plugin, what it asks for, and what the site said to that.
    pub fn new(plugin: impl Into<String>, roles: Vec<Role>, asked: Vec<Grant>, granted: Vec<Grant>) -> Self {
        Self { plugin: plugin.into(), roles, asked, granted }
    }

    /// Whether the site gave the plugin the role that the verb belongs to.
    pub fn has_role(&self, verb: Verb) -> bool {
        verb.role().is_none_or(|role| self.roles.contains(&role))
    }

    /// Decides.
    ///
    /// # Errors
    /// The refusal, ready to be shown.
    pub fn check(&self, verb: Verb, need: &Need<'_>) -> Result<(), Refusal> {
        let wanted = need.grant();
        let plugin = &self.plugin;
        let Some(role) = verb.role() else {
            return Err(Refusal {
                summary: format!("{verb} runs without any grant, so `{wanted}` is refused"),
                help: Some(self.fault()),
                broke_rule: true,
            });
        };
        if !wanted.within(role) {
            return Err(Refusal {
                summary: format!("a {role} can never have `{wanted}`"),
                help: Some(format!("plugin `{plugin}` asks for more than its role allows; use another plugin")),
                broke_rule: false,
            });
        }
        // `prepare` reaches secrets and not the network, so the order of `Reach` is not a ladder there.
        let reach = verb.reach();
        let enough = match need.least() {
            Reach::Pure => true,
            Reach::Prepares => matches!(reach, Reach::Prepares | Reach::Changes),
            Reach::Reads => matches!(reach, Reach::Reads | Reach::Changes),
            Reach::Changes => reach == Reach::Changes,
        };
        if !enough {
            let summary = match need.least() {
                Reach::Changes => format!("{verb} may only look, and tried to change something through `{wanted}`"),
                Reach::Reads => format!("{verb} works from its arguments alone, and tried to use `{wanted}`"),
                _ => format!("{verb} may not create anything, and tried to use `{wanted}`"),
            };
            let mut help = self.fault();
            if let Need::GrpcCall { slot, method, .. } = need {
                use fmt::Write;
                // Writing to a string cannot fail.
                let _ =
                    write!(help, "; if {method} only reads, its manifest must ask for `grpc-read:{slot}:{method}` and the site grant it");
            }
            return Err(Refusal { summary, help: Some(help), broke_rule: true });
        }
        let also = need.included_in();
        let holds = |grants: &[Grant]| {
            grants.iter().any(|have| have.covers(&wanted) || also.iter().any(|grant| grant.within(role) && have.covers(grant)))
        };
        if !holds(&self.asked) {
            return Err(Refusal {
                summary: format!("`{wanted}` is not among what the manifest of plugin `{plugin}` asks for"),
                help: Some(format!("report it to the author of `{plugin}`: its manifest must ask for `{wanted}`")),
                broke_rule: false,
            });
        }
        if !holds(&self.granted) {
            return Err(Refusal {
                summary: format!("`{wanted}` is not granted to plugin `{plugin}` at this site"),
                help: Some(format!(
                    "to allow it, run `emhost plugin update {plugin} --grant {wanted}`, or add this line to `plugins.{plugin}.grants` in emhost.lock:\n  - {wanted}"
                )),
                broke_rule: false,
            });
        }
        Ok(())
    }

    /// Whether a gRPC method counts as a change: every method does that nobody declared as reading.
    pub fn is_change(&self, slot: &str, method: &str) -> bool {
        let read = Grant::GrpcRead(slot.to_owned(), Pattern(method.to_owned()));
        let holds = |grants: &[Grant]| grants.iter().any(|have| have.covers(&read));
        !(holds(&self.asked) && holds(&self.granted))
    }

    /// What to do about a plugin that does what no plugin may.
    pub fn fault(&self) -> String {
        format!("this is a fault of plugin `{}`: report it to its author", self.plugin)
    }

    /// The plugin's name.
    pub fn plugin(&self) -> &str {
        &self.plugin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(text: &[&str]) -> Vec<Grant> {
        text.iter().map(|text| text.parse().expect("a grant")).collect()
    }

    fn policy(asked: &[&str], granted: &[&str]) -> Policy {
        Policy::new("demo", Role::ALL.to_vec(), grants(asked), grants(granted))
    }

    fn summary(policy: &Policy, verb: Verb, need: &Need<'_>) -> String {
        policy.check(verb, need).expect_err("refused").summary
    }

    #[test]
    fn a_right_takes_all_four_yeses() {
        let http = Need::Http { slot: "pve", change: true };
        let full = policy(&["http:pve"], &["http:pve"]);
        assert_eq!(full.check(Verb::ApplyMachine, &http), Ok(()));

        let unasked = policy(&[], &["http:pve"]);
        assert_eq!(summary(&unasked, Verb::ApplyMachine, &http), "`http:pve` is not among what the manifest of plugin `demo` asks for");
        let ungranted = policy(&["http:pve"], &["http:other"]);
        let refusal = ungranted.check(Verb::ApplyMachine, &http).expect_err("refused");
        assert_eq!(refusal.summary, "`http:pve` is not granted to plugin `demo` at this site");
        assert!(refusal.help.is_some_and(|help| help.ends_with("\n  - http:pve")));
        assert_eq!(summary(&full, Verb::Prepare, &http), "a configurator can never have `http:pve`");
        assert_eq!(
            summary(&full, Verb::PlanMachine, &http),
            "provisioner.plan may only look, and tried to change something through `http:pve`"
        );
        assert_eq!(
            summary(&full, Verb::Media, &Need::Http { slot: "pve", change: false }),
            "boot-source.media works from its arguments alone, and tried to use `http:pve`"
        );
        assert_eq!(summary(&full, Verb::Validate, &http), "lifecycle.validate runs without any grant, so `http:pve` is refused");
    }

    #[test]
    fn a_handle_comes_with_what_uses_it_but_gives_no_bytes() {
        let sign = policy(&["sign:os-ca"], &["sign:os-ca"]);
        assert_eq!(sign.check(Verb::ApplyNode, &Need::Get("os-ca")), Ok(()));
        assert_eq!(sign.check(Verb::ApplyNode, &Need::Sign("os-ca")), Ok(()));
        assert!(sign.check(Verb::ApplyNode, &Need::Reveal("os-ca")).is_err());
        assert!(sign.check(Verb::ApplyNode, &Need::Get("os-ca-2")).is_err());
    }

    #[test]
    fn secrets_are_created_only_where_that_is_announced() {
        let all = policy(&["generate:k*"], &["generate:k*"]);
        assert_eq!(all.check(Verb::Prepare, &Need::Generate("key")), Ok(()));
        assert_eq!(
            summary(&all, Verb::RenderConfig, &Need::Generate("key")),
            "configurator.render may not create anything, and tried to use `generate:key`"
        );
    }

    #[test]
    fn every_grpc_method_is_a_change_unless_declared_and_granted() {
        let read = "grpc-read:talos:/machine.MachineService/Version";
        let both = policy(&[read], &[read]);
        assert!(!both.is_change("talos", "/machine.MachineService/Version"));
        assert!(both.is_change("talos", "/machine.MachineService/Reset"));
        assert!(both.is_change("other", "/machine.MachineService/Version"));
        assert!(policy(&[read], &[]).is_change("talos", "/machine.MachineService/Version"));
    }

    #[test]
    fn patterns_cover_by_beginning_only() {
        let all = policy(&["reveal:talos-*"], &["reveal:talos-*"]);
        assert_eq!(all.check(Verb::RenderConfig, &Need::Reveal("talos-token")), Ok(()));
        assert!(all.check(Verb::RenderConfig, &Need::Reveal("talo")).is_err());
        // A narrower grant does not cover a wider ask.
        assert!(!grants(&["secret:a"])[0].covers(&grants(&["secret:a*"])[0]));
        assert!(grants(&["secret:a*"])[0].covers(&grants(&["secret:ab*"])[0]));
    }

    #[test]
    fn grants_read_back_as_written_and_nonsense_is_refused() {
        for text in
            ["http:pve", "grpc:talos", "grpc-read:talos:/a.B/C", "secret:x", "store:x.y-*", "reveal:x", "generate:x", "sign:x", "archive"]
        {
            assert_eq!(text.parse::<Grant>().expect("a grant").to_string(), text);
        }
        for text in [
            "",
            "http",
            "http:",
            "http:../x",
            "secret:*",
            "secret:../x",
            "secret:a/b",
            "sudo:all",
            "grpc-read:talos",
            "grpc-read:talos:x",
            "reveal:a b",
            "http:\u{1b}[2J",
        ] {
            assert!(text.parse::<Grant>().is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_never_paths() {
        assert!(is_name("pve_token") && is_name("talos-os.key"));
        for name in ["", "..", "a/b", "../a", "a..b", ".a", "a b", "a\0", "a*", "é"] {
            assert!(!is_name(name), "{name}");
        }
    }
}

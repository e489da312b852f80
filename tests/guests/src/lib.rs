//! What the guests share: a provisioner whose `observe` and `apply` do one thing; and what the fixtures share.

pub mod fixture;

/// Makes a provisioner of a function `fn(Unit) -> Result<String, Failure>`.
///
/// The function runs in `observe`, `plan` and `apply` alike; what it returns comes back as the
/// machine's host, the subject of an action, or the reason to be called again.
#[macro_export]
macro_rules! provisioner {
    ($act:path $(, asks: [$($grant:literal),* $(,)?])?) => {
        struct Plugin;

        impl emhost_sdk::Lifecycle for Plugin {}

        $crate::as_provisioner!($act);

        emhost_sdk::plugin!(
            Plugin: provisioner;
            text = concat!("{\"name\":\"guest\",\"asks\":[", $($crate::asks!($($grant),*),)? "]}")
        );
    };
}

/// The role of a provisioner for `Plugin`; see [`provisioner!`].
#[macro_export]
macro_rules! as_provisioner {
    ($act:path) => {
        impl emhost_sdk::Provisioner for Plugin {
            fn observe(
                unit: emhost_sdk::Unit<'_>,
                _: Option<emhost_sdk::State>,
            ) -> Result<Option<emhost_sdk::provisioner::Machine>, emhost_sdk::Failure> {
                let host = $act(unit)?;
                Ok(Some($crate::machine(host)))
            }

            fn plan(
                unit: emhost_sdk::Unit<'_>,
                _: Option<emhost_sdk::provisioner::FirstBoot>,
                _: emhost_sdk::Intent,
                _: Option<emhost_sdk::State>,
            ) -> Result<emhost_sdk::Proposal, emhost_sdk::Failure> {
                Ok($crate::proposal($act(unit)?))
            }

            fn apply(
                unit: emhost_sdk::Unit<'_>,
                _: Option<emhost_sdk::provisioner::FirstBoot>,
                _: emhost_sdk::Intent,
                _: Option<emhost_sdk::State>,
            ) -> Result<emhost_sdk::Step, emhost_sdk::Failure> {
                let state = emhost_sdk::State { schema: 1, data: "{}".to_owned() };
                Ok(emhost_sdk::Step::again(0, $act(unit)?, state))
            }
        }
    };
}

/// The `asks` of a manifest, as JSON.
#[macro_export]
macro_rules! asks {
    () => { "" };
    ($first:literal $(, $rest:literal)*) => {
        concat!("{\"grant\":\"", $first, "\",\"why\":\"a test\"}" $(, ",{\"grant\":\"", $rest, "\",\"why\":\"a test\"}")*)
    };
}

/// A machine on this host.
pub fn machine(host: String) -> emhost_sdk::provisioner::Machine {
    emhost_sdk::provisioner::Machine {
        id: "1".to_owned(),
        identity: "one".to_owned(),
        node: None,
        host,
        power: emhost_sdk::provisioner::Power::On,
        addresses: Vec::new(),
        attributes: Vec::new(),
    }
}

/// A proposal with one action on this subject.
pub fn proposal(subject: String) -> emhost_sdk::Proposal {
    emhost_sdk::Proposal {
        actions: vec![emhost_sdk::Action {
            change: emhost_sdk::Change::Update,
            subject,
            disruption: emhost_sdk::Disruption::None,
            reason: "a test".to_owned(),
            fields: Vec::new(),
            attributes: Vec::new(),
        }],
        holds: Vec::new(),
    }
}

/// The work that is measured, in the sandbox and outside: reading an inventory of 200 machines.
pub fn work(rounds: u32) -> u64 {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Machine {
        name: String,
        cores: u64,
        labels: std::collections::BTreeMap<String, String>,
    }
    let machine = |number: u64| Machine {
        name: format!("node-{number}"),
        cores: number % 16,
        labels: [("zone".to_owned(), format!("z{}", number % 3)), ("role".to_owned(), "worker".to_owned())].into(),
    };
    let text = serde_json::to_string(&(0..200).map(machine).collect::<Vec<_>>()).unwrap_or_default();
    let cores =
        |_| serde_json::from_str::<Vec<Machine>>(&text).map_or(0, |all| all.iter().map(|one| one.cores + one.labels.len() as u64).sum());
    (0..rounds).map(cores).sum()
}

/// Makes a distribution of a function `fn(Unit) -> Result<String, Failure>`.
///
/// The function runs in `observe`, `plan` and `apply` alike; what it returns comes back as the
/// version of the operating system, the subject of an action, or the state to keep.
#[macro_export]
macro_rules! distro {
    ($act:path $(, asks: [$($grant:literal),* $(,)?])?) => {
        struct Plugin;

        impl emhost_sdk::Lifecycle for Plugin {}

        $crate::as_distro!($act);

        emhost_sdk::plugin!(
            Plugin: distro;
            text = concat!("{\"name\":\"guest\",\"asks\":[", $($crate::asks!($($grant),*),)? "]}")
        );
    };
}

/// The role of a distribution for `Plugin`; see [`distro!`].
#[macro_export]
macro_rules! as_distro {
    ($act:path) => {
        impl emhost_sdk::Distro for Plugin {
            fn observe(
                unit: emhost_sdk::Unit<'_>,
                _: Option<emhost_sdk::State>,
            ) -> Result<emhost_sdk::distro::NodeStatus, emhost_sdk::Failure> {
                Ok($crate::status($act(unit)?))
            }

            fn plan(
                unit: emhost_sdk::Unit<'_>,
                _: Vec<emhost_sdk::Document>,
                _: Option<emhost_sdk::Boot>,
                _: emhost_sdk::Intent,
                _: Option<emhost_sdk::State>,
            ) -> Result<emhost_sdk::Proposal, emhost_sdk::Failure> {
                Ok($crate::proposal($act(unit)?))
            }

            fn apply(
                unit: emhost_sdk::Unit<'_>,
                _: Vec<emhost_sdk::Document>,
                _: Option<emhost_sdk::Boot>,
                _: emhost_sdk::Intent,
                _: Option<emhost_sdk::State>,
            ) -> Result<emhost_sdk::Step, emhost_sdk::Failure> {
                Ok(emhost_sdk::Step::done(emhost_sdk::State { schema: 1, data: $act(unit)? }))
            }

            fn plan_cluster(_: emhost_sdk::Site<'_>, _: Option<emhost_sdk::State>) -> Result<emhost_sdk::Proposal, emhost_sdk::Failure> {
                Ok(emhost_sdk::Proposal::nothing())
            }

            fn apply_cluster(_: emhost_sdk::Site<'_>, _: Option<emhost_sdk::State>) -> Result<emhost_sdk::Step, emhost_sdk::Failure> {
                Ok(emhost_sdk::Step::finished())
            }

            fn members(_: emhost_sdk::Site<'_>) -> Result<Vec<emhost_sdk::distro::Member>, emhost_sdk::Failure> {
                Ok(Vec::new())
            }

            fn health(_: emhost_sdk::Site<'_>, _: bool) -> Result<emhost_sdk::Step, emhost_sdk::Failure> {
                Ok(emhost_sdk::Step::finished())
            }

            fn access(
                _: emhost_sdk::Site<'_>,
                kind: String,
                _: Vec<String>,
                _: u32,
            ) -> Result<emhost_sdk::secrets::Secret, emhost_sdk::Failure> {
                Err(emhost_sdk::Failure::invalid("guest/access", format!("no access of kind {kind}")))
            }
        }
    };
}

/// A running node with this version.
pub fn status(version: String) -> emhost_sdk::distro::NodeStatus {
    emhost_sdk::distro::NodeStatus {
        stage: emhost_sdk::distro::Stage::Running,
        os_version: Some(version),
        kubernetes_version: None,
        config_digest: None,
        attributes: Vec::new(),
    }
}

//! The roles as traits, with answers for what a small plugin need not care about.

use serde::de::DeserializeOwned;

use crate::bindings;
use crate::{
    Boot, Cluster, Contribution, Diagnostic, Document, Failure, Intent, Medium, Node, Operation, Proposal, State, Step, archives::Archive,
    secrets::Secret,
};

pub use bindings::addon::exports::emhost::plugin::addon;
pub use bindings::boot_source::exports::emhost::plugin::boot_source;
use bindings::configurator::exports::emhost::plugin::configurator;
pub use bindings::distro::exports::emhost::plugin::distro;
use bindings::distro_backup::exports::emhost::plugin::distro_backup;
pub use bindings::gpu::exports::emhost::plugin::gpu;
use bindings::lifecycle::exports::emhost::plugin::lifecycle;
pub use bindings::provisioner::exports::emhost::plugin::provisioner;

use addon::Stage;
use distro::{Member, NodeStatus};
use gpu::{Assignment, Device};
use provisioner::{FirstBoot, Machine};

/// A call about the cluster.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The running call.
    pub operation: &'a Operation,
    /// The cluster.
    pub cluster: &'a Cluster,
}

/// A call about one node.
#[derive(Clone, Copy)]
pub struct Unit<'a> {
    /// The running call.
    pub operation: &'a Operation,
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The node.
    pub node: &'a Node,
}

impl Operation {
    /// The plugin's settings, as the type they have.
    ///
    /// # Errors
    /// A schema that promises more than the type keeps.
    pub fn read_settings<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.settings())
            .map_err(|error| Failure::internal("settings/read", format!("the settings do not fit this plugin's own type: {error}")))
    }
}

type Answer<T> = Result<T, Failure>;

/// What every plugin exports beside its roles.
pub trait Lifecycle {
    /// Checks beyond the schema. Runs without any grant.
    fn validate(_settings: String) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Brings state written by an older release of this plugin up to date.
    ///
    /// # Errors
    /// State that cannot be understood any more.
    fn upgrade_state(old: State) -> Answer<State> {
        Ok(old)
    }
}

/// Renders machine configuration. Pure but for secrets.
#[expect(clippy::missing_errors_doc, reason = "every function may fail as the contract says")]
pub trait Configurator {
    /// Creates missing cluster secrets. Safe to call any number of times.
    fn prepare(site: Site<'_>) -> Answer<()>;
    /// The same inputs give the same bytes.
    fn render(unit: Unit<'_>, boot: Boot) -> Answer<Vec<Document>>;
}

/// Decides what a machine boots from.
#[expect(clippy::missing_errors_doc, reason = "every function may fail as the contract says")]
pub trait BootSource {
    /// May read through slots, changes nothing.
    fn resolve(unit: Unit<'_>) -> Answer<Boot>;
    /// Pure. The volumes to attach, once the configuration is known.
    fn media(_unit: Unit<'_>, _boot: Boot, _config: Vec<Document>) -> Answer<Vec<Medium>> {
        Ok(Vec::new())
    }
    /// Makes what `resolve` named obtainable. Idempotent.
    fn ensure(_unit: Unit<'_>, boot: Boot) -> Answer<Boot> {
        Ok(boot)
    }
    /// Versions of the operating system that can be booted this way.
    fn versions(_operation: &Operation) -> Answer<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Finds accelerators and says what using one takes.
#[expect(clippy::missing_errors_doc, reason = "every function may fail as the contract says")]
pub trait Gpu {
    /// Every device of the site.
    fn discover(operation: &Operation) -> Answer<Vec<Device>>;
    /// Whether the hypervisor is ready to pass the device on.
    fn check(_operation: &Operation, _device: Device) -> Answer<Vec<Diagnostic>> {
        Ok(Vec::new())
    }
    /// Pure: which device goes to which node.
    fn assign(site: Site<'_>, devices: Vec<Device>, kept: Vec<Assignment>) -> Answer<Vec<Assignment>>;
    /// Pure: what the other phases must do for these devices on this node.
    fn contribute(unit: Unit<'_>, devices: Vec<Device>) -> Answer<Contribution>;
}

/// Makes machines exist.
#[expect(clippy::missing_errors_doc, reason = "every function may fail as the contract says")]
pub trait Provisioner {
    /// What would keep a plan from working.
    fn check(_site: Site<'_>) -> Answer<Vec<Diagnostic>> {
        Ok(Vec::new())
    }
    /// The node's machine, if there is one.
    fn observe(unit: Unit<'_>, state: Option<State>) -> Answer<Option<Machine>>;
    /// What `apply` would do.
    fn plan(unit: Unit<'_>, first_boot: Option<FirstBoot>, intent: Intent, state: Option<State>) -> Answer<Proposal>;
    /// One idempotent step.
    fn apply(unit: Unit<'_>, first_boot: Option<FirstBoot>, intent: Intent, state: Option<State>) -> Answer<Step>;
    /// Every machine that carries this cluster's mark.
    fn owned(_site: Site<'_>) -> Answer<Vec<Machine>> {
        Ok(Vec::new())
    }
    /// Removes a machine that no node claims, after its identity was proved.
    fn discard(_site: Site<'_>, machine: Machine, _state: Option<State>) -> Answer<Step> {
        Err(Failure::internal("provisioner/discard", format!("this provisioner does not remove machines, so {} stays", machine.id)))
    }
}

/// Drives the operating system on existing machines.
#[expect(clippy::missing_errors_doc, reason = "every function may fail as the contract says")]
pub trait Distro {
    /// How the node is.
    fn observe(unit: Unit<'_>, state: Option<State>) -> Answer<NodeStatus>;
    /// What `apply` would do.
    fn plan(unit: Unit<'_>, config: Vec<Document>, boot: Option<Boot>, intent: Intent, state: Option<State>) -> Answer<Proposal>;
    /// One idempotent step.
    fn apply(unit: Unit<'_>, config: Vec<Document>, boot: Option<Boot>, intent: Intent, state: Option<State>) -> Answer<Step>;
    /// What `apply_cluster` would do.
    fn plan_cluster(site: Site<'_>, state: Option<State>) -> Answer<Proposal>;
    /// One idempotent step on the cluster as a whole.
    fn apply_cluster(site: Site<'_>, state: Option<State>) -> Answer<Step>;
    /// Members of the control plane's consensus.
    fn members(site: Site<'_>) -> Answer<Vec<Member>>;
    /// `done` when the cluster is healthy.
    fn health(site: Site<'_>, networking: bool) -> Answer<Step>;
    /// A freshly made client configuration.
    fn access(site: Site<'_>, kind: String, roles: Vec<String>, valid_seconds: u32) -> Answer<Secret>;
}

/// Saves and brings back the cluster's own data.
#[expect(clippy::missing_errors_doc, reason = "every function may fail as the contract says")]
pub trait DistroBackup {
    /// Saves the data.
    fn backup(site: Site<'_>, into: &Archive) -> Answer<()>;
    /// Brings it back, one step.
    fn restore(site: Site<'_>, source: &Archive, state: Option<State>) -> Answer<Step>;
}

/// A contribution that asks for nothing.
pub fn nothing() -> Contribution {
    Contribution {
        devices: Vec::new(),
        machine: Vec::new(),
        extensions: Vec::new(),
        kernel_args: Vec::new(),
        patches: Vec::new(),
        labels: Vec::new(),
        attributes: Vec::new(),
    }
}

/// Renders what runs in the cluster.
#[expect(clippy::missing_errors_doc, reason = "every function may fail as the contract says")]
pub trait Addon {
    /// What nodes must have for this addon.
    fn contribute(_unit: Unit<'_>) -> Answer<Contribution> {
        Ok(nothing())
    }
    /// What to apply, in order.
    fn render(site: Site<'_>) -> Answer<Vec<Stage>>;
}

impl<T: Lifecycle> lifecycle::Guest for T {
    fn validate(settings: String) -> Vec<Diagnostic> {
        T::validate(settings)
    }
    fn upgrade_state(old: State) -> Answer<State> {
        T::upgrade_state(old)
    }
}

impl<T: Configurator> configurator::Guest for T {
    fn prepare(operation: &Operation, cluster: &Cluster) -> Answer<()> {
        T::prepare(Site { operation, cluster })
    }
    fn render(operation: &Operation, cluster: &Cluster, node: &Node, boot: Boot) -> Answer<Vec<Document>> {
        T::render(Unit { operation, cluster, node }, boot)
    }
}

impl<T: BootSource> boot_source::Guest for T {
    fn resolve(operation: &Operation, cluster: &Cluster, node: &Node) -> Answer<Boot> {
        T::resolve(Unit { operation, cluster, node })
    }
    fn media(operation: &Operation, cluster: &Cluster, node: &Node, boot: Boot, config: Vec<Document>) -> Answer<Vec<Medium>> {
        T::media(Unit { operation, cluster, node }, boot, config)
    }
    fn ensure(operation: &Operation, cluster: &Cluster, node: &Node, boot: Boot) -> Answer<Boot> {
        T::ensure(Unit { operation, cluster, node }, boot)
    }
    fn versions(operation: &Operation) -> Answer<Vec<String>> {
        T::versions(operation)
    }
}

impl<T: Gpu> gpu::Guest for T {
    fn discover(operation: &Operation) -> Answer<Vec<Device>> {
        T::discover(operation)
    }
    fn check(operation: &Operation, device: Device) -> Answer<Vec<Diagnostic>> {
        T::check(operation, device)
    }
    fn assign(operation: &Operation, cluster: &Cluster, devices: Vec<Device>, kept: Vec<Assignment>) -> Answer<Vec<Assignment>> {
        T::assign(Site { operation, cluster }, devices, kept)
    }
    fn contribute(operation: &Operation, cluster: &Cluster, node: &Node, devices: Vec<Device>) -> Answer<Contribution> {
        T::contribute(Unit { operation, cluster, node }, devices)
    }
}

impl<T: Provisioner> provisioner::Guest for T {
    fn check(operation: &Operation, cluster: &Cluster) -> Answer<Vec<Diagnostic>> {
        T::check(Site { operation, cluster })
    }
    fn observe(operation: &Operation, cluster: &Cluster, node: &Node, state: Option<State>) -> Answer<Option<Machine>> {
        T::observe(Unit { operation, cluster, node }, state)
    }
    fn plan(
        operation: &Operation,
        cluster: &Cluster,
        node: &Node,
        first_boot: Option<FirstBoot>,
        intent: Intent,
        state: Option<State>,
    ) -> Answer<Proposal> {
        T::plan(Unit { operation, cluster, node }, first_boot, intent, state)
    }
    fn apply(
        operation: &Operation,
        cluster: &Cluster,
        node: &Node,
        first_boot: Option<FirstBoot>,
        intent: Intent,
        state: Option<State>,
    ) -> Answer<Step> {
        T::apply(Unit { operation, cluster, node }, first_boot, intent, state)
    }
    fn owned(operation: &Operation, cluster: &Cluster) -> Answer<Vec<Machine>> {
        T::owned(Site { operation, cluster })
    }
    fn discard(operation: &Operation, cluster: &Cluster, machine: Machine, state: Option<State>) -> Answer<Step> {
        T::discard(Site { operation, cluster }, machine, state)
    }
}

impl<T: Distro> distro::Guest for T {
    fn observe(operation: &Operation, cluster: &Cluster, node: &Node, state: Option<State>) -> Answer<NodeStatus> {
        T::observe(Unit { operation, cluster, node }, state)
    }
    fn plan(
        operation: &Operation,
        cluster: &Cluster,
        node: &Node,
        config: Vec<Document>,
        boot: Option<Boot>,
        intent: Intent,
        state: Option<State>,
    ) -> Answer<Proposal> {
        T::plan(Unit { operation, cluster, node }, config, boot, intent, state)
    }
    fn apply(
        operation: &Operation,
        cluster: &Cluster,
        node: &Node,
        config: Vec<Document>,
        boot: Option<Boot>,
        intent: Intent,
        state: Option<State>,
    ) -> Answer<Step> {
        T::apply(Unit { operation, cluster, node }, config, boot, intent, state)
    }
    fn plan_cluster(operation: &Operation, cluster: &Cluster, state: Option<State>) -> Answer<Proposal> {
        T::plan_cluster(Site { operation, cluster }, state)
    }
    fn apply_cluster(operation: &Operation, cluster: &Cluster, state: Option<State>) -> Answer<Step> {
        T::apply_cluster(Site { operation, cluster }, state)
    }
    fn members(operation: &Operation, cluster: &Cluster) -> Answer<Vec<Member>> {
        T::members(Site { operation, cluster })
    }
    fn health(operation: &Operation, cluster: &Cluster, networking: bool) -> Answer<Step> {
        T::health(Site { operation, cluster }, networking)
    }
    fn access(operation: &Operation, cluster: &Cluster, kind: String, roles: Vec<String>, valid_seconds: u32) -> Answer<Secret> {
        T::access(Site { operation, cluster }, kind, roles, valid_seconds)
    }
}

impl<T: DistroBackup> distro_backup::Guest for T {
    fn backup(operation: &Operation, cluster: &Cluster, into: &Archive) -> Answer<()> {
        T::backup(Site { operation, cluster }, into)
    }
    fn restore(operation: &Operation, cluster: &Cluster, source: &Archive, state: Option<State>) -> Answer<Step> {
        T::restore(Site { operation, cluster }, source, state)
    }
}

impl<T: Addon> addon::Guest for T {
    fn contribute(operation: &Operation, cluster: &Cluster, node: &Node) -> Answer<Contribution> {
        T::contribute(Unit { operation, cluster, node })
    }
    fn render(operation: &Operation, cluster: &Cluster) -> Answer<Vec<Stage>> {
        T::render(Site { operation, cluster })
    }
}

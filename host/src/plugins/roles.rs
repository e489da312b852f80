//! One method per verb of the contract.

use super::error::{CallError, Cause};
use super::instances::{Live, Plugin, Uncallable};
use crate::bindings::emhost::plugin::types::{Boot, Contribution, Diagnostic, Document, Intent, Medium, Proposal, State, Step};
use crate::bindings::exports::emhost::plugin::addon::Stage;
use crate::bindings::exports::emhost::plugin::distro::{Member, NodeStatus};
use crate::bindings::exports::emhost::plugin::gpu::{Assignment, Device};
use crate::bindings::exports::emhost::plugin::provisioner::{FirstBoot, Machine};
use crate::capabilities::archive::ArchiveHandle;
use crate::capabilities::policy::Verb;
use crate::capabilities::secrets::Value;
use crate::capabilities::{Archive, Context};
use crate::inventory::Node;

fn absent(role: &str) -> wasmtime::Error {
    Uncallable(format!("the component does not fill the role {}", role.replace('_', "-"))).into()
}

/// A verb about one node, about the cluster, or about neither.
macro_rules! verb {
    ($(#[$doc:meta])* node $name:ident = $verb:ident, $role:ident.$function:ident($($arg:ident: $type:ty),*) -> $answer:ty) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// Why there is no answer.
        pub async fn $name(&self, context: &Context, node: &Node $(, $arg: $type)*) -> Result<$answer, CallError> {
            self.call(context, Verb::$verb, Some(node), async move |live: &mut Live<'_>| {
                let role = live.roles.$role.as_ref().ok_or_else(|| absent(stringify!($role)))?.load(&mut live.store, &live.instance)?;
                let (operation, cluster, node) = (live.operation(), live.cluster(), live.node()?);
                role.$function(&mut live.store, operation, cluster, node $(, $arg)*).await
            }).await
        }
    };
    ($(#[$doc:meta])* cluster $name:ident = $verb:ident, $role:ident.$function:ident($($arg:ident: $type:ty),*) -> $answer:ty) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// Why there is no answer.
        pub async fn $name(&self, context: &Context $(, $arg: $type)*) -> Result<$answer, CallError> {
            self.call(context, Verb::$verb, None, async move |live: &mut Live<'_>| {
                let role = live.roles.$role.as_ref().ok_or_else(|| absent(stringify!($role)))?.load(&mut live.store, &live.instance)?;
                let (operation, cluster) = (live.operation(), live.cluster());
                role.$function(&mut live.store, operation, cluster $(, $arg)*).await
            }).await
        }
    };
    ($(#[$doc:meta])* site $name:ident = $verb:ident, $role:ident.$function:ident($($arg:ident: $type:ty),*) -> $answer:ty) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// Why there is no answer.
        pub async fn $name(&self, context: &Context $(, $arg: $type)*) -> Result<$answer, CallError> {
            self.call(context, Verb::$verb, None, async move |live: &mut Live<'_>| {
                let role = live.roles.$role.as_ref().ok_or_else(|| absent(stringify!($role)))?.load(&mut live.store, &live.instance)?;
                let operation = live.operation();
                role.$function(&mut live.store, operation $(, $arg)*).await
            }).await
        }
    };
}

/// Every plugin.
impl Plugin {
    /// Checks settings beyond their schema.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn validate(&self, context: &Context) -> Result<Vec<Diagnostic>, CallError> {
        let settings = context.settings.to_string();
        self.call(context, Verb::Validate, None, async move |live: &mut Live<'_>| {
            let role = live.roles.lifecycle.load(&mut live.store, &live.instance)?;
            Ok(Ok(role.call_validate(&mut live.store, &settings).await?))
        })
        .await
    }

    /// Brings state of an older release up to date.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn upgrade_state(&self, context: &Context, old: &State) -> Result<State, CallError> {
        self.call(context, Verb::UpgradeState, None, async move |live: &mut Live<'_>| {
            let role = live.roles.lifecycle.load(&mut live.store, &live.instance)?;
            role.call_upgrade_state(&mut live.store, old).await
        })
        .await
    }
}

/// Configurators.
impl Plugin {
    verb!(/// Creates missing cluster secrets.
        cluster prepare = Prepare, configurator.call_prepare() -> ());
    verb!(/// Renders a node's configuration.
        node render_config = RenderConfig, configurator.call_render(boot: &Boot) -> Vec<Document>);
}

/// Boot sources.
impl Plugin {
    verb!(/// Decides what a node boots from.
        node resolve = Resolve, boot_source.call_resolve() -> Boot);
    verb!(/// Makes the volumes to attach.
        node media = Media, boot_source.call_media(boot: &Boot, config: &[Document]) -> Vec<Medium>);
    verb!(/// Makes obtainable what `resolve` named.
        node ensure = Ensure, boot_source.call_ensure(boot: &Boot) -> Boot);
    verb!(/// Lists versions that can be booted.
        site versions = Versions, boot_source.call_versions() -> Vec<String>);
}

/// Accelerators.
impl Plugin {
    verb!(/// Finds devices.
        site discover = Discover, gpu.call_discover() -> Vec<Device>);
    verb!(/// Says whether a device can be passed on.
        site check_device = CheckDevice, gpu.call_check(device: &Device) -> Vec<Diagnostic>);
    verb!(/// Decides which device goes to which node.
        cluster assign = Assign, gpu.call_assign(devices: &[Device], kept: &[Assignment]) -> Vec<Assignment>);
    verb!(/// Says what the other phases must do for these devices.
        node contribute_gpu = ContributeGpu, gpu.call_contribute(devices: &[Device]) -> Contribution);
}

/// Provisioners.
impl Plugin {
    verb!(/// Says what would keep a plan from working.
        cluster check_site = CheckSite, provisioner.call_check() -> Vec<Diagnostic>);
    verb!(/// Looks at a node's machine.
        node observe_machine = ObserveMachine, provisioner.call_observe(state: Option<&State>) -> Option<Machine>);
    verb!(/// Says what `apply` would do.
        node plan_machine = PlanMachine, provisioner.call_plan(first_boot: Option<&FirstBoot>, intent: Intent, state: Option<&State>) -> Proposal);
    verb!(/// Does one step.
        node apply_machine = ApplyMachine, provisioner.call_apply(first_boot: Option<&FirstBoot>, intent: Intent, state: Option<&State>) -> Step);
    verb!(/// Lists every machine with the cluster's mark.
        cluster owned = Owned, provisioner.call_owned() -> Vec<Machine>);
    verb!(/// Removes a machine that no node claims, one step.
        cluster discard = Discard, provisioner.call_discard(machine: &Machine, state: Option<&State>) -> Step);
}

/// Distributions.
impl Plugin {
    verb!(/// Looks at a node.
        node observe_node = ObserveNode, distro.call_observe(state: Option<&State>) -> NodeStatus);
    verb!(/// Says what `apply` would do.
        node plan_node = PlanNode, distro.call_plan(config: &[Document], boot: Option<&Boot>, intent: Intent, state: Option<&State>) -> Proposal);
    verb!(/// Does one step.
        node apply_node = ApplyNode, distro.call_apply(config: &[Document], boot: Option<&Boot>, intent: Intent, state: Option<&State>) -> Step);
    verb!(/// Says what `apply_cluster` would do.
        cluster plan_cluster = PlanCluster, distro.call_plan_cluster(state: Option<&State>) -> Proposal);
    verb!(/// Does one step on the cluster as a whole.
        cluster apply_cluster = ApplyCluster, distro.call_apply_cluster(state: Option<&State>) -> Step);
    verb!(/// Lists the members of the control plane.
        cluster members = Members, distro.call_members() -> Vec<Member>);
    verb!(/// Waits for the cluster to be healthy, one step.
        cluster health = Health, distro.call_health(networking: bool) -> Step);

    /// Makes a client configuration.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn access(&self, context: &Context, kind: &str, roles: &[String], valid_seconds: u32) -> Result<Value, CallError> {
        self.call(context, Verb::Access, None, async move |live: &mut Live<'_>| {
            let role = live.roles.distro.as_ref().ok_or_else(|| absent("distro"))?.load(&mut live.store, &live.instance)?;
            let (operation, cluster) = (live.operation(), live.cluster());
            let made = role.call_access(&mut live.store, operation, cluster, kind, roles, valid_seconds).await?;
            made.map(|handle| Ok(live.store.data().table.get(&handle)?.value.clone())).transpose_result()
        })
        .await
    }
}

/// Swaps the two kinds of failure: the host's goes outside.
trait TransposeResult<T, F> {
    fn transpose_result(self) -> wasmtime::Result<Result<T, F>>;
}

impl<T, F> TransposeResult<T, F> for Result<wasmtime::Result<T>, F> {
    fn transpose_result(self) -> wasmtime::Result<Result<T, F>> {
        match self {
            Ok(inner) => inner.map(Ok),
            Err(failure) => Ok(Err(failure)),
        }
    }
}

/// Distributions that save and bring back data.
impl Plugin {
    /// Saves the cluster's data into the archive.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn backup(&self, context: &Context, into: Box<dyn Archive>) -> Result<(), CallError> {
        self.call(context, Verb::Backup, None, async move |live: &mut Live<'_>| {
            let role = live.roles.distro_backup.as_ref().ok_or_else(|| absent("distro-backup"))?.load(&mut live.store, &live.instance)?;
            let archive = live.store.data_mut().table.push(ArchiveHandle::new(into))?;
            let archive = wasmtime::component::Resource::new_borrow(archive.rep());
            let (operation, cluster) = (live.operation(), live.cluster());
            role.call_backup(&mut live.store, operation, cluster, archive).await
        })
        .await
    }

    /// Brings the data of the archive back, one step.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn restore(&self, context: &Context, source: Box<dyn Archive>, state: Option<&State>) -> Result<Step, CallError> {
        self.call(context, Verb::Restore, None, async move |live: &mut Live<'_>| {
            let role = live.roles.distro_backup.as_ref().ok_or_else(|| absent("distro-backup"))?.load(&mut live.store, &live.instance)?;
            let archive = live.store.data_mut().table.push(ArchiveHandle::new(source))?;
            let archive = wasmtime::component::Resource::new_borrow(archive.rep());
            let (operation, cluster) = (live.operation(), live.cluster());
            role.call_restore(&mut live.store, operation, cluster, archive, state).await
        })
        .await
    }
}

/// Addons.
impl Plugin {
    verb!(/// Says what nodes must have for it.
        node contribute_addon = ContributeAddon, addon.call_contribute() -> Contribution);
    verb!(/// Renders what runs in the cluster.
        cluster render_addon = RenderAddon, addon.call_render() -> Vec<Stage>);
}

impl CallError {
    /// The pause that the plugin asks for before another try.
    pub fn retry_after(&self) -> Option<std::time::Duration> {
        if let Cause::Failed { retry_after, .. } = &self.cause { *retry_after } else { None }
    }

    /// Whether another try may help.
    pub fn is_passing(&self) -> bool {
        use crate::bindings::emhost::plugin::types::FailureKind::Unavailable;
        matches!(&self.cause, Cause::Failed { kind: Unavailable, .. } | Cause::TooLong(_, Some(_)))
    }
}

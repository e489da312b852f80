//! The calls of the Talos API that are made here, on one node.

use emhost_sdk::grpc::{Channel, Status};
use emhost_sdk::{Failure, FailureKind};
use emhost_talos_api::definitions::config::MachineConfigSpec;
use emhost_talos_api::methods::{cluster as cluster_calls, cosi as cosi_calls, machine as calls};
use emhost_talos_api::{Message, cluster, common, cosi, google, machine};
use serde::Deserialize;
use serde_json::Value;

use super::refusal::{self, code};

/// How often something that only reads is tried where the answer is lost on the way.
const TRIES: u32 = 3;

/// The API of one node.
pub struct Api {
    channel: Channel,
    /// The node's name.
    pub node: String,
}

/// How far a node is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct MachineStatus {
    /// `booting`, `running` and so on.
    #[serde(default)]
    pub stage: String,
    #[serde(default)]
    status: Readiness,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Readiness {
    ready: bool,
    unmet_conditions: Vec<Unmet>,
}

/// Something that keeps a node from being ready.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Unmet {
    /// `network`, `services`, `nodeReady` and so on.
    pub name: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

impl MachineStatus {
    /// What keeps the node from being ready.
    pub fn unmet(&self) -> &[Unmet] {
        &self.status.unmet_conditions
    }

    /// Whether nothing does.
    pub fn is_ready(&self) -> bool {
        self.status.ready
    }

    /// Whether it is about to go down.
    pub fn leaves(&self) -> bool {
        matches!(self.stage.as_str(), "rebooting" | "shutting down" | "resetting" | "upgrading")
    }
}

/// A service of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// `Preparing`, `Running` and so on.
    pub state: String,
    /// Whether its health check is content.
    pub healthy: bool,
}

/// The only message of an answer: only one node is ever asked.
fn only<T>(messages: Vec<T>) -> Result<T, Status> {
    let none = || Status { code: code::UNKNOWN, message: "the answer is empty".to_owned(), details: Vec::new() };
    messages.into_iter().next().ok_or_else(none)
}

fn unreadable(error: impl std::fmt::Display) -> Status {
    Status { code: code::UNKNOWN, message: format!("the answer cannot be read: {error}"), details: Vec::new() }
}

impl Api {
    /// The API behind a channel.
    pub fn new(channel: Channel, node: String) -> Self {
        Self { channel, node }
    }

    /// A failure of this node.
    pub fn failed(&self, tried: &str) -> impl Fn(Status) -> Failure {
        move |status| refusal::failure(&self.node, tried, &status)
    }

    // ---- reading ----------------------------------------------------------------------------

    /// A call that changes nothing, made again where its answer is lost.
    fn read<A: Message + Default>(&self, method: &str, request: &impl Message) -> Result<A, Status> {
        let mut tried = 1;
        loop {
            match self.channel.try_call(method, request) {
                Err(status) if status.code == code::UNAVAILABLE && tried < TRIES => tried += 1,
                answer => return answer,
            }
        }
    }

    /// Every answer of a stream, asked for again where one is lost.
    fn read_all<A: Message + Default>(&self, method: &str, request: &impl Message) -> Result<Vec<A>, Failure> {
        let mut tried = 1;
        loop {
            match self.channel.stream(method, request).and_then(Iterator::collect) {
                Err(failure) if failure.kind == FailureKind::Unavailable && tried < TRIES => tried += 1,
                answer => return answer,
            }
        }
    }

    /// The release it runs, for example `v1.11.5`.
    pub fn version(&self) -> Result<String, Status> {
        let answer: machine::VersionResponse = self.read(calls::VERSION, &google::Empty {})?;
        Ok(only(answer.messages)?.version.unwrap_or_default().tag)
    }

    /// A resource, if there is one of that name.
    fn resource(&self, namespace: &str, kind: &str, id: &str) -> Result<Option<cosi::Spec>, Status> {
        let request = cosi::GetRequest { namespace: namespace.to_owned(), r#type: kind.to_owned(), id: id.to_owned(), options: None };
        match self.read::<cosi::GetResponse>(cosi_calls::GET, &request) {
            Ok(answer) => Ok(answer.resource.and_then(|resource| resource.spec)),
            Err(status) if status.code == code::NOT_FOUND => Ok(None),
            Err(status) => Err(status),
        }
    }

    /// A resource as the YAML that Talos shows of it.
    pub fn get(&self, namespace: &str, kind: &str, id: &str) -> Result<Option<Value>, Status> {
        let spec = self.resource(namespace, kind, id)?;
        spec.map(|spec| serde_saphyr::from_str(&spec.yaml_spec).map_err(unreadable)).transpose()
    }

    /// Every resource of a kind, as the YAML that Talos shows of it.
    pub fn list(&self, namespace: &str, kind: &str) -> Result<Vec<Value>, Failure> {
        let request = cosi::ListRequest { namespace: namespace.to_owned(), r#type: kind.to_owned(), options: None };
        let mut all = Vec::new();
        for answer in self.read_all::<cosi::ListResponse>(cosi_calls::LIST, &request)? {
            let spec = answer.resource.and_then(|resource| resource.spec).unwrap_or_default();
            let value = serde_saphyr::from_str(&spec.yaml_spec).map_err(unreadable);
            all.push(value.map_err(self.failed(&format!("read {kind}")))?);
        }
        Ok(all)
    }

    /// How far it is.
    pub fn machine_status(&self) -> Result<MachineStatus, Status> {
        let found = self.get("runtime", "MachineStatuses.runtime.talos.dev", "machine")?;
        // There is none in the first moments of a boot.
        let found = found.unwrap_or_else(|| serde_json::json!({"stage": "booting"}));
        serde_json::from_value(found).map_err(unreadable)
    }

    /// The configuration in force, or the one that is kept for the next boot, byte by byte.
    pub fn machine_config(&self, id: &str) -> Result<Option<String>, Status> {
        // What is shown as YAML is quoted from 1.12 on; this never is.
        let Some(spec) = self.resource("config", "MachineConfigs.config.talos.dev", id)? else { return Ok(None) };
        let spec = MachineConfigSpec::decode(spec.proto_spec.as_slice()).map_err(unreadable)?;
        String::from_utf8(spec.yaml_marshalled).map(Some).map_err(unreadable)
    }

    /// One of its services.
    pub fn service(&self, id: &str) -> Result<Option<Service>, Status> {
        let answer: machine::ServiceListResponse = self.read(calls::SERVICE_LIST, &google::Empty {})?;
        let found = only(answer.messages)?.services.into_iter().find(|service| service.id == id);
        Ok(found.map(|service| Service { healthy: service.health.is_some_and(|health| health.healthy), state: service.state }))
    }

    /// A number that changes with every boot.
    pub fn boot_id(&self) -> Result<String, Failure> {
        let request = machine::ReadRequest { path: "/proc/sys/kernel/random/boot_id".to_owned() };
        let parts = self.read_all::<common::Data>(calls::READ, &request)?;
        let bytes: Vec<u8> = parts.into_iter().flat_map(|part| part.bytes).collect();
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// The members of etcd.
    pub fn etcd_members(&self) -> Result<Vec<machine::EtcdMember>, Status> {
        let request = machine::EtcdMemberListRequest { query_local: false };
        let answer: machine::EtcdMemberListResponse = self.read(calls::ETCD_MEMBER_LIST, &request)?;
        Ok(only(answer.messages)?.members)
    }

    /// How the member of etcd on this node is.
    pub fn etcd_status(&self) -> Result<machine::EtcdMemberStatus, Status> {
        let answer: machine::EtcdStatusResponse = self.read(calls::ETCD_STATUS, &google::Empty {})?;
        Ok(only(answer.messages)?.member_status.unwrap_or_default())
    }

    /// The alarms of etcd.
    pub fn etcd_alarms(&self) -> Result<Vec<machine::EtcdMemberAlarm>, Status> {
        let answer: machine::EtcdAlarmListResponse = self.read(calls::ETCD_ALARM_LIST, &google::Empty {})?;
        Ok(answer.messages.into_iter().flat_map(|message| message.member_alarms).collect())
    }

    /// Has the node check the whole cluster; every line that it says goes to `heard`.
    pub fn health_check(&self, request: &cluster::HealthCheckRequest, mut heard: impl FnMut(String)) -> Result<(), Failure> {
        for progress in self.channel.stream::<cluster::HealthCheckProgress>(cluster_calls::HEALTH_CHECK, request)? {
            heard(progress?.message);
        }
        Ok(())
    }

    // ---- changing: at most one of these in a step --------------------------------------------

    /// Gives it a configuration, with a restart if it takes one.
    pub fn apply_configuration(&self, config: &str) -> Result<machine::ApplyConfiguration, Status> {
        // The mode that is zero restarts always.
        let mode = machine::ApplyConfigurationRequestMode::Auto as i32;
        let request = machine::ApplyConfigurationRequest { data: config.as_bytes().to_vec(), mode, dry_run: false, try_mode_timeout: None };
        let answer: machine::ApplyConfigurationResponse = self.channel.try_call(calls::APPLY_CONFIGURATION, &request)?;
        only(answer.messages)
    }

    /// Makes it the first member of etcd.
    pub fn bootstrap(&self) -> Result<(), Status> {
        let request = machine::BootstrapRequest { recover_etcd: false, recover_skip_hash_check: false };
        self.channel.try_call::<machine::BootstrapResponse>(calls::BOOTSTRAP, &request).map(drop)
    }

    /// Takes it out of etcd.
    pub fn etcd_leave(&self) -> Result<(), Status> {
        self.channel
            .try_call::<machine::EtcdLeaveClusterResponse>(calls::ETCD_LEAVE_CLUSTER, &machine::EtcdLeaveClusterRequest {})
            .map(drop)
    }

    /// Takes somebody else out of etcd.
    pub fn etcd_remove(&self, member_id: u64) -> Result<(), Status> {
        let request = machine::EtcdRemoveMemberByIdRequest { member_id };
        self.channel.try_call::<machine::EtcdRemoveMemberByIdResponse>(calls::ETCD_REMOVE_MEMBER_BY_ID, &request).map(drop)
    }

    /// Wipes its system disk and switches it off.
    pub fn reset(&self, graceful: bool) -> Result<(), Status> {
        let mode = machine::ResetRequestWipeMode::SystemDisk as i32;
        let request =
            machine::ResetRequest { graceful, reboot: false, system_partitions_to_wipe: Vec::new(), user_disks_to_wipe: Vec::new(), mode };
        self.channel.try_call::<machine::ResetResponse>(calls::RESET, &request).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_as_talos_shows_it() {
        let shown = "stage: booting\nstatus:\n    ready: false\n    unmetConditions:\n        - name: services\n          reason: etcd not running\n";
        let status: MachineStatus = serde_saphyr::from_str(shown).expect("a status");
        assert_eq!((status.stage.as_str(), status.is_ready(), status.leaves()), ("booting", false, false));
        assert_eq!(status.unmet()[0].reason, "etcd not running");
    }
}

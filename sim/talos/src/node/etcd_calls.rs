//! Bootstrap and the calls about etcd.

use std::sync::Arc;

use emhost_talos_api::methods::machine as calls;
use emhost_talos_api::{common, machine};
use futures::StreamExt;
use prost::Message;

use super::Node;
use super::calls::{data, read, unary};
use super::services::ServiceState;
use super::settings::Settings;
use crate::etcd::{Alarm, Etcd, Refusal, snapshot};
use crate::seam::{Reply, RequestStream};
use crate::wire::{Code, Status};

/// What a client of etcd says when nobody listens.
fn refused() -> Status {
    Status::unavailable("connection error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused\"")
}

fn said(what: &'static str) -> impl Fn(Refusal) -> Status {
    move |refusal| {
        let text = if what.is_empty() { refusal.to_string() } else { format!("{what}: {refusal}") };
        Status::unknown(text)
    }
}

/// The version of etcd in a Talos of this minor version.
pub(crate) fn etcd_version(minor: u16) -> &'static str {
    match minor {
        ..=8 => "3.5.17",
        9 => "3.5.21",
        10 => "3.5.26",
        11 => "3.6.5",
        12 => "3.6.11",
        _ => "3.6.12",
    }
}

impl Node {
    /// The settings of a control plane; a worker says which call it does not have.
    pub fn control_plane(&self, call: &str) -> Result<Arc<Settings>, Status> {
        let settings = self.need_settings()?;
        if settings.control_plane {
            Ok(settings)
        } else {
            Err(Status::unimplemented(format!("{call} is only available on control plane nodes")))
        }
    }

    /// Starts etcd as the first member of a new cluster.
    pub fn bootstrap(&self, request: &machine::BootstrapRequest) -> Result<(), Status> {
        self.journal.talos("bootstrap request received");
        let settings = self.settings();
        let worker = settings.as_ref().is_some_and(|settings| !settings.control_plane);
        if worker && self.version.since(1, 13) {
            return Err(Status::unimplemented("bootstrap is only available on control plane nodes"));
        }
        if !self.state().bootstrap_allowed {
            return Err(Status::precondition("bootstrap is not available yet"));
        }
        let settings = settings.filter(|_| !worker);
        let settings = settings.ok_or_else(|| Status::precondition("bootstrap can only be performed on a control plane node"))?;
        if self.state().etcd.is_some() {
            return Err(Status::exists("etcd data directory is not empty"));
        }
        let fleet = self.need_fleet()?;
        let documents = if request.recover_etcd {
            let bytes = self.state().recovery.clone();
            let bytes = bytes.ok_or_else(|| Status::unknown("error restoring from etcd snapshot: snapshot is missing"))?;
            let read = snapshot::read(&bytes, request.recover_skip_hash_check);
            Some(read.map_err(|error| Status::unknown(format!("error restoring from etcd snapshot: {error}")))?)
        } else {
            None
        };
        self.service("etcd", ServiceState::Finished, "Bootstrap requested");
        fleet.bootstrap(self, &settings, documents)?;
        self.state().recovery = None;
        self.service("etcd", ServiceState::Starting, "Starting service");
        self.touch();
        Ok(())
    }

    /// Takes the node out of etcd and deletes its data.
    pub fn leave_etcd(&self) -> Result<(), String> {
        let Some(data) = self.state().etcd.clone() else { return Ok(()) };
        if !self.state().services.running("etcd") {
            return Ok(());
        }
        let fleet = self.fleet().ok_or("the machine is shutting down")?;
        let left = fleet.with_etcd(self, false, |etcd| match etcd.remove(data.member) {
            Err(Refusal::NotFound) => Ok(()),
            other => other,
        });
        match left {
            Some(Ok(())) => {}
            Some(Err(refusal)) => return Err(format!("failed to leave cluster: failed to remove member {}: {refusal}", data.member)),
            None => return Err(format!("failed to leave cluster: {}", refused().message)),
        }
        self.end_service("etcd");
        self.state().etcd = None;
        self.change_ephemeral(|ephemeral| ephemeral.etcd = None).map_err(|status| status.message)?;
        self.touch();
        Ok(())
    }

    /// Asks etcd: the one on this node, or any of the cluster.
    fn ask<T>(&self, local: bool, what: &'static str, question: impl FnOnce(&mut Etcd) -> Result<T, Refusal>) -> Result<T, Status> {
        let fleet = self.need_fleet()?;
        fleet.with_etcd(self, local, question).ok_or_else(refused)?.map_err(said(what))
    }

    fn member(&self) -> u64 {
        self.state().etcd.as_ref().map_or(0, |data| data.member)
    }

    pub(super) async fn answer_etcd(&self, method: &str, request: &mut RequestStream) -> Result<Reply, Status> {
        match method {
            calls::ETCD_MEMBER_LIST => self.member_list(&read(request).await?),
            calls::ETCD_STATUS => self.etcd_status(),
            calls::ETCD_REMOVE_MEMBER_BY_ID => {
                let asked: machine::EtcdRemoveMemberByIdRequest = read(request).await?;
                self.control_plane("etcd remove member")?;
                let id = asked.member_id;
                let fleet = self.need_fleet()?;
                match fleet.with_etcd(self, false, |etcd| etcd.remove(id)).ok_or_else(refused)? {
                    Ok(()) => {}
                    Err(Refusal::NotFound) => {
                        return Err(Status::not_found(format!("failed to remove member {id}: {}", Refusal::NotFound)));
                    }
                    Err(refusal) => {
                        return Err(Status::unknown(format!("failed to remove member: failed to remove member {id}: {refusal}")));
                    }
                }
                fleet.poke();
                unary(&machine::EtcdRemoveMemberByIdResponse { messages: vec![machine::EtcdRemoveMemberById::default()] })
            }
            calls::ETCD_LEAVE_CLUSTER => {
                self.control_plane("etcd leave")?;
                if self.state().etcd.is_none() {
                    return Err(Status::unknown("failed to leave cluster: failed to get local etcd member ID"));
                }
                self.leave_etcd().map_err(Status::unknown)?;
                unary(&machine::EtcdLeaveClusterResponse { messages: vec![machine::EtcdLeaveCluster::default()] })
            }
            calls::ETCD_FORFEIT_LEADERSHIP => {
                self.control_plane("etcd forfeit leadership")?;
                let own = self.member();
                let member = self.ask(false, "failed to forfeit leadership", |etcd| etcd.forfeit(own))?;
                unary(&machine::EtcdForfeitLeadershipResponse { messages: vec![machine::EtcdForfeitLeadership { metadata: None, member }] })
            }
            calls::ETCD_SNAPSHOT => {
                self.control_plane("etcd snapshot")?;
                let bytes = self.snapshot()?;
                data(&bytes)
            }
            calls::ETCD_RECOVER => {
                self.receive_snapshot(request).await?;
                unary(&machine::EtcdRecoverResponse { messages: vec![machine::EtcdRecover::default()] })
            }
            calls::ETCD_ALARM_LIST => {
                self.control_plane("etcd alarm list")?;
                let member_alarms = self.ask(true, "failed to list etcd alarms", |etcd| Ok(alarms(etcd)))?;
                unary(&machine::EtcdAlarmListResponse { messages: vec![machine::EtcdAlarm { metadata: None, member_alarms }] })
            }
            calls::ETCD_ALARM_DISARM => {
                self.control_plane("etcd alarm list")?;
                let member_alarms = self.ask(true, "failed to disarm etcd alarm", |etcd| {
                    let disarmed = alarms(etcd);
                    etcd.alarms.clear();
                    Ok(disarmed)
                })?;
                unary(&machine::EtcdAlarmDisarmResponse { messages: vec![machine::EtcdAlarmDisarm { metadata: None, member_alarms }] })
            }
            calls::ETCD_DEFRAGMENT => {
                self.control_plane("etcd defragment")?;
                self.ask(true, "failed to defragment etcd", |_| Ok(()))?;
                unary(&machine::EtcdDefragmentResponse { messages: vec![machine::EtcdDefragment::default()] })
            }
            _ => self.downgrade(method, request).await,
        }
    }

    fn member_list(&self, request: &machine::EtcdMemberListRequest) -> Result<Reply, Status> {
        self.control_plane("member list")?;
        let members =
            self.ask(request.query_local, "", |etcd| if etcd.quorum() { Ok(etcd.members.clone()) } else { Err(Refusal::NoLeader) })?;
        let list = machine::EtcdMembers {
            metadata: None,
            legacy_members: members.iter().map(|member| member.name.clone()).collect(),
            members: members
                .iter()
                .map(|member| machine::EtcdMember {
                    id: member.id,
                    hostname: member.name.clone(),
                    peer_urls: vec![member.peer_url()],
                    client_urls: member.client_urls(),
                    is_learner: member.learner,
                })
                .collect(),
        };
        unary(&machine::EtcdMemberListResponse { messages: vec![list] })
    }

    fn etcd_status(&self) -> Result<Reply, Status> {
        self.control_plane("etcd status")?;
        let own = self.member();
        let version = etcd_version(self.version.minor);
        let size = self.need_fleet()?.database_size(self);
        let status = self.ask(true, "failed to query etcd status", |etcd| {
            let errors = if etcd.leader.is_none() { vec!["etcdserver: no leader".to_owned()] } else { Vec::new() };
            Ok(machine::EtcdMemberStatus {
                protocol_version: version.to_owned(),
                db_size: size,
                db_size_in_use: size / 2,
                leader: etcd.leader.unwrap_or_default(),
                raft_index: etcd.index,
                raft_term: etcd.term,
                raft_applied_index: etcd.index,
                errors,
                is_learner: etcd.member(own).is_some_and(|member| member.learner),
                member_id: own,
                storage_version: if version.starts_with("3.5") { "3.5.0" } else { "3.6.0" }.to_owned(),
            })
        })?;
        unary(&machine::EtcdStatusResponse { messages: vec![machine::EtcdStatus { metadata: None, member_status: Some(status) }] })
    }

    fn snapshot(&self) -> Result<Vec<u8>, Status> {
        let (id, index, term) = self.ask(true, "failed reading etcd snapshot", |etcd| Ok((etcd.id.clone(), etcd.index, etcd.term)))?;
        let storage = if etcd_version(self.version.minor).starts_with("3.5") { "3.5.0" } else { "3.6.0" };
        let documents = self.need_fleet()?.kubernetes_documents(&id).map_err(|error| Status::unknown(error.to_string()))?;
        Ok(snapshot::write(&documents, index, term, storage))
    }

    async fn receive_snapshot(&self, request: &mut RequestStream) -> Result<(), Status> {
        let waiting = {
            let state = self.state();
            let preparing = state.services.get("etcd").is_some_and(|service| service.state == ServiceState::Preparing);
            preparing && state.etcd.is_none()
        };
        if !waiting {
            return Err(Status::precondition("etcd service is not ready for recovery yet"));
        }
        self.control_plane("etcd recover")?;
        let mut bytes = Vec::new();
        while let Some(message) = request.next().await {
            let part = common::Data::decode(message?).map_err(|error| Status::internal(error.to_string()))?;
            bytes.extend(part.bytes);
        }
        self.state().recovery = Some(bytes);
        Ok(())
    }

    async fn downgrade(&self, method: &str, request: &mut RequestStream) -> Result<Reply, Status> {
        self.control_plane("etcd downgrade")?;
        let version = match method {
            calls::ETCD_DOWNGRADE_VALIDATE => read::<machine::EtcdDowngradeValidateRequest>(request).await?.version,
            calls::ETCD_DOWNGRADE_ENABLE => read::<machine::EtcdDowngradeEnableRequest>(request).await?.version,
            _ => String::new(),
        };
        if version.is_empty() && method != calls::ETCD_DOWNGRADE_CANCEL {
            return Err(Status::new(Code::InvalidArgument, "version is required for etcd downgrade"));
        }
        let cluster_downgrade = Some(machine::EtcdClusterDowngrade { cluster_version: etcd_version(self.version.minor).to_owned() });
        self.ask(true, "failed to query etcd status", |_| Ok(()))?;
        match method {
            calls::ETCD_DOWNGRADE_VALIDATE => {
                self.downgradable(&version)?;
                let answer = machine::EtcdDowngradeValidate { metadata: None, cluster_downgrade };
                unary(&machine::EtcdDowngradeValidateResponse { messages: vec![answer] })
            }
            calls::ETCD_DOWNGRADE_ENABLE => {
                self.downgradable(&version)?;
                let answer = machine::EtcdDowngradeEnable { metadata: None, cluster_downgrade };
                unary(&machine::EtcdDowngradeEnableResponse { messages: vec![answer] })
            }
            calls::ETCD_DOWNGRADE_CANCEL => {
                Err(Status::new(Code::Unknown, "failed to query etcd status: etcdserver: there is no inflight downgrade job"))
            }
            _ => Err(Status::unimplemented(format!("unknown method {method}"))),
        }
    }

    fn downgradable(&self, version: &str) -> Result<(), Status> {
        let below = if etcd_version(self.version.minor).starts_with("3.6") { "3.5" } else { "3.4" };
        if version.trim_start_matches('v').starts_with(below) {
            Ok(())
        } else {
            Err(Status::unknown("failed to query etcd status: etcdserver: invalid downgrade target version"))
        }
    }
}

fn alarms(etcd: &Etcd) -> Vec<machine::EtcdMemberAlarm> {
    let kind = |alarm: Alarm| match alarm {
        Alarm::NoSpace => machine::EtcdMemberAlarmAlarmType::Nospace,
        Alarm::Corrupt => machine::EtcdMemberAlarmAlarmType::Corrupt,
    };
    etcd.alarms.iter().map(|(member, alarm)| machine::EtcdMemberAlarm { member_id: *member, alarm: kind(*alarm) as i32 }).collect()
}

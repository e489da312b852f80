//! Which call does what.

use bytes::Bytes;
use emhost_talos_api::methods::{cluster, image, lifecycle, machine as calls, storage, time};
use emhost_talos_api::{cluster as cluster_api, common, google, machine, storage as storage_api, time as time_api};
use futures::StreamExt;
use futures::stream;
use prost::Message;

use super::Node;
use super::services::ServiceState;
use crate::health;
use crate::seam::{Caller, Reply, RequestStream};
use crate::wire::{Code, Status};

/// A reply of one message.
#[allow(clippy::unnecessary_wraps, reason = "every call ends with one of these")]
pub(super) fn unary(message: &impl Message) -> Result<Reply, Status> {
    Ok(Reply::Unary(Bytes::from(message.encode_to_vec())))
}

/// A reply of these messages.
#[allow(clippy::unnecessary_wraps, reason = "every call ends with one of these")]
pub(super) fn many<M: Message>(messages: impl IntoIterator<Item = M>) -> Result<Reply, Status> {
    let bytes: Vec<_> = messages.into_iter().map(|message| Ok(Bytes::from(message.encode_to_vec()))).collect();
    Ok(Reply::Stream(stream::iter(bytes).boxed()))
}

/// The size of one message of a long answer.
const CHUNK: usize = 32 * 1024;

/// Bytes in messages of a bearable size.
pub(super) fn data(bytes: &[u8]) -> Result<Reply, Status> {
    many(bytes.chunks(CHUNK).map(|chunk| common::Data { metadata: None, bytes: chunk.to_vec() }).collect::<Vec<_>>())
}

/// The one message of a request.
pub(super) async fn read<M: Message + Default>(request: &mut RequestStream) -> Result<M, Status> {
    let bytes = request.next().await.transpose()?.unwrap_or_default();
    M::decode(bytes).map_err(|error| Status::internal(format!("grpc: error unmarshalling request: {error}")))
}

/// Images are kept by namespace, and one has to be named.
fn known(namespace: i32) -> Result<(), Status> {
    match common::ContainerdNamespace::try_from(namespace) {
        Ok(common::ContainerdNamespace::System | common::ContainerdNamespace::Cri) => Ok(()),
        _ => Err(Status::new(Code::InvalidArgument, "invalid namespace NS_UNKNOWN")),
    }
}

impl Node {
    /// Answers one call.
    pub(super) async fn answer(&self, caller: Caller, method: &str, mut request: RequestStream) -> Result<Reply, Status> {
        let request = &mut request;
        match method {
            calls::APPLY_CONFIGURATION => {
                let applied = self.apply(&caller, &read(request).await?)?;
                unary(&machine::ApplyConfigurationResponse { messages: vec![applied] })
            }
            calls::BOOTSTRAP => {
                self.bootstrap(&read(request).await?)?;
                unary(&machine::BootstrapResponse { messages: vec![machine::Bootstrap::default()] })
            }
            calls::GENERATE_CLIENT_CONFIGURATION => {
                let made = self.talosconfig(&read(request).await?)?;
                unary(&machine::GenerateClientConfigurationResponse { messages: vec![made] })
            }
            calls::GENERATE_CONFIGURATION => {
                let asked: machine::GenerateConfigurationRequest = read(request).await?;
                if asked.machine_config.is_none() || asked.cluster_config.is_none() {
                    return Err(Status::unknown("invalid generate request"));
                }
                Err(Status::unimplemented("GenerateConfiguration is not simulated"))
            }
            calls::KUBECONFIG => many([common::Data { metadata: None, bytes: self.kubeconfig()? }]),
            calls::META_WRITE => {
                let asked: machine::MetaWriteRequest = read(request).await?;
                self.meta_write(&asked)?;
                unary(&machine::MetaWriteResponse { messages: vec![machine::MetaWrite::default()] })
            }
            calls::META_DELETE => {
                let asked: machine::MetaDeleteRequest = read(request).await?;
                self.meta_delete(asked.key)?;
                unary(&machine::MetaDeleteResponse { messages: vec![machine::MetaDelete::default()] })
            }
            calls::REBOOT | calls::SHUTDOWN | calls::RESET | calls::ROLLBACK | calls::UPGRADE => self.answer_power(method, request).await,
            calls::EVENTS => Ok(Reply::Stream(self.events.listen(&read(request).await?)?)),
            calls::DMESG => {
                let asked: machine::DmesgRequest = read(request).await?;
                Ok(Reply::Stream(self.journal.dmesg(asked.follow, asked.tail)))
            }
            calls::LOGS => self.logs(&read(request).await?),
            calls::LOGS_CONTAINERS => {
                let ids = self.journal.sources();
                unary(&machine::LogsContainersResponse { messages: vec![machine::LogsContainer { metadata: None, ids }] })
            }
            calls::SERVICE_LIST | calls::SERVICE_START | calls::SERVICE_STOP | calls::SERVICE_RESTART => {
                self.answer_service(method, request).await
            }
            calls::LIST | calls::READ | calls::COPY | calls::DISK_USAGE | calls::MOUNTS => self.answer_files(method, request).await,
            cluster::HEALTH_CHECK => {
                let asked: cluster_api::HealthCheckRequest = read(request).await?;
                health::check(self, &asked)
            }
            storage::DISKS => {
                let disks = self.storage_disks();
                unary(&storage_api::DisksResponse { messages: vec![storage_api::Disks { metadata: None, disks }] })
            }
            storage::BLOCK_DEVICE_WIPE => {
                self.wipe_devices(&read(request).await?)?;
                unary(&storage_api::BlockDeviceWipeResponse { messages: vec![storage_api::BlockDeviceWipe::default()] })
            }
            time::TIME | time::TIME_CHECK => {
                let asked: time_api::TimeRequest = read(request).await?;
                if method == time::TIME_CHECK && asked.server.is_empty() {
                    return Err(Status::unknown("error querying NTP server \"\": address string is empty"));
                }
                unary(&time_api::TimeResponse { messages: vec![self.time(&asked.server)] })
            }
            lifecycle::UPGRADE | lifecycle::INSTALL | image::PULL | image::LIST | image::REMOVE | image::IMPORT | image::VERIFY => {
                self.answer_images(method, request).await
            }
            calls::IMAGE_LIST => {
                let asked: machine::ImageListRequest = read(request).await?;
                known(asked.namespace)?;
                many(self.images().into_iter().map(|(name, digest, size)| machine::ImageListResponse {
                    metadata: None,
                    name,
                    digest,
                    size,
                    created_at: Some(self.since.into()),
                }))
            }
            calls::IMAGE_PULL => {
                let asked: machine::ImagePullRequest = read(request).await?;
                known(asked.namespace)?;
                self.pull(&asked.reference)?;
                unary(&machine::ImagePullResponse { messages: vec![machine::ImagePull::default()] })
            }
            other if other.starts_with("/machine.MachineService/Etcd") => self.answer_etcd(other, request).await,
            other => self.answer_system(other, request).await,
        }
    }

    async fn answer_power(&self, method: &str, request: &mut RequestStream) -> Result<Reply, Status> {
        match method {
            calls::REBOOT => {
                let actor_id = self.reboot();
                unary(&machine::RebootResponse { messages: vec![machine::Reboot { metadata: None, actor_id }] })
            }
            calls::SHUTDOWN => {
                let asked: machine::ShutdownRequest = read(request).await?;
                let actor_id = self.power_down(asked.force);
                unary(&machine::ShutdownResponse { messages: vec![machine::Shutdown { metadata: None, actor_id }] })
            }
            calls::RESET => {
                let actor_id = self.reset(read(request).await?)?;
                unary(&machine::ResetResponse { messages: vec![machine::Reset { metadata: None, actor_id }] })
            }
            calls::ROLLBACK => {
                self.rollback()?;
                unary(&machine::RollbackResponse { messages: vec![machine::Rollback::default()] })
            }
            _ => {
                let upgrade = self.upgrade(read(request).await?).await?;
                unary(&machine::UpgradeResponse { messages: vec![upgrade] })
            }
        }
    }

    async fn answer_service(&self, method: &str, request: &mut RequestStream) -> Result<Reply, Status> {
        match method {
            calls::SERVICE_START => {
                let asked: machine::ServiceStartRequest = read(request).await?;
                self.start_by_hand(&asked.id)?;
                let resp = format!("Service {:?} started", asked.id);
                unary(&machine::ServiceStartResponse { messages: vec![machine::ServiceStart { metadata: None, resp }] })
            }
            calls::SERVICE_STOP => {
                let asked: machine::ServiceStopRequest = read(request).await?;
                self.stop_by_hand(&asked.id)?;
                let resp = format!("Service {:?} stopped", asked.id);
                unary(&machine::ServiceStopResponse { messages: vec![machine::ServiceStop { metadata: None, resp }] })
            }
            calls::SERVICE_RESTART => {
                let asked: machine::ServiceRestartRequest = read(request).await?;
                self.restart_by_hand(&asked.id)?;
                let resp = format!("Service {:?} restarted", asked.id);
                unary(&machine::ServiceRestartResponse { messages: vec![machine::ServiceRestart { metadata: None, resp }] })
            }
            _ => {
                let services = self.state().services.list();
                unary(&machine::ServiceListResponse { messages: vec![machine::ServiceList { metadata: None, services }] })
            }
        }
    }

    /// Whether a service is there, and whether it runs.
    fn find_service(&self, id: &str) -> Result<bool, Status> {
        let state = self.state();
        let service = state.services.get(id).ok_or_else(|| Status::unknown(format!("service {id:?} not defined")))?;
        Ok(!matches!(service.state, ServiceState::Finished | ServiceState::Failed))
    }

    fn start_by_hand(&self, id: &str) -> Result<(), Status> {
        if self.find_service(id)? {
            return Ok(());
        }
        if id == "kubelet" {
            self.start_kubelet();
        } else if id.starts_with("ext-") {
            self.start_service(id);
        } else {
            return Err(Status::unknown(format!("service {id:?} doesn't support start operation via API")));
        }
        Ok(())
    }

    fn stop_by_hand(&self, id: &str) -> Result<(), Status> {
        if !self.find_service(id)? {
            return Ok(());
        }
        if !id.starts_with("ext-") {
            return Err(Status::unknown(format!("service {id:?} doesn't support stop operation via API")));
        }
        self.end_service(id);
        Ok(())
    }

    fn restart_by_hand(&self, id: &str) -> Result<(), Status> {
        if !self.find_service(id)? {
            return self.start_by_hand(id);
        }
        if id != "kubelet" && !id.starts_with("ext-") {
            return Err(Status::unknown(format!("service {id:?} doesn't support restart operation via API")));
        }
        self.end_service(id);
        self.start_by_hand(id)
    }

    /// Stops a service.
    pub(super) fn end_service(&self, id: &str) {
        self.service(id, ServiceState::Stopping, &format!("Sending SIGTERM to task {id} (PID {})", super::resources::pid(id)));
        self.service(id, ServiceState::Finished, "Service finished successfully");
    }

    fn logs(&self, request: &machine::LogsRequest) -> Result<Reply, Status> {
        if request.namespace == "system" || request.id == "kubelet" {
            if !self.journal.knows(&request.id) {
                return Err(Status::unknown(format!("log {:?} was not registered", request.id)));
            }
        } else {
            return Err(Status::unknown(format!("container {:?} not found", request.id)));
        }
        let lines = usize::try_from(request.tail_lines).ok();
        Ok(Reply::Stream(self.journal.read(&request.id, request.follow, lines)))
    }

    async fn answer_images(&self, method: &str, request: &mut RequestStream) -> Result<Reply, Status> {
        use super::upgrade::{install_answer, upgrade_answer};
        match method {
            lifecycle::UPGRADE => {
                let asked: machine::LifecycleServiceUpgradeRequest = read(request).await?;
                let reference = asked.source.map(|source| source.image_name).unwrap_or_default();
                Ok(Reply::Stream(self.lifecycle(&reference, None, upgrade_answer)?))
            }
            lifecycle::INSTALL => {
                let asked: machine::LifecycleServiceInstallRequest = read(request).await?;
                if self.installed() {
                    return Err(Status::precondition("Talos is already installed"));
                }
                let reference = asked.source.map(|source| source.image_name).unwrap_or_default();
                let disk = asked.destination.map(|destination| destination.disk).unwrap_or_default();
                Ok(Reply::Stream(self.lifecycle(&reference, Some(&disk), install_answer)?))
            }
            image::PULL => {
                let asked: machine::ImageServicePullRequest = read(request).await?;
                self.pull(&asked.image_ref)?;
                let done = machine::ImageServicePullResponseResponse::Name(asked.image_ref);
                many([machine::ImageServicePullResponse { response: Some(done) }])
            }
            image::LIST => many(self.images().into_iter().map(|(name, digest, size)| machine::ImageServiceListResponse {
                name,
                digest,
                size,
                created_at: Some(self.since.into()),
                labels: std::collections::BTreeMap::new(),
            })),
            image::REMOVE => {
                let asked: machine::ImageServiceRemoveRequest = read(request).await?;
                let mut state = self.state();
                let before = state.pulled.len();
                state.pulled.retain(|name| *name != asked.image_ref);
                if state.pulled.len() == before {
                    return Err(Status::not_found(format!("image {:?}: not found", asked.image_ref)));
                }
                drop(state);
                unary(&google::Empty {})
            }
            image::VERIFY => {
                let asked: machine::ImageServiceVerifyRequest = read(request).await?;
                let message = "no verification rule matches".to_owned();
                unary(&machine::ImageServiceVerifyResponse { verified: false, message, digested_image_ref: asked.image_ref })
            }
            _ => Err(Status::unimplemented("importing images is not simulated")),
        }
    }

    fn pull(&self, reference: &str) -> Result<(), Status> {
        // Only installers have to be found: nothing else is ever read out of an image.
        if reference.contains("installer") {
            self.resolve(reference).map_err(Status::unknown)?;
        }
        let mut state = self.state();
        if !state.pulled.iter().any(|name| name == reference) {
            state.pulled.push(reference.to_owned());
        }
        Ok(())
    }

    fn meta_write(&self, request: &machine::MetaWriteRequest) -> Result<(), Status> {
        let key = u8::try_from(request.key).map_err(|_| Status::invalid("key must be a uint8"))?;
        let value = String::from_utf8_lossy(&request.value).into_owned();
        self.change_disk(|disk| {
            disk.meta.insert(key, value);
        })?;
        super::resources::meta(self);
        Ok(())
    }

    fn meta_delete(&self, key: u32) -> Result<(), Status> {
        let key = u8::try_from(key).map_err(|_| Status::invalid("key must be a uint8"))?;
        if !self.disk().meta.contains_key(&key) {
            return Err(Status::not_found("meta key not found"));
        }
        self.change_disk(|disk| {
            disk.meta.remove(&key);
        })?;
        super::resources::meta(self);
        Ok(())
    }
}

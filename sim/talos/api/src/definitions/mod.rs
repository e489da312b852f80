//! Packages `talos.resource.definitions.*`: what the resources of a node hold.

pub mod block;
pub mod cluster;
pub mod config;
pub mod cri;
pub mod enums;
pub mod etcd;
pub mod extensions;
pub mod files;
pub mod hardware;
pub mod k8s;
pub mod kubespan;
pub mod network;
pub mod perf;
pub mod proto;
pub mod runtime;
pub mod secrets;
pub mod siderolink;
pub mod time;
pub mod v1alpha1;

//! A small Kubernetes API that kubectl and talosctl accept.
//!
//! One [`Cluster`] holds the objects of one Kubernetes cluster and answers on
//! as many addresses as its caller serves it on: every control plane and the
//! virtual address. What kubelets say comes in by [`Cluster::set_nodes`]; the
//! small controllers run with every change, so that nothing polls.

mod access;
mod builtin;
mod cluster;
mod controllers;
mod discovery;
mod document;
mod failure;
mod http;
mod kinds;
mod objects;
mod patches;
mod protobuf;
mod report;
mod rules;
mod schema;
mod serve;
mod tables;
mod verbs;
mod world;

pub use cluster::{Cluster, Settings};
pub use report::{Builtin, Node, StaticPod, Taint};
pub use serve::Serving;

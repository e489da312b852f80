//! Who gets in, and what they may do.

use bytes::Bytes;
use emhost_sim_kit::Fault;
use emhost_talos_api::google::Empty;
use emhost_talos_api::machine::VersionResponse;
use emhost_talos_api::methods::{machine, storage};
use http::Request;
use http_body_util::Full;
use prost::Message;

use super::client::Client;
use super::node::{Node, Site};

fn empty() -> Vec<Vec<u8>> {
    vec![Empty {}.encode_to_vec()]
}

#[tokio::test]
async fn a_configured_node_takes_clients_of_its_authority_only() {
    let site = Site::new();
    let node = site.start(Node::control_plane(11)).await;
    let admin = node.client(&site, "os:admin").await;
    let outcome = admin.call(machine::VERSION, &[], &empty()).await.unwrap();
    assert_eq!(outcome.code, Some(0));
    let reply = VersionResponse::decode(outcome.messages[0].clone()).unwrap();
    assert_eq!(reply.messages[0].version.as_ref().unwrap().tag, "v1.11.5");

    let refusal = async |identity| Client::refusal(node.address, identity).await.unwrap_or_default();
    assert!(refusal(None).await.contains("CertificateRequired"), "{}", refusal(None).await);
    let both = site.issued(&["os:admin"], true);
    let why = refusal(Some((both.certificate.clone(), both.private_key()))).await;
    assert!(why.contains("BadCertificate"), "{why}");
    let other = Site::new();
    let why = refusal(Some(other.client(&["os:admin"]))).await;
    assert!(why.contains("UnknownCA"), "{why}");
}

#[tokio::test]
async fn roles_decide_what_is_answered() {
    let site = Site::new();
    let node = site.start(Node::control_plane(11)).await;
    let code = |client: Client, method: &'static str| async move { client.call(method, &[], &empty()).await.unwrap() };
    let denied = code(node.client(&site, "os:reader").await, machine::REBOOT).await;
    assert_eq!((denied.code, denied.message.as_str(), denied.trailers_only), (Some(7), "not authorized", true));
    let failed = code(node.client(&site, "os:operator").await, machine::REBOOT).await;
    assert_eq!(failed.message, "node-11 is not alive");
    assert_eq!(code(node.client(&site, "os:nothing").await, machine::VERSION).await.code, Some(7));
    assert_eq!(code(node.client(&site, "os:etcd:backup").await, machine::ETCD_SNAPSHOT).await.code, Some(9));

    let forwarder = node.client(&site, "os:impersonator").await;
    assert_eq!(forwarder.call(machine::VERSION, &[], &empty()).await.unwrap().code, Some(7));
    let as_reader = [("talos-role", "os:reader")];
    assert_eq!(forwarder.call(machine::VERSION, &as_reader, &empty()).await.unwrap().code, Some(0));
    let reader = node.client(&site, "os:reader").await;
    assert_eq!(reader.call(machine::REBOOT, &[("talos-role", "os:admin")], &empty()).await.unwrap().code, Some(7));
    let wanted = format!("{} [] os:reader /machine.MachineService/Reboot PermissionDenied None", node.address.ip());
    assert!(site.calls.lock().unwrap().contains(&wanted));
}

#[tokio::test]
async fn maintenance_answers_anybody_and_little() {
    let site = Site::new();
    let old = site.start(Node::in_maintenance(11, "v1.12.1")).await;
    let anybody = Client::connect(old.address, None).await.unwrap();
    let version = anybody.call(machine::VERSION, &[], &empty()).await.unwrap();
    assert_eq!((version.code, version.message.as_str()), (Some(12), "API is not implemented in maintenance mode"));
    assert_eq!(anybody.call(machine::APPLY_CONFIGURATION, &[], &empty()).await.unwrap().message, "node-11 is not alive");
    assert_eq!(anybody.call(machine::REBOOT, &[], &empty()).await.unwrap().message, "method Reboot not implemented");
    assert_eq!(anybody.call("/time.TimeService/Time", &[], &empty()).await.unwrap().message, "unknown service time.TimeService");

    let new = site.start(Node::in_maintenance(12, "v1.13.0")).await;
    let anybody = Client::connect(new.address, None).await.unwrap();
    assert_eq!(anybody.call(machine::VERSION, &[], &empty()).await.unwrap().code, Some(0));
    assert_eq!(anybody.call(machine::REBOOT, &[], &empty()).await.unwrap().message, "not authorized");
    assert_eq!(anybody.call(storage::BLOCK_DEVICE_WIPE, &[], &empty()).await.unwrap().code, Some(9));
}

#[tokio::test]
async fn what_is_no_grpc_is_refused_as_such() {
    let site = Site::new();
    let node = site.start(Node::control_plane(11)).await;
    let admin = node.client(&site, "os:admin").await;
    let request = |builder: http::request::Builder| builder.body(Full::new(Bytes::new())).unwrap();
    let plain = admin
        .send(request(Request::post("https://node/machine.MachineService/Version").header("content-type", "text/plain")))
        .await
        .unwrap();
    assert_eq!((plain.http, plain.code), (415, Some(3)));
    let get = admin
        .send(request(Request::get("https://node/machine.MachineService/Version").header("content-type", "application/grpc")))
        .await
        .unwrap();
    assert_eq!(get.http, 405);
    let nothing = admin.call("/nothing", &[], &empty()).await.unwrap();
    assert_eq!((nothing.code, nothing.message.as_str()), (Some(12), "malformed method name: \"/nothing\""));
    let late = admin.call(machine::EVENTS, &[("grpc-timeout", "50m")], &empty()).await.unwrap();
    assert_eq!((late.code, late.message.as_str()), (Some(4), "context deadline exceeded"));
    let large = vec![vec![0; 300_000]; 10];
    let counted = admin.call(machine::ETCD_RECOVER, &[], &large).await.unwrap();
    assert_eq!(counted.message, "3000000 bytes");
}

#[tokio::test]
async fn a_node_that_stops_takes_its_connections_with_it() {
    let site = Site::new();
    let mut node = site.start(Node::control_plane(11)).await;
    let admin = node.client(&site, "os:admin").await;
    admin.call(machine::VERSION, &[], &empty()).await.unwrap();
    drop(node.serving.take());
    // The next node is at the same address at once.
    let again = site.start(Node::control_plane(11)).await;
    assert!(admin.call(machine::VERSION, &[], &empty()).await.is_err());
    let admin = again.client(&site, "os:admin").await;
    assert_eq!(admin.call(machine::VERSION, &[], &empty()).await.unwrap().code, Some(0));
    assert_eq!(again.node.hostname, "node-11");
}

#[tokio::test]
async fn faults_break_connections_or_calls() {
    let site = Site::new();
    let node = site.start(Node::control_plane(11)).await;
    for fault in [Fault::RequestLost, Fault::ReplyLost] {
        let admin = node.client(&site, "os:admin").await;
        site.faults.lock().unwrap().push(fault);
        assert!(admin.call(machine::VERSION, &[], &empty()).await.is_err(), "{fault:?}");
    }
    let admin = node.client(&site, "os:admin").await;
    site.faults.lock().unwrap().push(Fault::ServerError);
    assert_eq!(admin.call(machine::VERSION, &[], &empty()).await.unwrap().code, Some(14));
    assert_eq!(admin.call(machine::VERSION, &[], &empty()).await.unwrap().code, Some(0));
}

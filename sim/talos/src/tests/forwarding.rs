//! One node asks others for its client.

use emhost_talos_api::common::{Data, EmptyResponse};
use emhost_talos_api::google::Empty;
use emhost_talos_api::machine::HostnameResponse;
use emhost_talos_api::methods::{cosi, machine};
use prost::Message;

use super::node::{Node, Site};

fn empty() -> Vec<Vec<u8>> {
    vec![Empty {}.encode_to_vec()]
}

#[tokio::test]
async fn one_other_node_answers_as_if_it_were_asked_itself() {
    let site = Site::new();
    let one = site.start(Node::control_plane(11)).await;
    let two = site.start(Node::worker(21)).await;
    let admin = one.client(&site, "os:admin").await;
    let dialled = two.address.ip().to_string();
    for target in ["10.0.10.21", &dialled, "node-21"] {
        let outcome = admin.call(machine::HOSTNAME, &[("node", target)], &empty()).await.unwrap();
        let reply = HostnameResponse::decode(outcome.messages[0].clone()).unwrap();
        assert_eq!((reply.messages[0].hostname.as_str(), reply.messages[0].metadata.clone()), ("node-21", None), "{target}");
    }
    let refused = admin.call(machine::REBOOT, &[("node", "10.0.10.21")], &empty()).await.unwrap();
    assert_eq!(refused.message, "node-21 is not alive");
    let reader = one.client(&site, "os:reader").await;
    assert_eq!(reader.call(machine::REBOOT, &[("node", "10.0.10.21")], &empty()).await.unwrap().message, "not authorized");
}

#[tokio::test]
async fn several_nodes_answer_together() {
    let site = Site::new();
    let one = site.start(Node::control_plane(11)).await;
    let _two = site.start(Node::control_plane(12)).await;
    let admin = one.client(&site, "os:admin").await;
    let targets = [("nodes", "10.0.10.11"), ("nodes", "10.0.10.12"), ("nodes", "10.0.10.99")];
    let outcome = admin.call(machine::HOSTNAME, &targets, &empty()).await.unwrap();
    let reply = HostnameResponse::decode(outcome.messages[0].clone()).unwrap();
    let hosts: Vec<_> = reply.messages.iter().map(|one| (one.hostname.clone(), one.metadata.clone().unwrap().hostname)).collect();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(hosts, [pair("node-11", "10.0.10.11"), pair("node-12", "10.0.10.12"), pair("", "10.0.10.99")]);
    let gone = reply.messages[2].metadata.clone().unwrap();
    assert_eq!(gone.status.unwrap().code, 14);
    assert_eq!(
        gone.error,
        "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp \
         10.0.10.99:50000: connect: no route to host\""
    );

    let outcome = admin.call(machine::DMESG, &targets, &empty()).await.unwrap();
    let mut lines: Vec<_> = outcome.messages.iter().map(|message| Data::decode(message.clone()).unwrap()).collect();
    lines.sort_by_key(|data| data.metadata.clone().unwrap().hostname);
    let texts: Vec<_> = lines.iter().map(|data| String::from_utf8_lossy(&data.bytes).into_owned()).collect();
    assert_eq!(texts, ["node-11 first\n", "node-11 second\n", "node-12 first\n", "node-12 second\n", ""]);
    assert_eq!((lines[4].metadata.clone().unwrap().status.unwrap().code, outcome.code), (14, Some(0)));

    let outcome = admin.call(machine::ETCD_RECOVER, &targets[..2], &[vec![1; 10], vec![2; 10]]).await.unwrap();
    let reply = EmptyResponse::decode(outcome.messages[0].clone()).unwrap();
    assert!(reply.messages.iter().all(|one| one.metadata.clone().unwrap().error.ends_with("20 bytes")), "{reply:?}");
}

#[tokio::test]
async fn what_cannot_be_forwarded_is_refused() {
    let site = Site::new();
    let one = site.start(Node::control_plane(11)).await;
    let fresh = site.start(Node::in_maintenance(12, "v1.11.5")).await;
    let admin = one.client(&site, "os:admin").await;
    let refused = async |method: &str, metadata: &[(&str, &str)]| {
        let outcome = admin.call(method, metadata, &empty()).await.unwrap();
        (outcome.code.unwrap(), outcome.message)
    };
    let text = |code: u16, text: &str| (code, text.to_owned());
    let targets = [("nodes", "10.0.10.11")];
    assert_eq!(refused(cosi::GET, &targets).await, text(3, "one-2-many proxying is not supported for COSI methods"));
    let twice = [("node", "10.0.10.11"), ("node", "10.0.10.12")];
    assert_eq!(refused(machine::HOSTNAME, &twice).await, text(3, "node metadata must be single-valued"));
    let port = [("node", "10.0.10.11:50000")];
    assert_eq!(refused(machine::HOSTNAME, &port).await, text(13, "invalid target \"10.0.10.11:50000\""));
    assert!(refused(machine::HOSTNAME, &[("node", "10.0.10.12")]).await.1.ends_with("signed by unknown authority\""));
    assert_eq!(refused(machine::HOSTNAME, &[("node", "nobody")]).await.0, 14);
    drop(fresh);

    let worker = site.start(Node::worker(21)).await;
    let admin = worker.client(&site, "os:admin").await;
    let outcome = admin.call(machine::HOSTNAME, &[("node", "10.0.10.11")], &empty()).await.unwrap();
    assert_eq!((outcome.code, outcome.message.as_str()), (Some(7), "no request forwarding"));
    let dialled = worker.address.ip().to_string();
    for own in [("node", "10.0.10.21"), ("nodes", dialled.as_str()), ("node", "node-21")] {
        assert_eq!(admin.call(machine::HOSTNAME, &[own], &empty()).await.unwrap().code, Some(0), "{own:?}");
    }
}

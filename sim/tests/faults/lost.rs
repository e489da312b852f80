//! Requests and answers that are lost on the way.

use emhost_sim::{Fault, Plan};
use reqwest::Method;
use serde_json::Value;

use crate::client::{Came, Client};
use crate::common::{Lab, plan};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_reply_did_its_work_and_a_lost_request_did_not() {
    let faults = vec![(Fault::RequestLost, 250), (Fault::ReplyLost, 250), (Fault::ServerError, 250)];
    let lab = Lab::new(Plan { seed: 3, faults, ..plan(0) }).await;
    let client = Client::new(lab.site.access().clone());
    let mut came = Vec::new();
    for number in 0..32 {
        came.push(client.ask(Method::POST, "/nodes/pve1/qemu", &[("vmid", &(500 + number).to_string())]).await);
    }
    client.settled().await;
    let machines = client.machines().await.join("\n");

    let audit = std::fs::read_to_string(lab.path("site/audit.jsonl")).unwrap();
    let entries: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let entries: Vec<&Value> = entries.iter().filter(|entry| entry["request"] == "POST /api2/json/nodes/pve1/qemu").collect();
    assert_eq!(entries.len(), came.len(), "one line for each request, lost ones too");
    for (number, (entry, came)) in entries.iter().zip(&came).enumerate() {
        let (vmid, fault) = (500 + number, entry["fault"].as_str());
        let did = matches!(fault, None | Some("reply-lost"));
        let expected = if did { serde_json::json!([format!("vm {vmid} created")]) } else { Value::Null };
        assert_eq!(entry["changed"], expected, "{entry}");
        assert_eq!(machines.lines().any(|machine| machine.starts_with(&format!("{vmid} "))), did, "{vmid}: {entry}\n{machines}");
        match (fault, came) {
            (None, Came::Answer(200, _)) | (Some("server-error"), Came::Answer(500 | 596, _)) => assert_ne!(entry["status"], 0),
            (Some("request-lost" | "reply-lost"), Came::Nothing) => assert_eq!(entry["status"], 0, "nobody saw a status"),
            other => panic!("{other:?}"),
        }
    }
    for kind in [None, Some("request-lost"), Some("reply-lost"), Some("server-error")] {
        assert!(entries.iter().any(|entry| entry["fault"].as_str() == kind), "no {kind:?} among {} requests", entries.len());
    }
}

//! The calls that both nodes get.

use std::collections::BTreeMap;

use emhost_talos_api::cosi::{GetRequest, ListRequest, WatchOptions, WatchRequest};
use emhost_talos_api::machine::ApplyConfigurationRequest;
use emhost_talos_api::methods::{self, cosi, machine};
use futures::{StreamExt, stream};
use prost::Message;

use super::super::client::{Client, Identity};
use super::seen::Seen;
use super::{Secrets, Target};

/// What changes a node for good, so that it is only asked by those who may not, or not at all.
const DESTRUCTIVE: [&str; 11] = [
    machine::BOOTSTRAP,
    machine::REBOOT,
    machine::RESET,
    machine::RESTART,
    machine::ROLLBACK,
    machine::SHUTDOWN,
    machine::UPGRADE,
    machine::ETCD_LEAVE_CLUSTER,
    machine::ETCD_RECOVER,
    machine::META_DELETE,
    machine::META_WRITE,
];

fn get(namespace: &str, kind: &str, id: &str) -> Vec<u8> {
    let (namespace, r#type, id) = (namespace.to_owned(), kind.to_owned(), id.to_owned());
    GetRequest { namespace, r#type, id, options: None }.encode_to_vec()
}

/// What a test says and what it sends.
type Request = (String, &'static str, Vec<(&'static str, String)>, Vec<u8>);

fn request(name: &str, method: &'static str, message: Vec<u8>) -> Request {
    (format!("{method} {name}"), method, Vec::new(), message)
}

fn every_method() -> impl Iterator<Item = &'static str> {
    methods::SERVICES.iter().flat_map(|service| service.iter()).map(|method| method.path)
}

/// Reading resources in every way that can be refused.
fn resource_calls() -> Vec<Request> {
    let definitions = "ResourceDefinitions.meta.cosi.dev";
    let machine_status = "MachineStatuses.runtime.talos.dev";
    let list = |namespace: &str, kind: &str| {
        ListRequest { namespace: namespace.to_owned(), r#type: kind.to_owned(), options: None }.encode_to_vec()
    };
    let watch = |id: Option<&str>, options: Option<WatchOptions>| {
        let (namespace, r#type) = ("runtime".to_owned(), machine_status.to_owned());
        WatchRequest { namespace, r#type, id: id.map(str::to_owned), options, api_version: 1 }.encode_to_vec()
    };
    let bootstrap = WatchOptions { bootstrap_contents: true, ..WatchOptions::default() };
    vec![
        request("machine status", cosi::GET, get("runtime", machine_status, "machine")),
        request("missing", cosi::GET, get("runtime", machine_status, "nothing")),
        request("unknown type", cosi::GET, get("runtime", "Foos.talos.dev", "x")),
        request("type in lower case", cosi::GET, get("runtime", "machinestatuses.runtime.talos.dev", "machine")),
        request("unknown namespace", cosi::GET, get("nowhere", machine_status, "machine")),
        request("secret", cosi::GET, get("secrets", "OSRootSecrets.secrets.talos.dev", "os")),
        request("configuration", cosi::GET, get("config", "MachineConfigs.config.talos.dev", "v1alpha1")),
        request("hostname", cosi::GET, get("network", "HostnameStatuses.net.talos.dev", "hostname")),
        request("addresses", cosi::GET, get("network", "NodeAddresses.net.talos.dev", "current")),
        request("network", cosi::GET, get("network", "NetworkStatuses.net.talos.dev", "status")),
        request("time", cosi::GET, get("runtime", "TimeStatuses.v1alpha1.talos.dev", "node")),
        request("machine type", cosi::GET, get("config", "MachineTypes.config.talos.dev", "machine-type")),
        request("definition", cosi::GET, get("meta", definitions, "members.cluster.talos.dev")),
        request("definitions", cosi::LIST, list("meta", definitions)),
        request("namespaces", cosi::LIST, list("meta", "Namespaces.meta.cosi.dev")),
        request("disks", cosi::LIST, list("runtime", "Disks.block.talos.dev")),
        request("secrets", cosi::LIST, list("secrets", "OSRootSecrets.secrets.talos.dev")),
        request("without options", cosi::WATCH, watch(None, None)),
        request("all", cosi::WATCH, watch(None, Some(bootstrap.clone()))),
        request("one", cosi::WATCH, watch(Some("machine"), Some(WatchOptions::default()))),
        request("one that is missing", cosi::WATCH, watch(Some("nothing"), Some(WatchOptions::default()))),
        request("one with its contents", cosi::WATCH, watch(Some("machine"), Some(bootstrap))),
        request(
            "a wrong bookmark",
            cosi::WATCH,
            watch(None, Some(WatchOptions { start_from_bookmark: Some(vec![0; 16]), ..WatchOptions::default() })),
        ),
    ]
}

async fn ask(client: &Client, target: &Target, calls: Vec<Request>) -> BTreeMap<String, Seen> {
    ask_by_name(client, &[(target.address.ip().to_string(), "SELF")], calls).await
}

/// Asks with names instead of addresses, which differ from node to node.
async fn ask_by_name(client: &Client, names: &[(String, &str)], calls: Vec<Request>) -> BTreeMap<String, Seen> {
    let addressed = |text: String| names.iter().fold(text, |text, (address, name)| text.replace(name, address));
    let answers = stream::iter(calls).map(|(name, method, metadata, message)| async move {
        let several = metadata.iter().any(|(key, _)| *key == "nodes");
        let metadata: Vec<_> = metadata.into_iter().map(|(key, value)| (key, addressed(value))).collect();
        let metadata: Vec<_> = metadata.iter().map(|(key, value)| (*key, value.as_str())).collect();
        (name, Seen::of(method, several, names, client.call(method, &metadata, &[message]).await))
    });
    // Some of them wait until they are not listened to any more.
    answers.buffer_unordered(24).collect().await
}

/// Everything that is asked of a node without configuration.
pub async fn in_maintenance(target: &Target) -> BTreeMap<String, Seen> {
    let client = Client::connect(target.address, None).await.unwrap();
    let mut calls: Vec<Request> = every_method().map(|method| request("empty", method, Vec::new())).collect();
    calls.extend(resource_calls());
    let apply = |data: &str, mode: i32| {
        let data = data.as_bytes().to_vec();
        ApplyConfigurationRequest { data, mode, dry_run: true, ..ApplyConfigurationRequest::default() }.encode_to_vec()
    };
    calls.push(request("staged", machine::APPLY_CONFIGURATION, apply("", 3)));
    calls.push(request("without reboot", machine::APPLY_CONFIGURATION, apply("", 2)));
    calls.push(request("garbage", machine::APPLY_CONFIGURATION, apply("a: [", 1)));
    calls.push(request("unknown kind", machine::APPLY_CONFIGURATION, apply("apiVersion: v1alpha1\nkind: Foo\n", 1)));
    calls.push(request("", "/machine.MachineService/Nothing", Vec::new()));
    calls.push(request("", "/nothing.Service/Nothing", Vec::new()));
    calls.push(request("", "/nothing", Vec::new()));
    let mut forwarded = request("to a node", cosi::GET, get("runtime", "MachineStatuses.runtime.talos.dev", "machine"));
    forwarded.2 = vec![("node", "10.9.9.9".to_owned())];
    calls.push(forwarded);
    // An empty configuration would be taken.
    calls.retain(|call| call.0 != format!("{} empty", machine::APPLY_CONFIGURATION));
    ask(&client, target, calls).await
}

/// Everything that is asked of a control plane with this configuration.
pub async fn configured(target: &Target, secrets: &Secrets) -> BTreeMap<String, Seen> {
    let mut seen = BTreeMap::new();
    for role in ["os:operator", "os:reader", "os:etcd:backup", "os:nothing"] {
        let client = Client::connect(target.address, Some(secrets.client(&[role]))).await.unwrap();
        // What this role may do is done by the admin below.
        let calls = every_method().map(|method| request("empty", method, Vec::new())).collect();
        let answers = ask(&client, target, refusals_only(role, calls)).await;
        seen.extend(answers.into_iter().map(|(name, answer)| (format!("{role} {name}"), answer)));
        let answers = ask(&client, target, resource_calls()).await;
        seen.extend(answers.into_iter().map(|(name, answer)| (format!("{role} {name}"), answer)));
    }
    let admin = Client::connect(target.address, Some(secrets.client(&["os:admin"]))).await.unwrap();
    let safe = every_method().filter(|method| !DESTRUCTIVE.contains(method));
    let mut calls: Vec<Request> = safe.map(|method| request("empty", method, Vec::new())).collect();
    calls.extend(resource_calls());
    calls.extend(routed());
    calls.push(request("", "/machine.MachineService/Nothing", Vec::new()));
    calls.push(request("", "/nothing.Service/Nothing", Vec::new()));
    calls.push(request("", "/nothing", Vec::new()));
    seen.extend(ask(&admin, target, calls).await.into_iter().map(|(name, answer)| (format!("os:admin {name}"), answer)));
    seen.insert("nobody".to_owned(), unwelcome(target, None).await);
    seen.insert("a server".to_owned(), unwelcome(target, Some(secrets.server())).await);
    seen.insert("somebody of another cluster".to_owned(), unwelcome(target, Some(Secrets::foreign())).await);
    seen
}

async fn unwelcome(target: &Target, identity: Option<Identity>) -> Seen {
    let words = Client::refusal(target.address, identity).await.unwrap_or_default();
    Seen::Broken(words.rsplit(": ").next().unwrap_or_default().to_owned())
}

/// Leaves out what an operator may do and what changes the node.
fn refusals_only(role: &str, calls: Vec<Request>) -> Vec<Request> {
    let restarting = [machine::REBOOT, machine::SHUTDOWN, machine::RESTART];
    calls.into_iter().filter(|call| role != "os:operator" || !restarting.contains(&call.1)).collect()
}

fn to(name: &str, method: &'static str, metadata: &[(&'static str, &str)]) -> Request {
    let metadata = metadata.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    (format!("{method} {name}"), method, metadata, Vec::new())
}

/// Everything that is asked of a control plane about its worker, and of a worker about its control plane.
pub async fn paired(control_plane: &Target, worker: &Target, secrets: &Secrets) -> BTreeMap<String, Seen> {
    let names = [(control_plane.address.ip().to_string(), "CONTROLLER"), (worker.address.ip().to_string(), "WORKER")];
    let mut seen = BTreeMap::new();
    let hostname = machine::HOSTNAME;
    let both = [("nodes", "CONTROLLER"), ("nodes", "WORKER")];
    for (at, target) in [("CONTROLLER", control_plane), ("WORKER", worker)] {
        for role in ["os:admin", "os:reader"] {
            let client = Client::connect(target.address, Some(secrets.client(&[role]))).await.unwrap();
            let mut calls = vec![
                to("here", hostname, &[]),
                to("of both", hostname, &both),
                to("of the worker", hostname, &[("node", "WORKER")]),
                to("of the worker alone", hostname, &[("nodes", "WORKER")]),
                to("of the control plane", hostname, &[("node", "CONTROLLER")]),
                to("of a name that nobody has", hostname, &[("node", "nobody")]),
                to("of the worker", machine::VERSION, &[("node", "WORKER")]),
                to("of both", machine::VERSION, &both),
                to("of the worker", machine::BOOTSTRAP, &[("node", "WORKER")]),
                to("of the worker alone", machine::BOOTSTRAP, &[("nodes", "WORKER")]),
                to("of the worker", machine::KUBECONFIG, &[("node", "WORKER")]),
                to("of the worker alone", machine::KUBECONFIG, &[("nodes", "WORKER")]),
                to("of both", machine::GENERATE_CLIENT_CONFIGURATION, &both),
                to("of both", "/machine.MachineService/Nothing", &both),
                to("of both", cosi::LIST, &both),
            ];
            let mut forwarded = request("type of the worker", cosi::GET, get("config", "MachineTypes.config.talos.dev", "machine-type"));
            forwarded.2 = vec![("node", "WORKER".to_owned())];
            calls.push(forwarded);
            let answers = ask_by_name(&client, &names, calls).await;
            seen.extend(answers.into_iter().map(|(name, answer)| (format!("{role} at {at} {name}"), answer)));
        }
    }
    seen
}

/// To other nodes, to several, and to what is none.
fn routed() -> Vec<Request> {
    let hostname = machine::HOSTNAME;
    vec![
        to("to itself", hostname, &[("node", "SELF")]),
        to("to itself of several", hostname, &[("nodes", "SELF")]),
        to("to itself twice", hostname, &[("nodes", "SELF"), ("nodes", "SELF")]),
        to("to nobody", hostname, &[("node", "127.0.99.99")]),
        to("to nobody of several", hostname, &[("nodes", "127.0.99.99")]),
        to("to itself and nobody", hostname, &[("nodes", "SELF"), ("nodes", "127.0.99.99")]),
        to("to two as one", hostname, &[("node", "SELF"), ("node", "SELF")]),
        to("to a port", hostname, &[("node", "SELF:50000")]),
        to("to a port of several", hostname, &[("nodes", "SELF:50000")]),
        to("to an empty name", hostname, &[("node", "")]),
        to("to an empty name of several", hostname, &[("nodes", "")]),
        to("forwarded already", hostname, &[("node", "127.0.99.99"), ("proxyfrom", "x")]),
        to("resources of several", cosi::GET, &[("nodes", "SELF")]),
        to("logs of several", machine::LOGS, &[("nodes", "SELF")]),
        to("logs of nobody", machine::LOGS, &[("nodes", "127.0.99.99")]),
        to("a method that is none, of several", "/machine.MachineService/Nothing", &[("nodes", "SELF")]),
        to("a method that is none, of one", "/machine.MachineService/Nothing", &[("node", "SELF")]),
    ]
}

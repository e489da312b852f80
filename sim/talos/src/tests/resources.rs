//! Reading and watching resources.

use emhost_talos_api::cosi::{EventType, GetRequest, GetResponse, ListRequest, WatchOptions, WatchRequest, WatchResponse};
use emhost_talos_api::methods::cosi;
use prost::Message;

use super::client::{Client, Outcome};
use super::node::{Node, Running, Site};

const MEMBERS: &str = "Members.cluster.talos.dev";

async fn node() -> (std::sync::Arc<Site>, Running) {
    let site = Site::new();
    let node = site.start(Node::control_plane(11)).await;
    for id in ["a", "b"] {
        node.node.resources.put(MEMBERS, "cluster", id, format!("nodeId: {id}\n"), vec![8, 1]);
    }
    node.node.resources.put("OSRootSecrets.secrets.talos.dev", "secrets", "os", "token: t\n".to_owned(), Vec::new());
    (site, node)
}

fn get(namespace: &str, kind: &str, id: &str) -> Vec<Vec<u8>> {
    let (namespace, r#type, id) = (namespace.to_owned(), kind.to_owned(), id.to_owned());
    vec![GetRequest { namespace, r#type, id, options: None }.encode_to_vec()]
}

fn watch(id: Option<&str>, options: WatchOptions) -> Vec<Vec<u8>> {
    let request = WatchRequest {
        namespace: "cluster".to_owned(),
        r#type: MEMBERS.to_owned(),
        id: id.map(str::to_owned),
        options: Some(options),
        api_version: 1,
    };
    vec![request.encode_to_vec()]
}

/// Per message, the events in it.
fn events(outcome: &Outcome) -> Vec<Vec<(EventType, String)>> {
    let one = |message: &bytes::Bytes| {
        let response = WatchResponse::decode(message.clone()).unwrap();
        let event = |event: emhost_talos_api::cosi::Event| (event.event_type(), event.resource.unwrap().metadata.unwrap().id);
        response.event.into_iter().map(event).collect()
    };
    outcome.messages.iter().map(one).collect()
}

#[tokio::test]
async fn secrets_are_for_admins_and_unknown_things_refused() {
    let (site, node) = node().await;
    let admin = node.client(&site, "os:admin").await;
    let reader = node.client(&site, "os:reader").await;
    let secret = get("secrets", "OSRootSecrets.secrets.talos.dev", "os");
    assert_eq!(admin.call(cosi::GET, &[], &secret).await.unwrap().code, Some(0));
    assert_eq!(reader.call(cosi::GET, &[], &secret).await.unwrap().message, "not authorized");
    let outcome = reader.call(cosi::GET, &[], &get("cluster", MEMBERS, "a")).await.unwrap();
    let found = GetResponse::decode(outcome.messages[0].clone()).unwrap().resource.unwrap();
    assert_eq!(found.spec.unwrap().yaml_spec, "nodeId: a\n");
    let refused = async |request: Vec<Vec<u8>>| {
        let outcome = reader.call(cosi::GET, &[], &request).await.unwrap();
        (outcome.code.unwrap(), outcome.message)
    };
    let missing = refused(get("cluster", MEMBERS, "x")).await;
    assert_eq!(missing, (5, "resource Members.cluster.talos.dev(cluster/x@undefined) doesn't exist".to_owned()));
    assert_eq!(refused(get("cluster", "Foo.bar", "x")).await, (7, "resource type \"Foo.bar\" is not supported".to_owned()));
    assert_eq!(refused(get("nowhere", MEMBERS, "x")).await, (7, "namespace \"nowhere\" is not supported".to_owned()));
}

#[tokio::test]
async fn definitions_are_found_where_clients_look() {
    let (site, node) = node().await;
    let reader = node.client(&site, "os:reader").await;
    let request = |kind: &str| vec![ListRequest { namespace: "meta".to_owned(), r#type: kind.to_owned(), options: None }.encode_to_vec()];
    let definitions = reader.call(cosi::LIST, &[], &request("ResourceDefinitions.meta.cosi.dev")).await.unwrap();
    assert_eq!((definitions.code, definitions.messages.len()), (Some(0), 157));
    let namespaces = reader.call(cosi::LIST, &[], &request("Namespaces.meta.cosi.dev")).await.unwrap();
    assert_eq!(namespaces.messages.len(), 16);
}

#[tokio::test]
async fn a_watch_shows_what_is_there_and_then_what_changes() {
    use EventType::{Bootstrapped, Created, Destroyed, Updated};
    let (site, node) = node().await;
    let reader = node.client(&site, "os:reader").await;
    let pair = |kind: EventType, id: &str| (kind, id.to_owned());
    let start = WatchOptions { bootstrap_contents: true, ..WatchOptions::default() };
    let outcome = reader.call(cosi::WATCH, &[], &watch(None, start.clone())).await.unwrap();
    assert_eq!(outcome.code, None, "a watch stays open");
    assert_eq!(events(&outcome), [vec![], vec![pair(Created, "a")], vec![pair(Created, "b")], vec![pair(Bootstrapped, "")]]);

    let resources = node.node.resources.clone();
    let change = async move {
        resources.put(MEMBERS, "cluster", "a", "nodeId: other\n".to_owned(), Vec::new());
        resources.remove(MEMBERS, "cluster", "b");
    };
    let aggregated = WatchOptions { aggregated: true, ..start };
    let request = watch(None, aggregated);
    let (outcome, ()) = tokio::join!(reader.call(cosi::WATCH, &[], &request), change);
    let all: Vec<_> = events(&outcome.unwrap()).into_iter().flatten().collect();
    assert_eq!(all.first(), Some(&pair(Created, "a")));
    let tail = WatchOptions { tail_events: 2, ..WatchOptions::default() };
    let outcome = reader.call(cosi::WATCH, &[], &watch(None, tail)).await.unwrap();
    assert_eq!(events(&outcome), [vec![], vec![pair(Updated, "a")], vec![pair(Destroyed, "b")]]);
    let one = reader.call(cosi::WATCH, &[], &watch(Some("b"), WatchOptions::default())).await.unwrap();
    assert_eq!(events(&one), [vec![], vec![pair(Destroyed, "b")]]);
}

#[tokio::test]
async fn a_bookmark_goes_on_where_it_was() {
    let (site, node) = node().await;
    let reader: Client = node.client(&site, "os:reader").await;
    let start = WatchOptions { bootstrap_contents: true, ..WatchOptions::default() };
    let outcome = reader.call(cosi::WATCH, &[], &watch(None, start)).await.unwrap();
    let last = WatchResponse::decode(outcome.messages.last().unwrap().clone()).unwrap();
    let bookmark = last.event[0].bookmark.clone();
    node.node.resources.put(MEMBERS, "cluster", "c", "nodeId: c\n".to_owned(), Vec::new());
    let from = |bookmark| WatchOptions { start_from_bookmark: bookmark, ..WatchOptions::default() };
    let outcome = reader.call(cosi::WATCH, &[], &watch(None, from(bookmark))).await.unwrap();
    assert_eq!(events(&outcome), [vec![], vec![(EventType::Created, "c".to_owned())]]);
    let wrong = reader.call(cosi::WATCH, &[], &watch(None, from(Some(vec![0; 16])))).await.unwrap();
    assert_eq!((wrong.code, wrong.message.as_str()), (Some(9), "invalid watch bookmark"));
}

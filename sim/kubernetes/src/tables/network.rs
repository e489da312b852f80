//! Rows of services and of what is behind them.

use serde_json::Value;

use super::cells::{age, name, or, selector};
use crate::document::{list, number, text};

pub(super) fn cells(kind: &str, object: &Value) -> Option<Vec<Value>> {
    let (name, age) = (name(object), age(object));
    Some(match kind {
        "Service" => service(object, name, age, selector(object)),
        "Endpoints" => {
            let mut places = Vec::new();
            for subset in list(object, "/subsets") {
                for port in list(subset, "/ports") {
                    places.extend(list(subset, "/addresses").iter().map(|one| format!("{}:{}", text(one, "/ip"), port["port"])));
                }
            }
            vec![name, or(&shortened(&places), "<none>"), age]
        }
        "EndpointSlice" => {
            let ports: Vec<String> = list(object, "/ports").iter().map(|port| port["port"].to_string()).collect();
            let places: Vec<String> = list(object, "/endpoints")
                .iter()
                .flat_map(|one| list(one, "/addresses"))
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect();
            vec![name, object["addressType"].clone(), or(&shortened(&ports), "<unset>"), or(&shortened(&places), "<unset>"), age]
        }
        "Ingress" => {
            let hosts: Vec<String> = list(object, "/spec/rules")
                .iter()
                .map(|rule| match text(rule, "/host") {
                    "" => "*".to_owned(),
                    host => host.to_owned(),
                })
                .collect();
            let ports = if list(object, "/spec/tls").is_empty() { "80" } else { "80, 443" };
            vec![name, or(text(object, "/spec/ingressClassName"), "<none>"), hosts.join(",").into(), "".into(), ports.into(), age]
        }
        _ => return None,
    })
}

fn shortened(items: &[String]) -> String {
    let more = items.len().saturating_sub(3);
    let shown = items.iter().take(3).cloned().collect::<Vec<_>>().join(",");
    if more > 0 { format!("{shown} + {more} more...") } else { shown }
}

fn service(object: &Value, name: Value, age: Value, selector: Value) -> Vec<Value> {
    let kind = text(object, "/spec/type");
    let external = match kind {
        "LoadBalancer" => {
            let given: Vec<&str> = list(object, "/status/loadBalancer/ingress").iter().map(|one| text(one, "/ip")).collect();
            if given.is_empty() { "<pending>".to_owned() } else { given.join(",") }
        }
        "ExternalName" => text(object, "/spec/externalName").to_owned(),
        _ => {
            let given: Vec<&str> = list(object, "/spec/externalIPs").iter().filter_map(Value::as_str).collect();
            if given.is_empty() { "<none>".to_owned() } else { given.join(",") }
        }
    };
    let port = |port: &Value| match number(port, "/nodePort").filter(|number| *number > 0) {
        Some(node) => format!("{}:{node}/{}", port["port"], text(port, "/protocol")),
        None => format!("{}/{}", port["port"], text(port, "/protocol")),
    };
    let ports: Vec<String> = list(object, "/spec/ports").iter().map(port).collect();
    let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    let address = match text(object, "/spec/clusterIP") {
        "" => "<none>",
        address => address,
    };
    vec![name, kind.into(), address.into(), external.into(), ports.into(), age, selector]
}

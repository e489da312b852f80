//! The network interfaces of a host.

use serde_json::{Value, json};

use super::nodes;
use crate::call::{Answer, Call, Fail, Outcome, Route, at_once};

pub(super) const ROUTES: &[Route] =
    &[("GET", "/nodes/{node}/network", at_once!(list)), ("GET", "/nodes/{node}/network/{iface}", at_once!(read))];

/// One card that carries every bridge.
const CARD: &str = "enp1s0";

fn interfaces(call: &Call) -> Result<Vec<Value>, Fail> {
    let host = nodes::spec(call)?;
    let card = json!({
        "iface": CARD, "type": "eth", "active": 1, "exists": 1, "method": "manual", "method6": "manual", "priority": 3, "families": ["inet"],
    });
    let bridges = host.bridges.iter().enumerate().map(|(index, name)| {
        let mut bridge = json!({
            "iface": name, "type": "bridge", "active": 1, "autostart": 1, "method": "manual", "method6": "manual",
            "bridge_ports": if index == 0 { CARD } else { "" }, "bridge_stp": "off", "bridge_fd": "0", "priority": index + 4,
            "families": ["inet"],
        });
        if index == 0 {
            bridge["method"] = json!("static");
            bridge["address"] = json!(host.listen.ip().to_string());
            bridge["netmask"] = json!("24");
            bridge["cidr"] = json!(format!("{}/24", host.listen.ip()));
        }
        bridge
    });
    let all = std::iter::once(card).chain(bridges);
    let state = call.pve.state();
    let seen = |entry: &Value| {
        let path = format!("/sdn/zones/localnetwork/{}", entry["iface"].as_str().unwrap_or_default());
        entry["type"] != "bridge" || call.who.is_root() || state.access.allows_any(&call.who, &path, &["SDN.Audit", "SDN.Use"])
    };
    Ok(all.filter(seen).collect())
}

fn list(call: &Call) -> Outcome {
    let wanted = call.params.text("type");
    let fits = |entry: &Value| match wanted {
        None | Some("include_sdn") => true,
        Some("any_bridge" | "any_local_bridge") => entry["type"] == "bridge",
        Some(kind) => entry["type"] == kind,
    };
    Ok(Answer::data(interfaces(call)?.into_iter().filter(fits).collect::<Vec<_>>()))
}

fn read(call: &Call) -> Outcome {
    let name = call.params.text("iface").unwrap_or_default();
    let found = interfaces(call)?.into_iter().find(|entry| entry["iface"] == name);
    let mut entry = found.ok_or_else(|| Fail::param("iface", "interface does not exist"))?;
    if let Some(entry) = entry.as_object_mut() {
        entry.remove("iface");
    }
    Ok(Answer::data(entry))
}

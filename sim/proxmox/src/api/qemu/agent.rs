//! What the guest agent says.

use emhost_sim_kit::Interface;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::subject;
use crate::call::{Answer, Call, Fail, Outcome};
use crate::storage::die;
use crate::tasks::now;

fn answer(call: Call, say: impl FnOnce(Vec<Interface>) -> Value + Send + 'static) -> BoxFuture<'static, Outcome> {
    Box::pin(async move { ask(&call).map(|interfaces| Answer::data(json!({ "result": say(interfaces) }))) })
}

fn ask(call: &Call) -> Result<Vec<Interface>, Fail> {
    let (host, vmid) = subject(call);
    let vm = call.pve.vm(&host, vmid)?;
    if !vm.config.contains_key("agent") {
        return Err(die("No QEMU guest agent configured"));
    }
    let Some(power) = &vm.power else { return Err(die(format_args!("VM {vmid} is not running"))) };
    // A channel that was not there at the start is not there now.
    let channel = crate::vm::agent_enabled(&power.config);
    let answer = if channel && !power.paused { call.pve.guests().agent(vmid) } else { None };
    answer.ok_or_else(|| die("QEMU guest agent is not running"))
}

/// GET of what can be asked.
pub(super) fn index(call: Call) -> BoxFuture<'static, Outcome> {
    drop(call);
    let names = [
        "fsfreeze-freeze",
        "fsfreeze-status",
        "get-fsinfo",
        "get-host-name",
        "get-osinfo",
        "get-time",
        "info",
        "network-get-interfaces",
        "ping",
    ];
    Box::pin(async move { Ok(Answer::data(names.iter().map(|name| json!({ "name": name })).collect::<Value>())) })
}

/// POST ping.
pub(super) fn ping(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |_| json!({}))
}

/// GET info.
pub(super) fn info(call: Call) -> BoxFuture<'static, Outcome> {
    let commands = ["guest-ping", "guest-info", "guest-network-get-interfaces", "guest-get-osinfo", "guest-shutdown"];
    let commands: Vec<Value> =
        commands.iter().map(|name| json!({ "name": name, "enabled": true, "success-response": *name != "guest-shutdown" })).collect();
    answer(call, move |_| json!({ "version": "9.1.0", "supported_commands": commands }))
}

/// GET network-get-interfaces.
pub(super) fn interfaces(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |interfaces| {
        let shown = interfaces.into_iter().map(|interface| {
            let addresses = interface.addresses.iter().map(|(address, prefix)| {
                let kind = if address.is_ipv4() { "ipv4" } else { "ipv6" };
                json!({ "ip-address": address.to_string(), "ip-address-type": kind, "prefix": prefix })
            });
            let counters = ["rx-bytes", "rx-packets", "rx-errs", "rx-dropped", "tx-bytes", "tx-packets", "tx-errs", "tx-dropped"];
            let statistics: serde_json::Map<String, Value> = counters.iter().map(|name| ((*name).to_owned(), json!(0))).collect();
            json!({
                "name": interface.name,
                "hardware-address": interface.mac,
                "ip-addresses": addresses.collect::<Vec<_>>(),
                "statistics": statistics,
            })
        });
        Value::Array(shown.collect())
    })
}

/// GET get-osinfo.
pub(super) fn osinfo(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |_| json!({ "id": "talos", "name": "Talos", "pretty-name": "Talos", "machine": "x86_64" }))
}

/// GET get-host-name.
pub(super) fn host_name(call: Call) -> BoxFuture<'static, Outcome> {
    let (host, vmid) = subject(&call);
    let name = call.pve.vm(&host, vmid).map(|vm| vm.name()).unwrap_or_default();
    answer(call, move |_| json!({ "host-name": name }))
}

/// GET get-time.
pub(super) fn time(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |_| json!(now() * 1_000_000_000))
}

/// GET get-timezone.
pub(super) fn timezone(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |_| json!({ "zone": "UTC", "offset": 0 }))
}

/// GET of lists that are empty on these guests.
pub(super) fn nothing(call: Call) -> BoxFuture<'static, Outcome> {
    answer(call, |_| json!([]))
}

/// Commands the agent of these guests does not offer.
pub(super) fn unsupported(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let command = call.endpoint.path.rsplit('/').next().unwrap_or_default();
        ask(&call)?;
        Err(die(format_args!("Agent error: Command guest-{command} has been disabled")))
    })
}

/// POST shutdown.
pub(super) fn shutdown(call: Call) -> BoxFuture<'static, Outcome> {
    let (_, vmid) = subject(&call);
    let pve = std::sync::Arc::clone(&call.pve);
    answer(call, move |_| {
        pve.guests().shutdown(vmid);
        Value::Null
    })
}

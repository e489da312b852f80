//! The cloud-init drive of a machine.

use emhost_sim_machines::cloudinit::{Custom, meta_data, network_config, user_data};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::subject;
use super::update::LOCK;
use crate::call::{Answer, Call, Outcome};
use crate::storage::die;
use crate::vm::cloudinit::contents;

/// GET of what is on the drive and what would be.
pub(super) fn pending(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let vm = call.pve.vm(&host, vmid)?;
        let (now, made) = (vm.cloudinit_now(), vm.cloudinit.clone().unwrap_or_default());
        let keys: std::collections::BTreeSet<&String> = now.keys().chain(made.keys()).collect();
        let mask = |key: &str, value: &String| if key == "cipassword" { json!("**********") } else { json!(value) };
        let items = keys.into_iter().map(|key| {
            let mut item = json!({ "key": key });
            match (made.get(key), now.get(key)) {
                (Some(old), Some(new)) if old == new => item["value"] = mask(key, old),
                (old, new) => {
                    if let Some(old) = old {
                        item["value"] = mask(key, old);
                    }
                    match new {
                        Some(new) => item["pending"] = mask(key, new),
                        None => item["delete"] = json!(1),
                    }
                }
            }
            item
        });
        Ok(Answer::data(items.collect::<Value>()))
    })
}

/// PUT: writes the drive anew.
pub(super) fn regenerate(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let pve = &call.pve;
        let _held = pve.locks.vm(&pve.parts.dials, &host, vmid, LOCK).await.map_err(die)?;
        let (slot, running) = pve.change_vm(&host, vmid, |vm| {
            vm.unlocked()?;
            vm.generate_cloudinit();
            Ok((vm.cloudinit_slot(), vm.is_running()))
        })?;
        if let Some(slot) = slot.filter(|_| running) {
            pve.change_disc(&host, vmid, &slot);
        }
        Ok(Answer::changed(Value::Null, format!("vm {vmid} cloud-init drive written")))
    })
}

/// GET of one of the files that would be written.
pub(super) fn dump(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let vm = call.pve.vm(&host, vmid)?;
        let config = vm.cloudinit_now();
        let init = contents(vmid, &config, Custom::default());
        let text = match call.params.text("type") {
            Some("network") => network_config(&init),
            Some("meta") => meta_data(user_data(&init).as_bytes(), network_config(&init).as_bytes()),
            _ => user_data(&init),
        };
        Ok(Answer::data(text))
    })
}

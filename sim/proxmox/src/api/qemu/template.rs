//! Turning a machine into a template.

use std::sync::Arc;

use futures::future::BoxFuture;

use super::disks;
use super::update::LOCK;
use super::{subject, task_text};
use crate::call::{Answer, Call, Fail, Outcome};
use crate::pve::Pve;
use crate::storage::{Feature, die};
use crate::vm::drives;

/// POST template.
pub(super) fn template(call: Call) -> BoxFuture<'static, Outcome> {
    Box::pin(async move {
        let (host, vmid) = subject(&call);
        let disk = call.params.text("disk").map(ToOwned::to_owned);
        check(&call.pve, &host, vmid, disk.as_deref())?;
        let (pve, on) = (Arc::clone(&call.pve), host.clone());
        let upid = call.pve.task(&call.who, &host, "qmtemplate", &vmid.to_string(), move |_| async move {
            let _held = pve.locks.vm(&pve.parts.dials, &on, vmid, LOCK).await?;
            convert(&pve, &on, vmid, disk.as_deref()).await.map_err(|fail| task_text(&fail))
        })?;
        Ok(Answer::changed(upid, format!("vm {vmid} made a template")))
    })
}

fn check(pve: &Pve, host: &str, vmid: u32, disk: Option<&str>) -> Result<(), Fail> {
    let vm = pve.vm(host, vmid)?;
    vm.unlocked()?;
    if !vm.snapshots.is_empty() {
        return Err(die("unable to create template, because VM contains snapshots"));
    }
    if vm.is_template() && disk.is_none() {
        return Err(die("you can't convert a template to a template"));
    }
    if vm.is_running() {
        return Err(die("you can't convert a VM to template if VM is running"));
    }
    Ok(())
}

async fn convert(pve: &Arc<Pve>, host: &str, vmid: u32, disk: Option<&str>) -> Result<(), Fail> {
    check(pve, host, vmid, disk)?;
    let config = pve.change_vm(host, vmid, |vm| {
        vm.config.insert("template".to_owned(), "1".to_owned());
        Ok(vm.config.clone())
    })?;
    for (key, mut drive) in drives::attached(&config) {
        if drives::is_cdrom(&drive) || disk.is_some_and(|disk| disk != key) {
            continue;
        }
        if !disks::has_feature(&pve.state().storages, Feature::Template, &drive.file) {
            continue;
        }
        drive.file = pve.make_base(host, &drive.file).await.map_err(die)?;
        let printed = drive.print();
        pve.change_vm(host, vmid, |vm| {
            vm.config.insert(key.to_owned(), printed);
            Ok(())
        })?;
    }
    Ok(())
}

//! Puts what the plan names into a Proxmox that does not have it yet: pools, mappings and templates.
//!
//! All of it goes through the API, like everything a person would do.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::administrator::{Administrator, ApiError};
use crate::{Gpu, Plan, Template, Wanted};

/// VMIDs end here.
const LAST: u32 = 1_000_000;
/// The first VMID for templates without one.
const TEMPLATES: u32 = 9000;
/// Puts things into a site, with the rights of an administrator.
struct Hand<'a> {
    administrator: &'a Administrator,
    plan: &'a Plan,
}

/// Makes the machines that are not there yet, each with the disk of an image, and starts those that do not run. Says how many it made.
pub async fn machines(plan: &Plan, administrator: &Administrator, wanted: &[Wanted]) -> Result<usize, ApiError> {
    let hand = Hand { administrator, plan };
    let known = administrator.get("/cluster/resources?type=vm").await?;
    let mut taken = numbers(&known);
    let mut made = 0;
    for machine in known.as_array().into_iter().flatten().filter(|known| known["status"] == "stopped" && known["template"] != 1) {
        let (Some(name), Some(host), Some(vmid)) = (machine["name"].as_str(), machine["node"].as_str(), machine["vmid"].as_u64()) else {
            continue;
        };
        if wanted.iter().any(|wanted| wanted.name == name) {
            administrator.run(&format!("/nodes/{host}/qemu/{vmid}/status/start"), &[]).await?;
        }
    }
    for machine in wanted.iter().filter(|machine| !names(&known, "name").any(|name| name == machine.name)) {
        let (first, last) = machine.vmids;
        let free = || (first..=last).find(|vmid| !taken.contains(vmid));
        let vmid = machine
            .vmid
            .or_else(free)
            .ok_or_else(|| ApiError::refused(format!("machine {}", machine.name), format!("no VMID from {first} to {last} is free")))?;
        hand.machine(machine, vmid).await?;
        taken.push(vmid);
        made += 1;
    }
    Ok(made)
}

/// Puts everything there.
pub async fn furnish(plan: &Plan, administrator: &Administrator) -> Result<(), ApiError> {
    let hand = Hand { administrator, plan };
    hand.pools(&plan.pools).await?;
    hand.mappings(&plan.gpus).await?;
    hand.templates().await
}

impl Hand<'_> {
    async fn pools(&self, pools: &[String]) -> Result<(), ApiError> {
        if pools.is_empty() {
            return Ok(());
        }
        let known = self.administrator.get("/pools").await?;
        for pool in pools.iter().filter(|pool| !names(&known, "poolid").any(|name| name == *pool)) {
            self.administrator.post("/pools", &[("poolid", pool)]).await?;
        }
        Ok(())
    }

    async fn mappings(&self, gpus: &[Gpu]) -> Result<(), ApiError> {
        let mut wanted: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for gpu in gpus {
            let Some(mapping) = &gpu.mapping else { continue };
            let id = format!("{}:{}", gpu.pci.vendor.trim_start_matches("0x"), gpu.pci.device.trim_start_matches("0x"));
            let entry = format!("node={},path={},id={id},iommugroup={}", gpu.host, gpu.pci.bdf, gpu.pci.iommu_group);
            wanted.entry(mapping).or_default().push(entry);
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let known = self.administrator.get("/cluster/mapping/pci").await?;
        for (mapping, entries) in wanted {
            if names(&known, "id").any(|name| name == mapping) {
                continue;
            }
            let mut form = vec![("id", mapping)];
            form.extend(entries.iter().map(|entry| ("map", entry.as_str())));
            self.administrator.post("/cluster/mapping/pci", &form).await?;
        }
        Ok(())
    }

    async fn templates(&self) -> Result<(), ApiError> {
        let plan = self.plan;
        if plan.templates.is_empty() {
            return Ok(());
        }
        let known = self.administrator.get("/cluster/resources?type=vm").await?;
        let mut taken = numbers(&known);
        for template in &plan.templates {
            let named = names(&known, "name").any(|name| name == template.name);
            if named || template.vmid.is_some_and(|vmid| taken.contains(&vmid)) {
                continue;
            }
            let free = (TEMPLATES..LAST).find(|vmid| !taken.contains(vmid)).unwrap_or(TEMPLATES);
            let vmid = template.vmid.unwrap_or(free);
            let host = template.host.as_ref().or(plan.hosts.first()).map_or("pve1", String::as_str);
            self.template(template, vmid, host).await?;
            taken.push(vmid);
        }
        Ok(())
    }

    /// Downloads an image of the Image Factory unless it is there, and says which volume it is.
    async fn image(&self, host: &str, version: &str, extensions: &[String]) -> Result<String, ApiError> {
        let files = self.plan.storages.iter().find(|storage| storage.content.iter().any(|word| word == "import"));
        let files = files.ok_or_else(|| ApiError::refused(format!("Talos {version}"), "no storage takes images to import"))?;
        let files = &files.id;
        let list: Vec<String> = extensions.iter().map(|extension| format!("            - {extension}\n")).collect();
        let schematic = if list.is_empty() {
            "customization: {}\n".to_owned()
        } else {
            format!("customization:\n    systemExtensions:\n        officialExtensions:\n{}", list.concat())
        };
        let id = self.administrator.schematic(&schematic).await?;
        let file = format!("talos-{version}-{}.qcow2", id.get(..12).unwrap_or(&id));
        let volume = format!("{files}:import/{file}");
        let known = self.administrator.get(&format!("/nodes/{host}/storage/{files}/content?content=import")).await?;
        if !names(&known, "volid").any(|name| name == volume) {
            let url = format!("{}/image/{id}/{version}/nocloud-amd64.qcow2", self.administrator.access().factory);
            let form = [("content", "import"), ("filename", file.as_str()), ("url", url.as_str())];
            self.administrator.run(&format!("/nodes/{host}/storage/{files}/download-url"), &form).await?;
        }
        Ok(volume)
    }

    async fn machine(&self, machine: &Wanted, vmid: u32) -> Result<(), ApiError> {
        let Wanted { name, host, storage, mac, bridge, .. } = machine;
        let image = self.image(host, &machine.version, &machine.extensions).await?;
        let number = vmid.to_string();
        let tag = machine.vlan.map(|vlan| format!(",tag={vlan}")).unwrap_or_default();
        let (cores, memory) = (machine.cores.to_string(), machine.memory_mib.to_string());
        let config = [
            ("vmid", number.as_str()),
            ("name", name),
            ("memory", &memory),
            ("cores", &cores),
            ("net0", &format!("virtio={mac},bridge={bridge}{tag}")),
        ];
        self.create(host, storage, &image, &config).await?;
        let path = format!("/nodes/{host}/qemu/{vmid}");
        let size = format!("{}G", machine.disk_gib);
        let task = self.administrator.put(&format!("{path}/resize"), &[("disk", "scsi0"), ("size", &size)]).await?;
        self.administrator.finish(&task).await?;
        self.administrator.run(&format!("{path}/status/start"), &[]).await
    }

    /// A machine with the disk of an image, in the shape that Talos likes.
    async fn create(&self, host: &str, storage: &str, image: &str, own: &[(&str, &str)]) -> Result<(), ApiError> {
        let disk = format!("{storage}:0,import-from={image}");
        let efi = format!("{storage}:1,efitype=4m,pre-enrolled-keys=0");
        let mut config = vec![
            ("cpu", "host"),
            ("ostype", "l26"),
            ("machine", "q35"),
            ("bios", "ovmf"),
            ("efidisk0", efi.as_str()),
            ("scsihw", "virtio-scsi-pci"),
            ("scsi0", disk.as_str()),
            ("boot", "order=scsi0"),
        ];
        config.extend_from_slice(own);
        self.administrator.run(&format!("/nodes/{host}/qemu"), &config).await
    }

    async fn template(&self, template: &Template, vmid: u32, host: &str) -> Result<(), ApiError> {
        let image = self.image(host, &template.version, &template.extensions).await?;
        let number = vmid.to_string();
        let net = format!("virtio,bridge={}", self.plan.bridges.first().map_or("vmbr0", String::as_str));
        let config = [("vmid", number.as_str()), ("name", &template.name), ("memory", "2048"), ("cores", "2"), ("net0", net.as_str())];
        self.create(host, &template.storage, &image, &config).await?;
        self.administrator.run(&format!("/nodes/{host}/qemu/{vmid}/template"), &[]).await
    }
}

/// The VMIDs of a list of machines.
fn numbers(list: &Value) -> Vec<u32> {
    list.as_array().into_iter().flatten().filter_map(|vm| u32::try_from(vm["vmid"].as_u64()?).ok()).collect()
}

/// The values of one key in a list of objects.
fn names<'a>(list: &'a Value, key: &'static str) -> impl Iterator<Item = &'a str> {
    list.as_array().into_iter().flatten().filter_map(move |one| one[key].as_str())
}

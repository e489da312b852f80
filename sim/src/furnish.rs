//! Puts what the plan names into a Proxmox that does not have it yet: pools, mappings and templates.
//!
//! All of it goes through the API, like everything a person would do.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::{Access, Gpu, Plan, Template, Wanted};

/// VMIDs end here.
const LAST: u32 = 1_000_000;
/// The first VMID for templates without one.
const TEMPLATES: u32 = 9000;
/// How often a task is looked at before it counts as stuck.
const LOOKS: u32 = 6000;

/// Why something could not be put there.
#[derive(Debug, thiserror::Error)]
pub enum FurnishError {
    /// The connection failed.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    /// Proxmox said no.
    #[error("{what}: {reason}")]
    Refused {
        /// The request.
        what: String,
        /// What it answered.
        reason: String,
    },
}

/// An administrator at the API of the site.
struct Hand<'a> {
    access: &'a Access,
    client: reqwest::Client,
}

/// Makes the machines that are not there yet, each with the disk of an image, and starts those that do not run. Says how many it made.
pub async fn machines(plan: &Plan, access: &Access, wanted: &[Wanted]) -> Result<usize, FurnishError> {
    let hand = Hand::new(access)?;
    let known = hand.get("/cluster/resources?type=vm").await?;
    let mut taken = numbers(&known);
    let mut made = 0;
    for machine in known.as_array().into_iter().flatten().filter(|known| known["status"] == "stopped" && known["template"] != 1) {
        let (Some(name), Some(host), Some(vmid)) = (machine["name"].as_str(), machine["node"].as_str(), machine["vmid"].as_u64()) else {
            continue;
        };
        if wanted.iter().any(|wanted| wanted.name == name) {
            let task = hand.post(&format!("/nodes/{host}/qemu/{vmid}/status/start"), &[]).await?;
            hand.finish(host, &format!("machine {name}"), &task).await?;
        }
    }
    for machine in wanted.iter().filter(|machine| !names(&known, "name").any(|name| name == machine.name)) {
        let (first, last) = machine.vmids;
        let free = || (first..=last).find(|vmid| !taken.contains(vmid));
        let vmid = machine.vmid.or_else(free).ok_or_else(|| FurnishError::Refused {
            what: format!("machine {}", machine.name),
            reason: format!("no VMID from {first} to {last} is free"),
        })?;
        hand.machine(plan, machine, vmid).await?;
        taken.push(vmid);
        made += 1;
    }
    Ok(made)
}

/// Puts everything there.
pub async fn furnish(plan: &Plan, access: &Access) -> Result<(), FurnishError> {
    let hand = Hand::new(access)?;
    hand.pools(&plan.pools).await?;
    hand.mappings(&plan.gpus).await?;
    hand.templates(plan).await
}

impl<'a> Hand<'a> {
    fn new(access: &'a Access) -> Result<Self, FurnishError> {
        let authorities = reqwest::Certificate::from_pem_bundle(access.authority.as_bytes())?;
        let client = reqwest::Client::builder().tls_certs_only(authorities).no_proxy().build()?;
        Ok(Self { access, client })
    }

    fn url(&self, path: &str) -> String {
        format!("{}/api2/json{path}", self.access.pve)
    }

    async fn send(&self, what: String, request: reqwest::RequestBuilder) -> Result<Value, FurnishError> {
        let answer = request.header("Authorization", format!("PVEAPIToken={}", self.access.token)).send().await?;
        let status = answer.status();
        let body: Value = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        if status.is_success() { Ok(body["data"].clone()) } else { Err(FurnishError::Refused { what, reason: format!("{status} {body}") }) }
    }

    async fn get(&self, path: &str) -> Result<Value, FurnishError> {
        self.send(format!("GET {path}"), self.client.get(self.url(path))).await
    }

    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<Value, FurnishError> {
        self.send(format!("POST {path}"), self.client.post(self.url(path)).form(form)).await
    }

    /// Waits for the task that a request started.
    async fn finish(&self, node: &str, what: &str, upid: &Value) -> Result<(), FurnishError> {
        let refused = |reason: String| FurnishError::Refused { what: what.to_owned(), reason };
        let upid = upid.as_str().ok_or_else(|| refused("no task".to_owned()))?;
        let mut pause = Duration::from_millis(5);
        for _ in 0..LOOKS {
            let task = self.get(&format!("/nodes/{node}/tasks/{upid}/status")).await?;
            match (task["status"].as_str(), task["exitstatus"].as_str()) {
                (Some("stopped"), Some("OK")) => return Ok(()),
                (Some("stopped"), exit) => return Err(refused(exit.unwrap_or_default().to_owned())),
                _ => tokio::time::sleep(pause).await,
            }
            // Soon where nothing takes time, and without noise where much does.
            pause = (pause * 2).min(Duration::from_millis(500));
        }
        Err(refused("the task does not end".to_owned()))
    }

    async fn pools(&self, pools: &[String]) -> Result<(), FurnishError> {
        if pools.is_empty() {
            return Ok(());
        }
        let known = self.get("/pools").await?;
        for pool in pools.iter().filter(|pool| !names(&known, "poolid").any(|name| name == *pool)) {
            self.post("/pools", &[("poolid", pool)]).await?;
        }
        Ok(())
    }

    async fn mappings(&self, gpus: &[Gpu]) -> Result<(), FurnishError> {
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
        let known = self.get("/cluster/mapping/pci").await?;
        for (mapping, entries) in wanted {
            if names(&known, "id").any(|name| name == mapping) {
                continue;
            }
            let mut form = vec![("id", mapping)];
            form.extend(entries.iter().map(|entry| ("map", entry.as_str())));
            self.post("/cluster/mapping/pci", &form).await?;
        }
        Ok(())
    }

    async fn templates(&self, plan: &Plan) -> Result<(), FurnishError> {
        if plan.templates.is_empty() {
            return Ok(());
        }
        let known = self.get("/cluster/resources?type=vm").await?;
        let mut taken = numbers(&known);
        for template in &plan.templates {
            let named = names(&known, "name").any(|name| name == template.name);
            if named || template.vmid.is_some_and(|vmid| taken.contains(&vmid)) {
                continue;
            }
            let free = (TEMPLATES..LAST).find(|vmid| !taken.contains(vmid)).unwrap_or(TEMPLATES);
            let vmid = template.vmid.unwrap_or(free);
            let host = template.host.as_ref().or(plan.hosts.first()).map_or("pve1", String::as_str);
            self.template(plan, template, vmid, host).await?;
            taken.push(vmid);
        }
        Ok(())
    }

    /// Downloads an image of the Image Factory unless it is there, and says which volume it is.
    async fn image(&self, plan: &Plan, what: &str, host: &str, version: &str, extensions: &[String]) -> Result<String, FurnishError> {
        let refused = |reason: &str| FurnishError::Refused { what: what.to_owned(), reason: reason.to_owned() };
        let files = plan.storages.iter().find(|storage| storage.content.iter().any(|word| word == "import"));
        let files = &files.ok_or_else(|| refused("no storage takes images to import"))?.id;
        let list: Vec<String> = extensions.iter().map(|extension| format!("            - {extension}\n")).collect();
        let schematic = if list.is_empty() {
            "customization: {}\n".to_owned()
        } else {
            format!("customization:\n    systemExtensions:\n        officialExtensions:\n{}", list.concat())
        };
        let answer = self.client.post(format!("{}/schematics", self.access.factory)).body(schematic).send().await?;
        let answer: Value = serde_json::from_slice(&answer.bytes().await?).unwrap_or_default();
        let id = answer["id"].as_str().ok_or_else(|| refused("the Image Factory takes no such schematic"))?;
        let file = format!("talos-{version}-{}.qcow2", id.get(..12).unwrap_or(id));
        let volume = format!("{files}:import/{file}");
        let known = self.get(&format!("/nodes/{host}/storage/{files}/content?content=import")).await?;
        if !names(&known, "volid").any(|name| name == volume) {
            let url = format!("{}/image/{id}/{version}/nocloud-amd64.qcow2", self.access.factory);
            let path = format!("/nodes/{host}/storage/{files}/download-url");
            let task = self.post(&path, &[("content", "import"), ("filename", &file), ("url", &url)]).await?;
            self.finish(host, what, &task).await?;
        }
        Ok(volume)
    }

    async fn machine(&self, plan: &Plan, machine: &Wanted, vmid: u32) -> Result<(), FurnishError> {
        let Wanted { name, host, storage, mac, bridge, .. } = machine;
        let what = format!("machine {name}");
        let image = self.image(plan, &what, host, &machine.version, &machine.extensions).await?;
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
        self.create(host, &what, storage, &image, &config).await?;
        let path = format!("/nodes/{host}/qemu/{vmid}");
        let size = format!("{}G", machine.disk_gib);
        let resize = self.client.put(self.url(&format!("{path}/resize"))).form(&[("disk", "scsi0"), ("size", size.as_str())]);
        let task = self.send(format!("PUT {path}/resize"), resize).await?;
        self.finish(host, &what, &task).await?;
        let task = self.post(&format!("{path}/status/start"), &[]).await?;
        self.finish(host, &what, &task).await
    }

    /// A machine with the disk of an image, in the shape that Talos likes.
    async fn create(&self, host: &str, what: &str, storage: &str, image: &str, own: &[(&str, &str)]) -> Result<(), FurnishError> {
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
        let task = self.post(&format!("/nodes/{host}/qemu"), &config).await?;
        self.finish(host, what, &task).await
    }

    async fn template(&self, plan: &Plan, template: &Template, vmid: u32, host: &str) -> Result<(), FurnishError> {
        let what = format!("template {}", template.name);
        let image = self.image(plan, &what, host, &template.version, &template.extensions).await?;
        let number = vmid.to_string();
        let net = format!("virtio,bridge={}", plan.bridges.first().map_or("vmbr0", String::as_str));
        let config = [("vmid", number.as_str()), ("name", &template.name), ("memory", "2048"), ("cores", "2"), ("net0", net.as_str())];
        self.create(host, &what, &template.storage, &image, &config).await?;
        let task = self.post(&format!("/nodes/{host}/qemu/{vmid}/template"), &[]).await?;
        self.finish(host, &what, &task).await
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

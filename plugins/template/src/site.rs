//! What Proxmox is asked.

use emhost_sdk::Failure;
use emhost_sdk::http::{Body, Client, Response, encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A virtual machine, wherever in the cluster of hosts it is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Machine {
    pub(crate) vmid: u32,
    pub(crate) name: String,
    pub(crate) node: String,
    /// 1 where it is a template.
    template: Value,
    /// What is being done to it.
    pub(crate) lock: Option<String>,
    /// `running` or `stopped`.
    pub(crate) status: String,
}

impl Machine {
    pub(crate) fn is_template(&self) -> bool {
        matches!(&self.template, Value::Bool(true)) || self.template.as_u64() == Some(1) || self.template.as_str() == Some("1")
    }
}

#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    description: String,
}

/// Something that Proxmox does in its own time.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Task {
    pub(crate) status: String,
    pub(crate) exitstatus: Option<String>,
    /// What it is about, such as the name of a file.
    pub(crate) id: Option<String>,
}

#[derive(Deserialize)]
struct Volume {
    volid: String,
}

/// Every machine that the credential may see.
///
/// What the list of the whole cluster says is up to ten seconds old (facts/proxmox.md §3), so the machines of the host
/// that matters are asked for by itself.
pub(crate) fn machines(host: Option<&str>) -> Result<Vec<Machine>, Failure> {
    let all: Vec<Machine> = read("/cluster/resources?type=vm", "for its machines")?;
    let Some(host) = host else { return Ok(all) };
    let fresh: Vec<Machine> = read(&format!("/nodes/{}/qemu", encode(host)), &format!("for the machines on {host}"))?;
    Ok(merged(all, fresh, host))
}

fn merged(all: Vec<Machine>, fresh: Vec<Machine>, host: &str) -> Vec<Machine> {
    let here = fresh.into_iter().map(|machine| Machine { node: host.to_owned(), ..machine });
    all.into_iter().filter(|machine| machine.node != host).chain(here).collect()
}

/// What people and programs wrote about a machine.
pub(crate) fn description(machine: &Machine) -> Result<String, Failure> {
    let Machine { vmid, node, .. } = machine;
    let config: Config =
        read(&format!("/nodes/{node}/qemu/{vmid}/config"), &format!("for the configuration of template {vmid} on {node}"))?;
    Ok(config.description)
}

/// How a task does, by its id.
pub(crate) fn task(upid: &str) -> Result<Task, Failure> {
    // `UPID:NODE:…`: where it runs is where it is asked about.
    let node = upid.split(':').nth(1).unwrap_or_default();
    read(&format!("/nodes/{}/tasks/{}/status", encode(node), encode(upid)), "how a task does")
}

/// What a host is at, of one kind: the names of files that it downloads, the numbers of machines that it makes.
pub(crate) fn at_work(node: &str, kind: &str) -> Result<Vec<String>, Failure> {
    let tasks: Vec<Task> = read(&format!("/nodes/{node}/tasks?source=active&typefilter={kind}"), &format!("what {node} is at"))?;
    Ok(tasks.into_iter().filter_map(|task| task.id).collect())
}

/// Whether an image is on a storage.
pub(crate) fn has_image(node: &str, storage: &str, volume: &str) -> Result<bool, Failure> {
    let path = format!("/nodes/{node}/storage/{}/content?content=import", encode(storage));
    let volumes: Vec<Volume> = read(&path, &format!("for the images on storage {storage} of {node}"))?;
    Ok(volumes.iter().any(|known| known.volid == volume))
}

/// Has Proxmox do something, and says which task does it.
pub(crate) fn start(path: &str, form: &[(&str, String)], what: &str) -> Result<String, Failure> {
    let response = Client::new("pve", "/api2/json").post(path, Body::form(form))?;
    let data: Data<String> = answered(response, &format!("to {what}"))?.json()?;
    Ok(data.data)
}

fn read<T: DeserializeOwned>(path: &str, what: &str) -> Result<T, Failure> {
    let response = Client::new("pve", "/api2/json").get(path)?;
    let data: Data<T> = answered(response, what)?.json()?;
    Ok(data.data)
}

/// An answer of success, or what Proxmox says instead.
fn answered(response: Response, what: &str) -> Result<Response, Failure> {
    let parameters = String::from_utf8_lossy(&response.body);
    // Which parameter is wrong is in the body; everything else is in the reason.
    let parameters = if response.status == 400 { format!(" {}", parameters.trim()) } else { String::new() };
    let summary = format!("Proxmox was asked {what}, and answered {} {}{parameters}", response.status, response.reason.trim());
    // The last: a request whose answer got lost was done meanwhile, which the next look shows.
    let passing = ["timeout", "timed out", "locked", "no worker", "convert a template to a template"]
        .iter()
        .any(|word| response.reason.contains(word));
    match response.status {
        200..=299 => Ok(response),
        401 | 403 => {
            Err(Failure::denied("template/denied", summary).help("give the credential of slot `pve` the right that is named there"))
        }
        595..=599 => Err(Failure::unavailable("template/unavailable", summary).help("see whether the host is up, and try again")),
        500..=594 if passing => Err(Failure::unavailable("template/unavailable", summary).help("try again")),
        _ => Err(Failure::conflict("template/refused", summary).help("look at the log of the host, put right what it says, and try again")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_host_says_itself_counts() {
        let all = json!([{"vmid": 9000, "node": "pve1"}, {"vmid": 9001, "node": "pve1"}, {"vmid": 9002, "name": "c", "node": "pve2"}]);
        let fresh = json!([{"vmid": 9000, "name": "a", "template": 1, "status": "stopped"}]);
        let merged = merged(serde_json::from_value(all).unwrap(), serde_json::from_value(fresh).unwrap(), "pve1");
        let seen: Vec<_> =
            merged.iter().map(|machine| (machine.vmid, machine.name.as_str(), machine.node.as_str(), machine.is_template())).collect();
        assert_eq!(seen, [(9002, "c", "pve2", false), (9000, "a", "pve1", true)]);
    }
}

//! What Proxmox is asked: reads, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use emhost_sdk::Failure;
use emhost_sdk::http::{Client, Response, encode, query};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::roles;

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Host {
    /// Its name.
    pub node: String,
    /// `online`, `offline` or `unknown`.
    #[serde(default)]
    pub status: String,
}

/// A PCI device of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Pci {
    /// Its address.
    pub id: String,
    /// Such as `0x030000`.
    pub class: String,
    /// Such as `0x10de`.
    pub vendor: String,
    /// Such as `0x2204`.
    pub device: String,
    /// Such as `NVIDIA Corporation`.
    pub vendor_name: Option<String>,
    /// Such as `GA102 [GeForce RTX 3090]`.
    pub device_name: Option<String>,
    /// Of the board.
    pub subsystem_vendor: Option<String>,
    /// Of the board.
    pub subsystem_device: Option<String>,
    /// -1 where the IOMMU is off.
    #[serde(deserialize_with = "number")]
    pub iommugroup: i64,
}

/// Numbers, whether Perl wrote them as such or as text.
fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Number(number) => number.as_i64().unwrap_or(-1),
        Value::String(text) => text.parse().unwrap_or(-1),
        _ => -1,
    })
}

/// A name for devices, and what it stands for on each host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Mapping {
    /// The name.
    pub id: String,
    /// What people and programs wrote about it.
    pub description: String,
    /// `node=pve1,path=0000:01:00.0,id=10de:2204,iommugroup=14`.
    pub map: Vec<String>,
}

/// A machine of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Listed {
    /// Its number.
    pub vmid: u32,
    /// Its name.
    pub name: String,
    /// `running` or `stopped`.
    pub status: String,
    /// 1 where it is a template.
    template: Value,
}

impl Listed {
    /// Whether it can never run.
    pub fn is_template(&self) -> bool {
        self.template == 1 || self.template == "1" || self.template == true
    }
}

/// The configuration of a machine.
pub type Config = BTreeMap<String, Value>;

#[derive(Deserialize)]
struct Data<T> {
    data: T,
}

/// Every host.
///
/// # Errors
/// No answer.
pub fn hosts() -> Result<Vec<Host>, Failure> {
    read("/nodes", "for its hosts")
}

/// The PCI devices of a host; `None` where the credential may not list them.
///
/// # Errors
/// No answer.
pub fn devices(host: &str) -> Result<Option<Vec<Pci>>, Failure> {
    let response = get(&format!("/nodes/{}/hardware/pci", encode(host)))?;
    if response.status == 403 {
        return Ok(None);
    }
    answered(&response, &format!("for the PCI devices of {host}")).map(Some)
}

/// Every mapping that the credential may see.
///
/// # Errors
/// No answer.
pub fn mappings() -> Result<Vec<Mapping>, Failure> {
    read("/cluster/mapping/pci", "for mappings of PCI devices")
}

/// Every machine of a host that the credential may see. Asked of the host itself: what the whole cluster's list says is up to ten
/// seconds old (facts/proxmox.md §3).
///
/// # Errors
/// No answer.
pub fn machines(host: &str) -> Result<Vec<Listed>, Failure> {
    read(&format!("/nodes/{}/qemu", encode(host)), &format!("for the machines on {host}"))
}

/// The configuration of a machine; `None` where it went since it was listed, or may not be seen.
///
/// # Errors
/// No answer.
pub fn config(host: &str, vmid: u32) -> Result<Option<Config>, Failure> {
    let response = get(&format!("/nodes/{}/qemu/{vmid}/config", encode(host)))?;
    if response.status == 403 || (response.status == 500 && response.reason.contains("does not exist")) {
        return Ok(None);
    }
    answered(&response, &format!("for the configuration of VM {vmid} on {host}")).map(Some)
}

/// What the credential may do on a path.
///
/// # Errors
/// No answer.
pub fn privileges(path: &str) -> Result<BTreeSet<String>, Failure> {
    let what = format!("what the credential may do on {path}");
    let all: BTreeMap<String, BTreeMap<String, Value>> = read(&format!("/access/permissions?{}", query(&[("path", path)])), &what)?;
    Ok(all.into_values().flat_map(BTreeMap::into_keys).collect())
}

fn get(path: &str) -> Result<Response, Failure> {
    Client::new("pve", "/api2/json").get(path)
}

fn read<T: DeserializeOwned>(path: &str, what: &str) -> Result<T, Failure> {
    answered(&get(path)?, what)
}

fn answered<T: DeserializeOwned>(response: &Response, what: &str) -> Result<T, Failure> {
    let summary = format!("Proxmox was asked {what}, and answered {} {}", response.status, response.reason.trim());
    match response.status {
        200..=299 => response.json::<Data<T>>().map(|data| data.data),
        401 => Err(Failure::denied("gpu/credential", summary)
            .help("check the credential of slot `pve` in site.yaml: a token is written USER@REALM!NAME=SECRET, and must not have expired")),
        403 => Err(Failure::denied("gpu/denied", summary).help(roles::give_looking())),
        _ => {
            Err(Failure::unavailable("gpu/unavailable", summary)
                .help("see that the host is up and answers (`pvecm status`), and try again"))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn answers_are_read_as_proxmox_writes_them() {
        let text = r#"[{"id":"0000:01:00.0","class":"0x030000","vendor":"0x10de","device":"0x2204","iommugroup":14,"mdev":1},
            {"id":"0000:02:00.0","class":"0x020000","vendor":"0x8086","device":"0x15f3","iommugroup":"-1","device_name":null}]"#;
        let read: Vec<Pci> = serde_json::from_str(text).unwrap();
        assert_eq!((read[0].iommugroup, read[1].iommugroup, &read[1].device_name), (14, -1, &None));
        let listed: Vec<Listed> = serde_json::from_str(r#"[{"vmid":9000,"template":1},{"vmid":101,"name":"a","template":""}]"#).unwrap();
        assert!(listed[0].is_template() && !listed[1].is_template());
    }
}

//! How a machine is, as lists and `status/current` show it.

use serde_json::{Value, json};

use crate::Release;
use crate::tasks::now;

use super::{Vm, drives};

impl Vm {
    /// The number of processors the guest sees.
    pub fn cpus(&self, host_cores: u32) -> u64 {
        let number = |key: &str| self.config.get(key).and_then(|text| text.parse::<u64>().ok());
        let all = number("sockets").unwrap_or(1) * number("cores").unwrap_or(1);
        number("vcpus").filter(|count| *count > 0).unwrap_or_else(|| all.min(u64::from(host_cores.max(1))))
    }

    /// Memory in bytes.
    pub fn memory(&self) -> u64 {
        self.config.get("memory").map_or(512, |text| mebibytes(text)) << 20
    }

    /// The size of the disk it boots from.
    pub fn boot_disk(&self) -> u64 {
        let mut order = self.config.get("boot").map(|boot| drives::boot_order(boot)).unwrap_or_default();
        if order.is_empty() {
            order = drives::default_boot(&self.config);
        }
        let disks = order.iter().filter_map(|slot| drives::parse(slot, self.config.get(slot)?));
        disks.filter(|drive| !drives::is_cdrom(drive)).find_map(|drive| drive.size()).unwrap_or(0)
    }

    /// What a list of machines shows.
    pub fn status(&self, host_cores: u32) -> Value {
        let running = self.power.is_some();
        let mut status = json!({
            "vmid": self.id,
            "name": self.name(),
            "status": if running { "running" } else { "stopped" },
            "cpus": self.cpus(host_cores),
            "maxmem": self.memory(),
            "maxdisk": self.boot_disk(),
            "disk": 0,
            "mem": 0,
            "cpu": 0,
            "uptime": 0,
            "netin": 0,
            "netout": 0,
            "diskread": 0,
            "diskwrite": 0,
        });
        if let Some(power) = &self.power {
            let uptime = now().saturating_sub(power.since);
            status["uptime"] = json!(uptime);
            status["pid"] = json!(power.pid);
            status["mem"] = json!(self.memory() / 4);
            status["cpu"] = json!(0.012_5);
            status["netin"] = json!(uptime * 1200 + 4096);
            status["netout"] = json!(uptime * 900 + 2048);
            status["diskread"] = json!(180_000_000 + uptime * 100);
            status["diskwrite"] = json!(uptime * 40_000);
        }
        if let Some(balloon) = self.config.get("balloon").and_then(|text| text.parse::<u64>().ok()).filter(|size| *size > 0) {
            status["balloon_min"] = json!(balloon << 20);
            status["shares"] = json!(self.config.get("shares").and_then(|text| text.parse::<u64>().ok()).unwrap_or(1000));
        }
        if self.is_template() {
            status["template"] = json!(1);
        }
        if (0..4).any(|number| self.config.contains_key(&format!("serial{number}"))) {
            status["serial"] = json!(1);
        }
        for key in ["lock", "tags"] {
            if let Some(value) = self.config.get(key) {
                status[key] = json!(value);
            }
        }
        status
    }

    /// What `status/current` shows.
    pub fn full_status(&self, release: Release, host_cores: u32, ha: Value) -> Value {
        let mut status = self.status(host_cores);
        status["qmpstatus"] = match &self.power {
            None => json!("stopped"),
            Some(power) if power.paused => json!("paused"),
            Some(_) => json!("running"),
        };
        status["ha"] = ha;
        if self.has_agent() {
            status["agent"] = json!(1);
        }
        let vga = self.config.get("vga").map(String::as_str).unwrap_or_default();
        let vga = vga.strip_prefix("type=").unwrap_or(vga);
        if vga.starts_with("qxl") || vga.starts_with("virtio") {
            status["spice"] = json!(1);
        }
        if let Some(power) = &self.power {
            let machine = power.config.get("machine").map(String::as_str).unwrap_or_default();
            let kind = if machine.contains("q35") { "q35" } else { "i440fx" };
            let (qemu, pinned) = match release {
                Release::V8 => ("9.2.0", "9.2+pve1"),
                Release::V9 => ("10.1.2", "10.1"),
            };
            status["running-machine"] = json!(format!("pc-{kind}-{pinned}"));
            status["running-qemu"] = json!(qemu);
            status["balloon"] = json!(self.memory());
            if release == Release::V9 {
                status["memhost"] = json!(self.memory() / 3);
            }
        }
        status
    }
}

/// MiB of a `memory` option.
pub(crate) fn mebibytes(text: &str) -> u64 {
    let current = text.split(',').find_map(|part| match part.split_once('=') {
        None => Some(part),
        Some(("current", value)) => Some(value),
        Some(_) => None,
    });
    current.and_then(|value| value.trim().parse().ok()).unwrap_or(512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_false_is_left_out() {
        let mut vm = Vm { id: 100, host: "pve1".to_owned(), ..Vm::default() };
        let status = vm.full_status(Release::V8, 8, json!({ "managed": 0 }));
        assert_eq!(status["name"], "VM 100");
        assert_eq!(status["maxmem"], 512 << 20);
        assert!(status.get("template").is_none() && status.get("agent").is_none() && status.get("pid").is_none());
        vm.config.insert("template".to_owned(), "1".to_owned());
        vm.config.insert("agent".to_owned(), "enabled=1,type=virtio".to_owned());
        let status = vm.full_status(Release::V8, 8, json!({ "managed": 0 }));
        assert_eq!((&status["template"], &status["agent"]), (&json!(1), &json!(1)));
    }
}

//! The cloud-init drive of a machine: what it was made of, and what is on it.

use emhost_sim_machines::cloudinit::{self, CloudInit, CloudNic, Custom};

use crate::pve::Pve;
use crate::schema::list;
use crate::storage::Storages;

use super::machine::{nics, property};
use super::{Config, Vm, drives};

/// Options that end up on the drive.
const OPTIONS: &[&str] = &["cicustom", "cipassword", "citype", "ciupgrade", "ciuser", "name", "nameserver", "searchdomain", "sshkeys"];

/// Whether an option ends up on the drive.
pub(crate) fn is_option(key: &str) -> bool {
    OPTIONS.contains(&key) || drives::index(key, "ipconfig").is_some() || drives::index(key, "net").is_some()
}

fn relevant(config: &Config) -> Config {
    config.iter().filter(|(key, _)| is_option(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl Vm {
    /// The slot of the cloud-init drive.
    pub fn cloudinit_slot(&self) -> Option<String> {
        drives::attached(&self.config).find(|(_, drive)| drives::is_cloudinit(drive)).map(|(slot, _)| slot.to_owned())
    }

    /// Writes the drive anew, where there is one. Says whether it is another one now.
    pub fn generate_cloudinit(&mut self) -> bool {
        let new = self.cloudinit_slot().map(|_| relevant(&self.config));
        let changed = new.is_some() && new != self.cloudinit;
        self.cloudinit = new;
        changed
    }

    /// What would be written now.
    pub fn cloudinit_now(&self) -> Config {
        relevant(&self.config)
    }
}

/// What the options say.
pub(crate) fn contents(id: u32, config: &Config, custom: Custom) -> CloudInit {
    let text = |key: &str| config.get(key).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let name = text("name").unwrap_or_else(|| format!("VM{id}"));
    let hostname = name.split('.').next().unwrap_or(&name).to_owned();
    let searchdomain = text("searchdomain");
    let fqdn = if name.contains('.') { Some(name.clone()) } else { searchdomain.as_ref().map(|domain| format!("{hostname}.{domain}")) };
    let cards = nics(config).into_iter().filter_map(|nic| {
        let index = drives::index(&nic.slot, "net")?;
        let said = text(&format!("ipconfig{index}"))?;
        let get = |key: &str| property(&said, key).map(ToOwned::to_owned);
        Some(CloudNic { index, mac: nic.mac, ip: get("ip"), gateway: get("gw"), ip6: get("ip6"), gateway6: get("gw6") })
    });
    CloudInit {
        hostname,
        fqdn,
        nics: cards.collect(),
        nameservers: text("nameserver").map(|names| list::split(&names)).unwrap_or_default(),
        searchdomain,
        sshkeys: text("sshkeys").map(|keys| decoded(&keys).lines().map(ToOwned::to_owned).collect()).unwrap_or_default(),
        user: text("ciuser"),
        password: text("cipassword"),
        upgrade: text("ciupgrade").is_none_or(|value| value != "0"),
        custom,
    }
}

/// Undoes percent encoding.
pub(crate) fn decoded(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let escaped = pair.filter(|_| *first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok());
        plain.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

impl Pve {
    /// The bytes of a machine's cloud-init drive.
    pub(crate) fn cloudinit_volume(&self, id: u32) -> Option<Vec<u8>> {
        let vm = self.state().vms.get(&id).cloned()?;
        let config = vm.cloudinit.as_ref()?;
        Some(cloudinit::volume(&contents(id, config, self.snippets(&vm.host, config))))
    }

    /// The snippets of `cicustom`.
    pub(crate) fn snippets(&self, host: &str, config: &Config) -> Custom {
        let said = config.get("cicustom").cloned().unwrap_or_default();
        let read = |key: &str| {
            let place = self.state().storages.place(host, property(&said, key)?);
            Storages::read_file(&self.parts.store, &place).ok()
        };
        Custom { user: read("user"), network: read("network"), meta: read("meta"), vendor: read("vendor") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drive_says_what_the_options_say() {
        let options = [
            ("name", "cp-1"),
            ("ide2", "local-lvm:vm-100-cloudinit,media=cdrom"),
            ("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0"),
            ("ipconfig0", "ip=10.0.0.11/24,gw=10.0.0.1"),
            ("nameserver", "10.0.0.1 1.1.1.1"),
            ("searchdomain", "lan"),
            ("sshkeys", "ssh-ed25519%20AAAA%20me"),
            ("cores", "2"),
        ];
        let config: Config = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let mut vm = Vm { id: 100, config, ..Vm::default() };
        assert!(vm.generate_cloudinit());
        assert!(!vm.generate_cloudinit(), "nothing changed");
        let made = vm.cloudinit.clone().unwrap_or_default();
        assert!(!made.contains_key("cores"));
        let said = contents(100, &made, Custom::default());
        assert_eq!((said.hostname.as_str(), said.fqdn.as_deref()), ("cp-1", Some("cp-1.lan")));
        assert_eq!(said.nics[0].ip.as_deref(), Some("10.0.0.11/24"));
        assert_eq!(said.nameservers, ["10.0.0.1", "1.1.1.1"]);
        assert_eq!(said.sshkeys, ["ssh-ed25519 AAAA me"]);
        assert!(said.upgrade);
    }
}

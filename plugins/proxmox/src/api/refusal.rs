//! What Proxmox says when it says no, and what a person can do about it.

use emhost_sdk::Failure;
use serde_json::Value;

/// The code of a refusal that nobody here knows. It may pass, so it is tried a few times.
pub const UNEXPLAINED: &str = "proxmox/refused";

/// A status that is not one of success, and everything that came with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The reason phrase, or the message in the body where it says more.
    pub text: String,
    /// What is wrong with each parameter.
    pub errors: Vec<(String, String)>,
}

/// What a refusal means for whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// What was asked about is not there.
    Gone,
    /// The number is taken.
    Taken,
    /// Somebody else works on it; it will pass.
    Busy,
    /// The configuration is not the one that was looked at.
    Changed,
    /// The host or the cluster cannot answer now.
    Away,
    /// The credential is not accepted.
    Unknown,
    /// A right is missing.
    Denied,
    /// The request is wrong.
    Invalid,
    /// It is already so.
    Already,
    /// Anything else.
    Other,
}

/// Words of errors that pass when the other one is done (facts §5).
const BUSY: [&str; 7] = [
    "can't lock file",
    "got lock request timeout",
    "got no worker upid",
    "vm is locked",
    "locked command timed out",
    "unable to acquire lock",
    "cfs-lock '",
];

impl Refusal {
    /// Reads an answer.
    pub fn read(status: u16, reason: &str, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = body["message"].as_str().unwrap_or_default().trim();
        // The reason phrase is the first line only, and empty where a proxy dropped it.
        let text = if message.len() > reason.trim().len() { message } else { reason.trim() };
        let errors = body["errors"].as_object().into_iter().flatten();
        let errors = errors.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().trim().to_owned()));
        Self { status, text: text.to_owned(), errors: errors.collect() }
    }

    /// What it means.
    pub fn meaning(&self) -> Meaning {
        let text = self.text.to_ascii_lowercase();
        let said = |words: &str| text.contains(words) || self.errors.iter().any(|(_, error)| error.contains(words));
        match self.status {
            401 => Meaning::Unknown,
            403 => Meaning::Denied,
            595..=599 | 502..=504 => Meaning::Away,
            _ if said("no quorum") => Meaning::Away,
            _ if said("no such task") => Meaning::Gone,
            400 => Meaning::Invalid,
            _ if said("already exists") => Meaning::Taken,
            _ if said("already running") => Meaning::Already,
            _ if said("checksum mismatch (file change") => Meaning::Changed,
            _ if is_busy(&text) => Meaning::Busy,
            // A storage or a bridge that does not exist is an input, not a machine that went away.
            _ if said("configuration file '") && said("does not exist") || said("unable to find configuration file") => Meaning::Gone,
            404 => Meaning::Gone,
            _ => Meaning::Other,
        }
    }

    /// Everything that was said, in one line.
    pub fn said(&self) -> String {
        let errors: Vec<String> = self.errors.iter().map(|(key, error)| format!("{key}: {error}")).collect();
        let text = if self.text.is_empty() { format!("status {}", self.status) } else { self.text.clone() };
        let text = if errors.is_empty() { text } else { format!("{} {}", text, errors.join("; ")) };
        one_line(&text)
    }

    /// As a failure of the kind it is. `what` is the end of `could not …`.
    pub fn failure(&self, what: &str) -> Failure {
        let summary = format!("could not {what}: Proxmox answered {} {}", self.status, self.said());
        match self.meaning() {
            Meaning::Unknown => Failure::denied("proxmox/credential", summary).help(
                "check the credential of slot `pve` in site.yaml: a token is written USER@REALM!NAME=SECRET, and must not have expired",
            ),
            Meaning::Denied => Failure::denied("proxmox/right", summary).help(self.missing_right(what)),
            Meaning::Away => Failure::unavailable("proxmox/away", summary)
                .help("see that the host is up and the Proxmox cluster has quorum (`pvecm status`)"),
            Meaning::Busy => Failure::unavailable("proxmox/busy", summary).help("wait for the other task, or end it in Proxmox"),
            Meaning::Changed => Failure::unavailable("proxmox/changed", summary).help("leave the machine alone while emhost works on it"),
            Meaning::Gone => Failure::conflict("proxmox/gone", summary).help("plan again"),
            Meaning::Taken => Failure::conflict("proxmox/taken", summary).help("plan again"),
            Meaning::Invalid => Failure::invalid("proxmox/invalid", summary).help(self.mended()),
            Meaning::Already | Meaning::Other => match known(&self.text) {
                Some(help) => Failure::invalid("proxmox/input", summary).help(help),
                None => Failure::unavailable(UNEXPLAINED, summary).help("see the reason, mend the cause in Proxmox, then apply again"),
            },
        }
    }

    fn mended(&self) -> String {
        let named: Vec<&str> = self.errors.iter().map(|(key, _)| key.as_str()).collect();
        match self.errors.iter().find_map(|(_, error)| known(error)) {
            Some(help) => help,
            None if named.is_empty() => "correct the value in the inventory, then apply again".to_owned(),
            None => format!("correct what the inventory says for {}, then apply again", named.join(", ")),
        }
    }

    /// `Permission check failed (/vms/100, VM.Allocate)` as the command that gives the right.
    fn missing_right(&self, what: &str) -> String {
        if let Some(help) = known(&self.text) {
            return help;
        }
        let inside = self.text.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(inside, _)| inside);
        let named = inside.and_then(|inside| inside.split_once(", ")).filter(|(path, _)| path.starts_with('/'));
        // Where one of several rights would do, it names none.
        let unnamed = if what.starts_with("download") { ("/nodes", "Sys.AccessNetwork") } else { ("/vms", "VM.Allocate") };
        let (path, privileges) = named.unwrap_or(unnamed);
        let one = privileges.split('|').next().unwrap_or(privileges).trim();
        format!(
            "give the user and the token of slot `pve` a role with {one} on {path} (`pveum acl modify {path} --roles ROLE --users USER`, and the same with --tokens); `emhost doctor` names all that are missing"
        )
    }
}

/// Whether an error passes when somebody else is done.
pub fn is_busy(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    BUSY.iter().any(|words| text.contains(words)) && !text.contains("no quorum")
}

/// What to do about errors that come from what a person wrote or left out.
pub fn known(text: &str) -> Option<String> {
    let quoted = |after: &str| text.split_once(after)?.1.split('\'').next().map(str::to_owned);
    let has = |words: &str| text.contains(words);
    let help = if let Some(pool) = quoted("pool '").filter(|_| has("does not exist")) {
        format!("make the pool (`pvesh create /pools --poolid {pool}`), or correct proxmox.pool in cluster.yaml")
    } else if let Some(storage) = quoted("storage '").filter(|_| has("does not exist")) {
        format!("correct the storage's name in the inventory: Proxmox has no `{storage}` (`pvesm status` lists them)")
    } else if let Some(storage) = quoted("storage '").filter(|_| has("is not available on node") || has("is disabled")) {
        format!("let storage `{storage}` be used on this host (Datacenter, Storage), or name another one in the inventory")
    } else if has("content-type 'import'") || has("'import' content") {
        let storage = quoted("storage '").unwrap_or_else(|| "STORAGE".to_owned());
        format!(
            "let storage `{storage}` hold images to import: add `import` to its content (`pvesm set {storage} --content …,import`; Proxmox VE 8.4 or newer)"
        )
    } else if has("content-type 'iso'") || has("'iso' content") {
        let storage = quoted("storage '").unwrap_or_else(|| "STORAGE".to_owned());
        format!("let storage `{storage}` hold ISO images: add `iso` to its content (`pvesm set {storage} --content …,iso`)")
    } else if has("not a file based storage") || has("can't upload to storage type") {
        "name a storage of files (a folder, NFS or CIFS) as proxmox.iso_datastore in cluster.yaml".to_owned()
    } else if has("does not support vm images") {
        "name a storage whose content has `images` as proxmox.datastore in cluster.yaml, or as the node's datastore".to_owned()
    } else if has("for non-mapped devices") || has("only root can set 'hostpci") {
        "make a mapping for the device (Datacenter, Resource Mappings) and write `gpu: {mapping: NAME}`, or bind slot `pve` with the password of root@pam: Proxmox refuses raw devices to every token".to_owned()
    } else if has("hostname lookup") || has("no such cluster node") {
        "correct the host's name in the inventory (`pvecm nodes` lists them)".to_owned()
    } else if has("shrinking disks is not supported") {
        "write the size that the disk has, or a larger one: disks never shrink".to_owned()
    } else if has("can't clone VM to node") || has("can't clone to non-shared storage") {
        "put the template on shared storage, or make one on every host and name it with `template:` of the node".to_owned()
    } else if has("protection mode enabled") {
        "switch the machine's protection off in Proxmox if it is to go".to_owned()
    } else if has("Linked clone feature") || has("Full clone feature") {
        "make the template's disks on a storage that can copy them".to_owned()
    } else {
        return None;
    };
    Some(help)
}

/// The failure of a task. `tail` is the end of its log.
pub fn task(what: &str, upid: &str, exit: &str, tail: &[String]) -> Failure {
    let node = upid.split(':').nth(1).unwrap_or("the host");
    let summary = format!("could not {what}: the task on {node} ended with {}", one_line(exit));
    let log = format!("{upid}\n{}", tail.join("\n"));
    let lower = exit.to_ascii_lowercase();
    let all = std::iter::once(exit).chain(tail.iter().map(String::as_str));
    if lower.starts_with("permission check failed") {
        let refusal = Refusal { status: 403, text: exit.to_owned(), errors: Vec::new() };
        return Failure::denied("proxmox/right", summary).detail(log).help(refusal.missing_right(what));
    }
    if is_busy(&lower) {
        return Failure::unavailable("proxmox/busy", summary).detail(log).help("wait for the other task, or end it in Proxmox");
    }
    if matches!(exit, "unexpected status" | "received interrupt") || exit.starts_with("interrupted by") {
        return Failure::unavailable(UNEXPLAINED, summary).detail(log).help("see why the task was ended (`journalctl -u pvedaemon`)");
    }
    let broken = ["read error", "connection reset", "timed out", "connection closed", "error 502", "error 503", "error 504"];
    if lower.contains("download failed") && broken.iter().any(|words| lower.contains(words)) {
        let help = "see that the Proxmox host reaches the address of slot `image-factory` all the time";
        return Failure::unavailable(UNEXPLAINED, summary).detail(log).help(help);
    }
    let help = all.clone().find_map(known).or_else(|| all.clone().find_map(of_task));
    let help = help.unwrap_or_else(|| "see the task's log in Proxmox, mend the cause, then apply again".to_owned());
    Failure::conflict("proxmox/task", summary).detail(log).help(help)
}

/// What to do about errors that only tasks have.
fn of_task(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let has = |words: &str| lower.contains(words);
    let help = if has("no space left") || has("not enough free space") || has("insufficient free") || has("out of space") || has("quota") {
        "free space on the storage, or name another one in the inventory"
    } else if has("checksum mismatch") {
        "the bytes are not those that emhost.lock pins: see who changed the file, and delete it from the storage if it is not yours"
    } else if has("refusing to override existing file") {
        "delete the file from the storage: it is not the one that is wanted"
    } else if has("unable to resolve host address") || has("failed: connection") || has("download failed") {
        "let the Proxmox host reach the address of slot `image-factory`, by name and through the firewall"
    } else if has("powerdown failed") {
        "shut the machine down by hand, then apply again: the guest did not end within the time"
    } else if has("pci device") || has("iommu") || has("hostpci") || has("vfio") {
        "see that the device is free, has its IOMMU group to itself and is mapped for this host (`emhost doctor`)"
    } else if has("bridge '") && has("does not exist") {
        "correct the bridge in the inventory: the host has none of that name"
    } else if has("cannot allocate memory") || has("vcpus allowed") {
        "give the machine less, or place it on a larger host"
    } else {
        return None;
    };
    Some(help.to_owned())
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use emhost_sdk::FailureKind;

    use super::*;

    fn refusal(status: u16, reason: &str) -> Refusal {
        Refusal::read(status, reason, br#"{"data":null}"#)
    }

    #[test]
    fn a_refusal_means_what_proxmox_means() {
        for (status, reason, meaning) in [
            (500, "Configuration file 'nodes/pve1/qemu-server/300.conf' does not exist", Meaning::Gone),
            (500, "unable to find configuration file for VM 9000 on node 'pve1'", Meaning::Gone),
            (500, "unable to create VM 105 - VM 105 already exists on node 'pve1'", Meaning::Taken),
            (500, "unable to create VM 105: config file already exists", Meaning::Taken),
            (500, "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout", Meaning::Busy),
            (500, "cfs-lock 'storage-ceph' error: got lock request timeout", Meaning::Busy),
            (500, "VM is locked (clone)", Meaning::Busy),
            (500, "checksum mismatch (file change by other user?)", Meaning::Changed),
            (500, "cluster not ready - no quorum?", Meaning::Away),
            (500, "cfs-lock 'file-user_cfg' error: no quorum!", Meaning::Away),
            (595, "No route to host", Meaning::Away),
            (401, "No ticket", Meaning::Unknown),
            (403, "Permission check failed (/vms/100, VM.Allocate)", Meaning::Denied),
            (500, "storage 'tank' does not exist", Meaning::Other),
            (500, "unable to open database - Input/output error", Meaning::Other),
        ] {
            assert_eq!(refusal(status, reason).meaning(), meaning, "{reason}");
        }
    }

    #[test]
    fn parameters_are_named_with_what_is_wrong() {
        let body = br#"{"data":null,"errors":{"vmid":"invalid format - value does not look like a valid VM ID\n"},"message":"Parameter verification failed.\n"}"#;
        let failure = Refusal::read(400, "Parameter verification failed.", body).failure("create VM 1 for dev-cp-1 on pve1");
        assert_eq!(failure.kind, FailureKind::Invalid);
        assert_eq!(
            failure.diagnostics[0].summary,
            "could not create VM 1 for dev-cp-1 on pve1: Proxmox answered 400 Parameter verification failed. vmid: invalid format - value does not look like a valid VM ID"
        );
        assert_eq!(failure.diagnostics[0].help.as_deref(), Some("correct what the inventory says for vmid, then apply again"));
    }

    #[test]
    fn a_missing_right_comes_with_the_command_that_gives_it() {
        let failure = refusal(403, "Permission check failed (/storage/local, Datastore.Allocate|Datastore.AllocateSpace)").failure("x");
        let help = failure.diagnostics[0].help.clone().unwrap_or_default();
        assert!(help.contains("Datastore.Allocate on /storage/local") && help.contains("pveum acl modify /storage/local"), "{help}");
        let pool = refusal(403, "Permission check failed (pool 'dev' does not exist)").failure("x");
        assert!(pool.diagnostics[0].help.as_deref().is_some_and(|help| help.contains("--poolid dev")));
    }

    #[test]
    fn an_input_that_is_wrong_is_not_tried_again() {
        let failure = refusal(500, "storage 'local' is not configured for content-type 'import'").failure("x");
        assert_eq!(failure.kind, FailureKind::Invalid);
        assert!(failure.diagnostics[0].help.as_deref().is_some_and(|help| help.contains("pvesm set local")));
        assert_eq!(refusal(500, "unable to open database").failure("x").kind, FailureKind::Unavailable);
    }

    #[test]
    fn tasks_fail_as_what_they_are() {
        let upid = "UPID:pve1:000003E8:00000001:65000000:qmclone:9000:root@pam:";
        let busy = task("clone", upid, "clone failed: can't lock file '/var/lock/pve-manager/pve-storage-local-lvm' - got timeout", &[]);
        assert_eq!(busy.kind, FailureKind::Unavailable);
        let reset = task("download", upid, "download failed: Read error at byte 0 (Connection reset by peer).", &[]);
        let unknown = task("download", upid, "download failed: wget: unable to resolve host address 'x'", &[]);
        assert_eq!((reset.kind, unknown.kind), (FailureKind::Unavailable, FailureKind::Conflict));
        let slow = task("restart", upid, "VM quit/powerdown failed - got timeout", &[]);
        assert_eq!(slow.kind, FailureKind::Conflict);
        let full = task("create", upid, "unable to create image", &["lvcreate: insufficient free space".to_owned()]);
        assert!(full.diagnostics[0].help.as_deref().is_some_and(|help| help.starts_with("free space")));
        assert!(full.diagnostics[0].summary.contains("on pve1 ended with unable to create image"));
    }
}

//! The rights that GPUs need, as the lines that give them.

/// The user and the token of the documentation.
const USER: &str = "emhost@pve";
const TOKEN: &str = "emhost@pve!emhost";

fn role(name: &str, privileges: &str) -> String {
    format!("pveum role add {name} --privs \"{privileges}\"")
}

fn acl(path: &str, role: &str, more: &str) -> String {
    format!("pveum acl modify {path} --roles {role}{more} --users {USER} --tokens '{TOKEN}'")
}

const ONCE: &str = "     # `role modify` if it is there";

/// The lines that allow using a mapping.
pub fn give_using(mapping: &str) -> String {
    format!("{}{ONCE}\n{}", role("EmhostDevices", "Mapping.Use"), acl(&format!("/mapping/pci/{mapping}"), "EmhostDevices", ""))
}

/// The lines that allow making mappings, and using those.
pub fn give_making() -> String {
    format!("{}{ONCE}\n{}", role("EmhostMappings", "Mapping.Modify Mapping.Use"), acl("/mapping/pci", "EmhostMappings", ""))
}

/// The lines that allow listing PCI devices, which is a right on `/` alone.
pub fn give_looking() -> String {
    let lines = format!("{}{ONCE}\n{}", role("EmhostAudit", "Sys.Audit"), acl("/", "EmhostAudit", " --propagate 0"));
    format!("give it to the user and to the token, on a Proxmox host:\n{lines}")
}

/// The line that makes a mapping by hand.
pub fn make_mapping(name: &str, entry: &str) -> String {
    format!("pvesh create /cluster/mapping/pci --id {name} --map {entry}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_says_the_same() {
        let page = include_str!("../../../docs/gpu.md");
        for lines in [give_using("NAME"), give_making(), give_looking()] {
            for line in lines.lines().filter(|line| line.starts_with("pveum")).map(|line| line.trim_end_matches(ONCE)) {
                assert!(page.contains(line), "docs/gpu.md does not have this line as it is:\n{line}");
            }
        }
    }
}

//! `terraform.tfvars`: machines cloned from templates, by number and role.

use zeroize::Zeroizing;

use super::hcl::{self, Value, Variable};
use super::writing::{Node, Shape, list, nodes, section};
use super::{Imported, Said, Secret, checked_name, kubernetes_for, wrong};
use crate::diagnostic::Diagnostic;
use crate::inventory::starter::quoted;
use crate::inventory::values::release;

/// The roles, as the variables' names begin and as `templates:` calls them.
const ROLES: [(&str, &str); 3] = [("control_plane", "controlplane"), ("worker", "worker"), ("gpu_worker", "gpu")];
/// The most machines of a role that a file may ask for.
const MOST: u32 = 200;

/// Makes an inventory from the variables of a file.
///
/// # Errors
/// When the file cannot be read, or something is missing that nobody can guess.
pub fn tfvars(file: &str, text: &str, said: &Said) -> Result<Imported, Vec<Diagnostic>> {
    let variables = hcl::read(text).map_err(|fault| {
        vec![wrong(file, Some((fault.line, fault.column)), fault.what, "correct the file, or import a copy without that line")]
    })?;
    let mut taken = Taken { file, variables, used: Vec::new(), faults: Vec::new() };
    let imported = taken.inventory(said);
    match (imported, taken.faults.is_empty()) {
        (Ok(mut imported), true) => {
            imported.left.extend(taken.left());
            Ok(imported)
        }
        (imported, _) => Err(taken.faults.into_iter().chain(imported.err()).collect()),
    }
}

/// The variables, and which of them were looked at.
struct Taken<'file> {
    file: &'file str,
    variables: Vec<Variable>,
    used: Vec<String>,
    faults: Vec<Diagnostic>,
}

impl Taken<'_> {
    fn value(&mut self, name: &str) -> Option<Value> {
        self.used.push(name.to_owned());
        let variable = self.variables.iter().find(|variable| variable.name == name)?;
        Some(variable.value.clone()).filter(|value| *value != Value::Null)
    }

    fn fault(&mut self, name: &str, summary: String, help: &str) {
        let at = self.variables.iter().find(|variable| variable.name == name).map(|variable| (variable.line, variable.column));
        self.faults.push(wrong(self.file, at, summary, help));
    }

    fn wrong_kind(&mut self, name: &str, expected: &str, value: &Value) {
        self.fault(name, format!("`{name}` must be {expected}, not {}", value.kind()), "correct the value");
    }

    /// A text that is not empty. Numbers are taken as texts: a template may be named by its number.
    fn text(&mut self, name: &str) -> Option<Zeroizing<String>> {
        match self.value(name)? {
            Value::Text(text) => Some(text).filter(|text| !text.is_empty()),
            Value::Number(number) => Some(Zeroizing::new(number)),
            other => {
                self.wrong_kind(name, "a text", &other);
                None
            }
        }
    }

    fn plain(&mut self, name: &str) -> Option<String> {
        self.text(name).map(|text| text.to_string())
    }

    fn number<N: std::str::FromStr>(&mut self, name: &str) -> Option<N> {
        let value = self.value(name)?;
        let parsed = match &value {
            Value::Number(text) => text.parse().ok(),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        };
        if parsed.is_none() {
            self.wrong_kind(name, "a whole number from 0", &value);
        }
        parsed
    }

    fn texts(&mut self, name: &str) -> Vec<String> {
        let Some(value) = self.value(name) else { return Vec::new() };
        let items = match &value {
            Value::List(items) => {
                items.iter().map(|item| if let Value::Text(text) = item { Some(text.to_string()) } else { None }).collect()
            }
            _ => None,
        };
        items.unwrap_or_else(|| {
            self.wrong_kind(name, "a list of texts", &value);
            Vec::new()
        })
    }

    /// The sizes of a role's machines: its own variables, else those for all.
    fn shape(&mut self, role: &str) -> Shape {
        let own = |name: &str| format!("{role}_{name}");
        Shape {
            cores: self.number(&own("cores")).or_else(|| self.number("cores")),
            memory_mib: self.number(&own("memory_mb")).or_else(|| self.number("memory_mb")),
            disk_gib: self.number(&own("disk_gb")).or_else(|| self.number("disk_gb")),
            datastore: self.plain(&own("disk_pool")),
            bridge: self.plain(&own("network_bridge")),
        }
    }

    /// The addresses of a role's machines, under the names that the outputs have.
    fn addresses(&mut self, role: &str) -> Vec<String> {
        let one = self.plain(&format!("{role}_ip"));
        let all = self.texts(&format!("{role}_ips"));
        if all.is_empty() { one.into_iter().collect() } else { all }
    }

    fn inventory(&mut self, said: &Said) -> Result<Imported, Diagnostic> {
        let mut imported = Imported::default();
        let name = said.cluster_name.clone().or_else(|| self.plain("cluster_name"));
        let missing = |what: &str, help: &str| Diagnostic::error("import/missing", what.to_owned()).help(Some(help));
        let name = name.ok_or_else(|| missing("nothing says what the cluster is called", "add `--cluster-name NAME`"))?;
        let name = checked_name(&name)?;
        let host = said.proxmox_node.clone().or_else(|| self.plain("node"));
        let host =
            host.ok_or_else(|| missing(&format!("{} has no `node`, the host of the machines", self.file), "add `--proxmox-node NAME`"))?;
        let templates = ROLES.map(|(role, _)| self.plain(&format!("{role}_template")));
        let talos = self.talos(said, &templates)?;
        let kubernetes = said.kubernetes_version.clone().or_else(|| self.plain("kubernetes_version")).unwrap_or_else(|| {
            let version = kubernetes_for(&talos);
            imported.assumed.push(format!("`kubernetes_version: {version}`, since nothing says one"));
            version.to_owned()
        });
        let devices = self.texts("gpu_worker_pci_bdfs");
        let workers: u32 = self.number("worker_count").unwrap_or(0);
        let count: u32 = self.number("control_plane_count").unwrap_or(1);
        for (variable, count) in [("worker_count", workers), ("control_plane_count", count)] {
            if count > MOST {
                self.fault(
                    variable,
                    format!("`{variable}` is {count}, and no cluster here has more than {MOST} of a role"),
                    "correct the number",
                );
            }
        }
        if workers > 0 && templates[1].is_none() {
            self.fault("worker_count", "there are workers, and no `worker_template`".to_owned(), "add `worker_template`");
        }
        if !devices.is_empty() && templates[2].is_none() {
            self.fault(
                "gpu_worker_pci_bdfs",
                "there are GPU workers, and no `gpu_worker_template`".to_owned(),
                "add `gpu_worker_template`",
            );
        }
        let control_planes = self.machines(&name, "control_plane", "cp", count.min(MOST));
        let others = self.machines(&name, "worker", "wk", workers.min(MOST));
        let gpu = self.shape("gpu_worker");
        let gpu_ips = self.addresses("gpu_worker");
        let endpoint = self.endpoint(&control_planes, &mut imported);

        let head =
            format!("cluster_name: {}\ntalos_version: {}\nkubernetes_version: {}\n", quoted(&name), quoted(&talos), quoted(&kubernetes));
        let network = [
            ("gateway", self.plain("gateway").map(|gateway| quoted(&gateway))),
            ("nameservers", Some(self.texts("nameservers")).filter(|servers| !servers.is_empty()).map(|servers| list(&servers))),
            ("vip", self.plain("control_plane_vip").map(|vip| quoted(&vip))),
            ("endpoint", endpoint),
        ];
        let network = section("network", &network);
        let proxmox = [
            ("node", Some(quoted(&host))),
            ("datastore", self.plain("disk_pool").map(|pool| quoted(&pool))),
            ("bridge", self.plain("network_bridge").map(|bridge| quoted(&bridge))),
            ("onboot", self.flag("onboot").map(|onboot| onboot.to_string())),
        ];
        let proxmox = section("proxmox", &proxmox);
        let rows: Vec<(&str, Option<String>)> =
            ROLES.iter().zip(&templates).map(|((_, key), template)| (*key, template.as_deref().map(template_value))).collect();
        let boot = format!("\nboot: template\n{}", section("templates", &rows).trim_start());
        let gpu = self.gpu(&devices, &gpu, &gpu_ips);
        let text = format!("{head}{network}{proxmox}{boot}{gpu}");
        imported.files =
            vec![("cluster.yaml", text), ("nodes.yaml", nodes(&control_planes, &others)), ("site.yaml", self.site(&mut imported))];
        if !devices.is_empty() {
            imported.left.push(
                "rights for `gpu_worker_pci_bdfs`: Proxmox VE lets no API token pass a PCI device by its address, so emhost uses or makes \
                 a resource mapping for each; `emhost doctor` says whether the token may"
                    .to_owned(),
            );
        }
        Ok(imported)
    }

    fn talos(&mut self, said: &Said, templates: &[Option<String>]) -> Result<String, Diagnostic> {
        if let Some(version) = &said.talos_version {
            return Ok(version.clone());
        }
        let found: Vec<String> = templates.iter().flatten().filter_map(|template| version_in(template)).collect();
        let Some(first) = found.first() else {
            let summary = format!("no template in {} has a version of Talos in its name, as `talos-v1.11.5-base` has", self.file);
            return Err(Diagnostic::error("import/missing", summary).help(Some("add `--talos-version V`")));
        };
        if let Some(other) = found.iter().find(|other| *other != first) {
            let summary = format!("the templates are of different versions of Talos, {first} and {other}");
            return Err(Diagnostic::error("import/versions", summary).help(Some("choose one with `--talos-version V`")));
        }
        Ok(first.clone())
    }

    fn machines(&mut self, cluster: &str, role: &str, short: &str, count: u32) -> Vec<Node> {
        let shape = self.shape(role);
        let mut addresses = self.addresses(role).into_iter();
        let node = |index: u32| Node { name: format!("{cluster}-{short}-{index}"), ip: addresses.next(), dhcp: None, shape: shape.clone() };
        (1..=count).map(node).collect()
    }

    /// Where the API is, if no address tells.
    fn endpoint(&mut self, control_planes: &[Node], imported: &mut Imported) -> Option<String> {
        let told = self.variables.iter().any(|variable| variable.name == "control_plane_vip" && variable.value != Value::Null);
        let first = control_planes.first()?;
        if let Some(endpoint) = self.plain("cluster_endpoint") {
            return Some(quoted(&endpoint));
        }
        if first.ip.is_some() || told {
            return None;
        }
        let endpoint = format!("https://{}:6443", first.name);
        imported.assumed.push(format!(
            "`network.endpoint: {endpoint}`, since no variable has an address of a control plane: give {} an `ip` in nodes.yaml and remove \
             the endpoint, unless your DNS knows that name",
            first.name
        ));
        Some(quoted(&endpoint))
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Value::Bool(value) => Some(value),
            other => {
                self.wrong_kind(name, "true or false", &other);
                None
            }
        }
    }

    fn gpu(&mut self, devices: &[String], shape: &Shape, ips: &[String]) -> String {
        let rows = [
            ("cpu", shape.cores.map(|cores| cores.to_string())),
            ("ram", shape.memory_mib.map(|memory| memory.to_string())),
            ("disk", shape.disk_gib.map(|disk| format!("{disk}G"))),
            ("ips", Some(ips).filter(|ips| !ips.is_empty()).map(list)),
            ("gpu_pcie_mode", self.flag("gpu_pcie_mode").map(|mode| mode.to_string())),
            ("gpu_rombar", self.flag("gpu_rombar").map(|rombar| rombar.to_string())),
        ];
        if devices.is_empty() {
            return String::new();
        }
        format!("\ngpu_worker_pci_bdfs: {}\n{}", list(devices), section("gpu_worker", &rows).trim_start())
    }

    /// `site.yaml`, and the token beside it.
    fn site(&mut self, imported: &mut Imported) -> String {
        let address = self.plain("proxmox_api_url");
        let (id, secret) = (self.text("proxmox_api_token_id"), self.text("proxmox_api_token_secret"));
        let insecure = ["proxmox_tls_insecure", "proxmox_insecure"].into_iter().find(|name| self.flag(name) == Some(true));
        if let Some(name) = insecure {
            imported
                .left
                .push(format!("`{name}`: emhost always checks who answers; add the certificate's `fingerprint` to the slot in site.yaml"));
        }
        let credential = match (id, secret) {
            (Some(id), Some(secret)) => {
                imported.secrets.push(Secret { name: "pve_token", value: Zeroizing::new(format!("{}={}", *id, *secret)) });
                true
            }
            (None, None) => false,
            (id, _) => {
                let (there, missing) = if id.is_some() { ("id", "secret") } else { ("secret", "id") };
                imported.left.push(format!("`proxmox_api_token_{there}`: there is no `proxmox_api_token_{missing}`; add the secret `pve_token` with `sops edit secrets.sops.yaml`"));
                true
            }
        };
        let Some(address) = address else {
            imported.left.push("no `proxmox_api_url`: name your Proxmox VE in site.yaml".to_owned());
            return crate::inventory::starter::SITE.to_owned();
        };
        let address = address.trim_end_matches('/').trim_end_matches("/api2/json").trim_end_matches('/');
        let credential = if credential { ", credential: pve_token" } else { "" };
        let url = serde_json::Value::from(address);
        format!(
            "slots:\n  # Unless the certificate is signed by an authority that this computer trusts, add its fingerprint as Proxmox VE shows it\n  # under Node > System > Certificates: fingerprint: \"sha256:…\"\n  pve: {{url: {url}{credential}}}\n"
        )
    }

    /// The variables that nobody looked at.
    fn left(&self) -> Vec<String> {
        let unused = self.variables.iter().filter(|variable| !self.used.contains(&variable.name));
        unused.map(|variable| format!("`{}` (line {}): there is nothing like it in an inventory", variable.name, variable.line)).collect()
    }
}

/// A template's name, or its number.
fn template_value(template: &str) -> String {
    if template.bytes().all(|byte| byte.is_ascii_digit()) { template.to_owned() } else { quoted(template) }
}

/// The version in a template's name: `v1.11.5` in `talos-v1.11.5-base`.
fn version_in(template: &str) -> Option<String> {
    template.match_indices('v').find_map(|(at, _)| {
        let rest = &template[at + 1..];
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(rest.len());
        release(&rest[..end]).map(|version| format!("v{version}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::read;

    const FULL: &str = r#"
# Credentials
proxmox_api_url          = "https://pve.example.com:8006/api2/json"
proxmox_api_token_id     = "terraform@pve!emhost"
proxmox_api_token_secret = "11111111-2222-3333-4444-555555555555"
node = "pve"
control_plane_template = "talos-v1.12.4-base"
control_plane_cores    = 4
worker_count    = 2
worker_template = "talos-v1.12.4-base"
worker_disk_gb  = 60
gpu_worker_pci_bdfs = ["0000:01:00.0"]
gpu_worker_template = 9000
gpu_worker_memory_mb = 16384
disk_pool = "tank"
onboot = true
ssh_public_key = "ssh-ed25519 AAAA"
"#;

    fn named(name: &str) -> Said {
        Said { cluster_name: Some(name.to_owned()), ..Said::default() }
    }

    fn import(text: &str, said: &Said) -> Result<Imported, String> {
        let told = |diagnostics: Vec<Diagnostic>| diagnostics.iter().map(|one| one.summary.clone()).collect::<Vec<_>>().join("; ");
        tfvars("terraform.tfvars", text, said).map_err(told)
    }

    #[test]
    fn variables_become_an_inventory() {
        let imported = import(FULL, &named("k3s-dev")).unwrap();
        let text = |name: &str| imported.files.iter().find(|(file, _)| *file == name).unwrap().1.as_str();
        insta::assert_snapshot!(text("cluster.yaml"), @r#"
        cluster_name: k3s-dev
        talos_version: v1.12.4
        kubernetes_version: v1.35.0

        network:
          endpoint: "https://k3s-dev-cp-1:6443"

        proxmox:
          node: pve
          datastore: tank
          onboot: true

        boot: template
        templates:
          controlplane: talos-v1.12.4-base
          worker: talos-v1.12.4-base
          gpu: 9000

        gpu_worker_pci_bdfs: ["0000:01:00.0"]
        gpu_worker:
          ram: 16384
        "#);
        insta::assert_snapshot!(text("nodes.yaml"), @r"
        controlplane:
          - name: k3s-dev-cp-1
            cpu: 4

        workers:
          - name: k3s-dev-wk-1
            disk: 60G
          - name: k3s-dev-wk-2
            disk: 60G
        ");
        insta::assert_snapshot!(text("site.yaml"), @r#"
        slots:
          # Unless the certificate is signed by an authority that this computer trusts, add its fingerprint as Proxmox VE shows it
          # under Node > System > Certificates: fingerprint: "sha256:…"
          pve: {url: "https://pve.example.com:8006", credential: pve_token}
        "#);
        insta::assert_snapshot!(imported.left.join("\n"), @r"
        rights for `gpu_worker_pci_bdfs`: Proxmox VE lets no API token pass a PCI device by its address, so emhost uses or makes a resource mapping for each; `emhost doctor` says whether the token may
        `ssh_public_key` (line 17): there is nothing like it in an inventory
        ");
        insta::assert_snapshot!(imported.assumed.join("\n"), @r"
        `kubernetes_version: v1.35.0`, since nothing says one
        `network.endpoint: https://k3s-dev-cp-1:6443`, since no variable has an address of a control plane: give k3s-dev-cp-1 an `ip` in nodes.yaml and remove the endpoint, unless your DNS knows that name
        ");
        let secrets: Vec<(&str, &str)> = imported.secrets.iter().map(|secret| (secret.name, secret.value.as_str())).collect();
        assert_eq!(secrets, [("pve_token", "terraform@pve!emhost=11111111-2222-3333-4444-555555555555")]);
        assert!(imported.files.iter().all(|(_, text)| !text.contains("11111111")));
        let loaded = read(&imported.inventory());
        assert_eq!(loaded.findings, []);
        assert_eq!(loaded.cluster.map(|cluster| cluster.nodes.len()), Some(4));
    }

    #[test]
    fn the_least_that_the_variables_need_is_enough() {
        let text = "proxmox_api_url = \"https://10.0.0.2:8006/\"\nnode = \"pve\"\ncontrol_plane_template = \"talos-v1.11.5-base\"\nworker_count = 0\ngpu_worker_pci_bdfs = []\n";
        let imported = import(text, &named("dev")).unwrap();
        assert_eq!(read(&imported.inventory()).findings, []);
        let addressed = import(&format!("{text}control_plane_ips = [\"10.0.10.11\"]\n"), &named("dev")).unwrap();
        assert_eq!(read(&addressed.inventory()).findings, []);
        assert!(addressed.assumed.iter().all(|one| !one.contains("endpoint")), "{:?}", addressed.assumed);
    }

    #[test]
    fn what_is_missing_or_wrong_is_said() {
        let base = "node = \"pve\"\ncontrol_plane_template = \"talos-v1.11.5-base\"\n";
        for (text, said, expected) in [
            (base.to_owned(), Said::default(), "nothing says what the cluster is called"),
            (base.to_owned(), named("My Cluster"), "`My Cluster` cannot be a cluster's name"),
            (
                "control_plane_template = \"talos-v1.11.5-base\"".to_owned(),
                named("dev"),
                "terraform.tfvars has no `node`, the host of the machines",
            ),
            (
                "node = \"pve\"\ncontrol_plane_template = 9000".to_owned(),
                named("dev"),
                "no template in terraform.tfvars has a version of Talos in its name, as `talos-v1.11.5-base` has",
            ),
            (format!("{base}worker_count = 2\n"), named("dev"), "there are workers, and no `worker_template`"),
            (format!("{base}worker_count = \"many\"\n"), named("dev"), "`worker_count` must be a whole number from 0, not a text"),
            (
                format!("{base}worker_count = 2000\nworker_template = \"talos-v1.11.5-base\"\n"),
                named("dev"),
                "`worker_count` is 2000, and no cluster here has more than 200 of a role",
            ),
            (
                format!("{base}worker_template = \"talos-v1.12.1-base\"\n"),
                named("dev"),
                "the templates are of different versions of Talos, v1.11.5 and v1.12.1",
            ),
            (
                format!("{base}gpu_worker_pci_bdfs = \"0000:01:00.0\"\n"),
                named("dev"),
                "`gpu_worker_pci_bdfs` must be a list of texts, not a text",
            ),
            ("node = ".to_owned(), named("dev"), "a value was expected here: a text in quotes, a number, true, false, or a list"),
        ] {
            assert_eq!(import(&text, &said).err().as_deref(), Some(expected), "{text}");
        }
    }
}

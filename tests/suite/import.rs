//! `emhost import`: files of other tools become an inventory, and their secrets stay secret.

use std::process::Command;

use emhost_tests::place::Place;

const TOKEN: &str = "0b5b1c5e-8c7f-4a53-9d0b-3c1a5f2e7d90";
const AUTH_KEY: &str = "hskey-auth-4f6f8d1c2b3a";

/// The variables that the environment of the users names, with comments and lists as people write them.
fn tfvars() -> String {
    format!(
        r#"# Proxmox VE
proxmox_api_url          = "https://10.0.0.2:8006/api2/json"
proxmox_api_token_id     = "terraform@pve!emhost" // made in the web interface
proxmox_api_token_secret = "{TOKEN}"

node                   = "pve"
control_plane_template = "talos-v1.12.4-base"

/* one worker for
   each of these */
gpu_worker_pci_bdfs = [
  "0000:01:00.0",
  "0000:02:00.0",
]
gpu_worker_template = "talos-v1.12.4-base"
worker_count        = 2
worker_template     = "talos-v1.12.4-base"
state_bucket        = "none of ours"
"#
    )
}

#[test]
fn variables_of_terraform_become_a_valid_inventory() {
    let place = Place::new("k3s-dev");
    let file = place.home().join("terraform.tfvars");
    std::fs::write(&file, tfvars()).unwrap();
    let file = file.to_str().unwrap();
    let ran = place.emhost(&["import", "tfvars", file, "--cluster-name", "k3s-dev"]).ended(0);
    let ran = ran.says("cluster.yaml written").says("secrets.sops.yaml has pve_token").says("not taken over: `state_bucket` (line 18)");
    assert!(!ran.all().contains(TOKEN), "{}", ran.all());
    for name in ["cluster.yaml", "nodes.yaml", "site.yaml", "secrets.sops.yaml", ".gitignore"] {
        assert!(!place.read(name).contains(TOKEN), "{name}");
    }
    assert!(place.read("cluster.yaml").contains("talos_version: v1.12.4\n"));
    assert!(place.read("site.yaml").contains(r#"pve: {url: "https://10.0.0.2:8006", credential: pve_token}"#));
    place.emhost(&["validate"]).ended(0).says("cluster k3s-dev: 1 control plane, 4 workers: valid");

    // Nothing is overwritten, and every file that is there is named.
    let before = place.read("nodes.yaml");
    place.emhost(&["import", "tfvars", file, "--cluster-name", "other"]).ended(3).says("cluster.yaml, nodes.yaml, site.yaml are in");
    assert_eq!(place.read("nodes.yaml"), before);

    // The real program reads the token with the key that was made.
    let Some(sops) = emhost_oracles::program("sops-v3.11.0", "sops") else { return };
    let keys = place.home().join(".config/sops/age/keys.txt");
    let output = Command::new(sops)
        .args(["decrypt", "--extract", "[\"pve_token\"]", "secrets.sops.yaml"])
        .current_dir(place.path())
        .env("SOPS_AGE_KEY_FILE", keys)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("terraform@pve!emhost={TOKEN}"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_list_of_nodes_becomes_a_valid_inventory() {
    let place = Place::new("home");
    let file = place.home().join("nodes.json");
    let text = format!(
        r#"{{"control_plane_vip": "tailscale-vip-placeholder", "headscale_login_server": "https://headscale.example.com:8080",
        "headscale_auth_key": "{AUTH_KEY}", "controlplanes": [{{"name": "talos-cp-01", "dhcp": "10.0.232.93"}}],
        "workers": [{{"name": "talos-worker-01", "dhcp": "10.0.232.109"}}]}}"#
    );
    std::fs::write(&file, text).unwrap();
    let arguments = [
        "import",
        "nodes-json",
        file.to_str().unwrap(),
        "--cluster-name",
        "home",
        "--kubernetes-version",
        "1.32.1",
        "--proxmox-node",
        "atlas",
    ];
    let ran =
        place.emhost(&arguments).ended(0).says("secrets.sops.yaml has headscale_auth_key").says("not taken over: `control_plane_vip`");
    assert!(!ran.all().contains(AUTH_KEY), "{}", ran.all());
    for name in ["cluster.yaml", "nodes.yaml", "site.yaml", "secrets.sops.yaml"] {
        assert!(!place.read(name).contains(AUTH_KEY), "{name}");
    }
    let cluster = place.read("cluster.yaml");
    assert!(cluster.contains("kubernetes_version: v1.32.1\n") && cluster.contains("node: atlas\n"), "{cluster}");
    place.emhost(&["validate"]).ended(0).says("cluster home: 1 control plane, 1 worker: valid");
}

#[test]
fn a_file_that_cannot_be_imported_changes_nothing() {
    let place = Place::new("dev");
    let file = place.home().join("terraform.tfvars");
    let text = format!("node = \"pve\"\nproxmox_api_token_secret = \"{TOKEN}\n");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let ran = place.emhost(&["import", "tfvars", file, "--cluster-name", "dev"]).ended(3);
    let ran = ran.says("a text that nothing ends").says("terraform.tfvars:2:28");
    assert!(!ran.all().contains(TOKEN), "{}", ran.all());
    place.emhost(&["import", "nodes-json", file]).ended(3).says("this is no JSON");
    place.emhost(&["import", "tfvars", "none.tfvars"]).ended(3).says("cannot read none.tfvars: No such file");
    // A version that does not go with the template's is found before anything is written.
    std::fs::write(file, tfvars()).unwrap();
    let old = ["import", "tfvars", file, "--cluster-name", "dev", "--kubernetes-version", "v1.20.0"];
    place.emhost(&old).ended(3).says("nothing was written").says("Talos v1.12.4 does not run Kubernetes v1.20.0");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

//! `emhost import`: an inventory from the files of another tool.

use std::io::Write;
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use clap::ValueEnum;
use emhost::capabilities::SecretStore;
use emhost::diagnostic::{Diagnostic, Severity};
use emhost::inventory::import::{Imported, Said, nodes_json, tfvars};
use emhost::inventory::{IGNORED, read};
use serde_json::json;

use super::{Exit, Failed, Session, opening};

/// The largest file that is read.
const LARGEST: u64 = 4 << 20;

/// Make an inventory from a terraform.tfvars or a nodes.json
///
/// Writes cluster.yaml, nodes.yaml, site.yaml and .gitignore into the cluster's folder, and secrets only into secrets.sops.yaml. Never
/// overwrites a file. What could not be taken over is listed.
#[derive(clap::Args)]
pub struct Arguments {
    /// What kind of file it is
    #[arg(value_enum)]
    kind: Kind,
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The cluster's name
    #[arg(long, value_name = "NAME")]
    cluster_name: Option<String>,
    /// The version of Talos; the one in the templates' name where nothing is said
    #[arg(long, value_name = "VERSION")]
    talos_version: Option<String>,
    /// The version of Kubernetes; one that fits Talos where nothing is said
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: Option<String>,
    /// The Proxmox VE host that machines run on
    #[arg(long, value_name = "NAME")]
    proxmox_node: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Tfvars,
    NodesJson,
}

pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let shown = arguments.file.display().to_string();
    let text = contents(arguments)?;
    let version = |version: &Option<String>| version.as_ref().map(|version| format!("v{}", version.trim_start_matches('v')));
    let said = Said {
        cluster_name: arguments.cluster_name.clone(),
        talos_version: version(&arguments.talos_version),
        kubernetes_version: version(&arguments.kubernetes_version),
        proxmox_node: arguments.proxmox_node.clone(),
    };
    let imported = match arguments.kind {
        Kind::Tfvars => tfvars(&shown, &text, &said),
        Kind::NodesJson => nodes_json(&shown, &text, &said),
    };
    let mut imported = imported.map_err(|diagnostics| Failed { exit: Exit::Input, diagnostics })?;
    for secret in &imported.secrets {
        session.ui.redactor().learn(secret.name, secret.value.as_bytes());
    }
    let folder = place(session, &mut imported)?;
    let findings = read(&imported.inventory()).findings;
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        // The lines belong to files that are not there.
        let plain = |finding: Diagnostic| Diagnostic { place: None, ..finding };
        let told = Diagnostic::error("import/invalid", format!("{shown} makes an inventory that is not valid; nothing was written"));
        let diagnostics = [told].into_iter().chain(findings.into_iter().map(plain)).collect();
        return Err(Failed { exit: Exit::Input, diagnostics });
    }
    keep(session, &imported)?;
    for (name, text) in &imported.files {
        // Somebody may have been faster since: a file that is there stays.
        let written =
            folder.open_with(name, OpenOptions::new().write(true).create_new(true)).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| Failed::new(Exit::Input, "import/write", format!("cannot write {name}: {error}")))?;
        session.ui.success(&format!("{name} written"));
        session.ui.event("written", json!({ "file": name }));
    }
    tell(session, &imported);
    session.ui.next("run `emhost validate`, then `emhost plan`");
    Ok(())
}

fn contents(arguments: &Arguments) -> Result<String, Failed> {
    let shown = arguments.file.display();
    let cannot =
        |why: String| Failed::new(Exit::Input, "import/read", format!("cannot read {shown}: {why}")).help("name the file to import");
    let size = std::fs::metadata(&arguments.file).map_err(|error| cannot(error.to_string()))?.len();
    if size > LARGEST {
        return Err(cannot(format!("it has {size} bytes, and no such file has more than {LARGEST}")));
    }
    std::fs::read_to_string(&arguments.file).map_err(|error| cannot(error.to_string()))
}

/// The cluster's folder, with room for the files. A site that the folder above has already is not written again.
fn place(session: &Session<'_>, imported: &mut Imported) -> Result<Dir, Failed> {
    let cannot = |what: &str, error: &std::io::Error| Failed::new(Exit::Input, "import/write", format!("cannot {what}: {error}"));
    let shown = session.folder.display();
    std::fs::create_dir_all(&session.folder).map_err(|error| cannot(&format!("make {shown}"), &error))?;
    let folder = Dir::open_ambient_dir(&session.folder, ambient_authority()).map_err(|error| cannot(&format!("open {shown}"), &error))?;
    let there: Vec<&str> = imported.files.iter().map(|(name, _)| *name).filter(|name| folder.symlink_metadata(name).is_ok()).collect();
    if !there.is_empty() {
        let verb = if there.len() == 1 { "is" } else { "are" };
        let failed = Failed::new(Exit::Input, "import/exists", format!("{} {verb} in {shown} already", there.join(", ")));
        return Err(failed.help("choose an empty folder with -C; nothing was written"));
    }
    if session.folder.join("../site.yaml").exists() {
        imported.files.retain(|(name, _)| *name != "site.yaml");
        imported.left.push("where Proxmox VE is: the site.yaml above the folder stays as it is, and counts".to_owned());
    }
    if folder.symlink_metadata(".gitignore").is_err() {
        imported.files.push((".gitignore", IGNORED.to_owned()));
    }
    Ok(folder)
}

/// Puts secrets into the cluster's own file, before anything refers to them.
fn keep(session: &Session<'_>, imported: &Imported) -> Result<(), Failed> {
    if imported.secrets.is_empty() {
        return Ok(());
    }
    let store = opening::secrets(session)?;
    for secret in &imported.secrets {
        let name = secret.name;
        let kept = store.put_if_absent(name, secret.value.as_bytes());
        let kept =
            kept.map_err(|error| Failed::new(Exit::Refused, "secrets/write", format!("cannot keep the secret `{name}`: {error}")))?;
        if kept.as_slice() != secret.value.as_bytes() {
            let warning = Diagnostic::warning("import/secret", format!("there is a secret `{name}` already, with another value; it stays"));
            session.ui.diagnostic(&warning.help(Some(format!("run `sops edit secrets.sops.yaml` if `{name}` should be the imported one"))));
        }
    }
    for note in store.take_notes() {
        session.ui.diagnostic(&note);
    }
    let made = store.made();
    if !made.is_empty() {
        session.ui.success(&format!("secrets.sops.yaml has {}", made.join(", ")));
        session.ui.event("secrets", json!({ "names": made }));
    }
    Ok(())
}

/// What a person has to look at.
fn tell(session: &Session<'_>, imported: &Imported) {
    for assumed in &imported.assumed {
        session.ui.diagnostic(&Diagnostic::note("import/assumed", format!("assumed {assumed}")));
    }
    for left in &imported.left {
        session.ui.diagnostic(&Diagnostic::warning("import/left", format!("not taken over: {left}")));
    }
}

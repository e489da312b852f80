//! Helm as a component: from nothing to a rendered Cilium, beside the real helm.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use emhost::capabilities::MemorySecrets;
use emhost::capabilities::events::MemoryEvents;
use emhost::charts::{Capabilities, Chart, Charts, Lent, SEED, Sources};
use emhost::plugins::{Cache, Runtime};
use emhost::redact::Redactor;

use crate::{Pair, Result, median};

const VALUES: &str = r#"{"kubeProxyReplacement": true, "hubble": {"tls": {"auto": {"method": "cronJob"}}, "relay": {"enabled": true}, "ui": {"enabled": true}}}"#;
const KUBERNETES: &str = "v1.34.1";
/// The longest that a rendered Cilium may take once Helm is compiled.
const BOUND: Duration = Duration::from_secs(2);

/// The section of the page; none, and a loud word, where the component or the oracles are not there.
pub async fn measure() -> Result<Option<(String, Vec<String>)>> {
    let component = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/helm/helm.wasm");
    let Some(helm) = emhost_oracles::program("helm-v4.3.1", "helm") else { return Ok(None) };
    let Some(chart) = emhost_oracles::file("charts/cilium-1.18/Chart.yaml", "charts") else { return Ok(None) };
    if !component.is_file() {
        emhost_oracles::skipped("Helm's component is not there; `cargo xtask helm` builds it");
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let cilium = folder.path().join("cilium");
    let copied = Command::new("cp").arg("-r").arg(chart.parent().unwrap_or(&chart)).arg(&cilium).status()?;
    if !copied.success() {
        return Err("the chart cannot be copied".into());
    }
    std::fs::write(folder.path().join("values.json"), VALUES)?;
    let started = Instant::now();
    render(folder.path(), &component).await?;
    let compiled = started.elapsed();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let started = Instant::now();
        render(folder.path(), &component).await?;
        ours.push(started.elapsed());
        let started = Instant::now();
        let output = Command::new(&helm)
            .args([
                "template",
                "cilium",
                "cilium",
                "--namespace",
                "kube-system",
                "--include-crds",
                "--kube-version",
                KUBERNETES,
                "-f",
                "values.json",
            ])
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .output()?;
        theirs.push(started.elapsed());
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
    }
    let pair =
        Pair { what: "Cilium 1.18, from the start to objects", first: ("component", median(ours)), second: ("helm", median(theirs)) };
    let text = format!(
        "## Charts\n\nHelm as a component is compiled once for a machine, here in {compiled:.1?}. Afterwards:\n\n| what | | | ratio |\n|---|---|---|---|\n{}\n",
        pair.row()
    );
    let slow = pair.first.1 > BOUND;
    let broken = slow.then(|| format!("a rendered Cilium takes {:.1?}, and {BOUND:?} is promised", pair.first.1));
    Ok(Some((text, broken.into_iter().collect())))
}

/// Everything that a run of emhost does for a chart: the sandbox, the compiled code, and the chart.
async fn render(folder: &Path, component: &Path) -> Result {
    let cache: PathBuf = folder.join("compiled");
    let runtime = Runtime::new(Some(Cache::open(&cache)?))?;
    let lent = Lent {
        sources: Sources { named: Some(component.to_owned()), ..Sources::default() },
        folder: folder.to_owned(),
        pins: std::collections::BTreeMap::new(),
        locked: false,
        secrets: Arc::new(MemorySecrets::default().with(SEED, &[7; 64])),
        redactor: Redactor::new(),
        events: Arc::new(MemoryEvents::default()),
    };
    let chart = Chart {
        release: "cilium".to_owned(),
        namespace: "kube-system".to_owned(),
        reference: "./cilium".to_owned(),
        version: String::new(),
        digest: None,
        values: VALUES.to_owned(),
    };
    let capabilities = Capabilities { kube_version: KUBERNETES.to_owned(), api_versions: Vec::new() };
    let rendered = Charts::new(&runtime, lent).render(&chart, &capabilities).await?;
    if rendered.manifests.is_empty() { Err("the chart made nothing".into()) } else { Ok(()) }
}

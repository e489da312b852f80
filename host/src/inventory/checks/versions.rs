//! Whether Talos and Kubernetes go together.

use super::Context;
use crate::diagnostic::Diagnostic;
use crate::inventory::findings::Findings;
use crate::inventory::values::release;

/// The Kubernetes minors that each Talos minor takes: Talos 1.N, Kubernetes 1.first to 1.last (`facts/talos.md §4.7`).
const SUPPORTED: [(u64, u64, u64); 7] = [(8, 26, 31), (9, 27, 32), (10, 28, 33), (11, 29, 34), (12, 30, 35), (13, 31, 36), (14, 32, 37)];

pub fn check(context: &Context<'_>, findings: &mut Findings) {
    let version = |text: &Option<String>| text.as_deref().and_then(release);
    let Some(talos) = version(&context.cluster.talos_version) else { return };
    let talos_place = context.cluster_value("/talos_version");
    let (oldest, newest) = (SUPPORTED[0].0, SUPPORTED[SUPPORTED.len() - 1].0);
    if talos.major > 1 || (talos.major == 1 && talos.minor > newest) {
        let summary = format!("Talos v{talos} is newer than this emhost knows, which is up to v1.{newest}");
        let help = "use a newer emhost, or go on at your own risk";
        return findings.push(Diagnostic::warning("version/talos", summary).help(Some(help)).at(talos_place));
    }
    if talos.major < 1 || talos.minor < oldest {
        let summary = format!("Talos v{talos} is older than emhost can install, which is from v1.{oldest}");
        return findings.push(Diagnostic::error("version/talos", summary).help(Some("choose a newer `talos_version`")).at(talos_place));
    }
    let Some(kubernetes) = version(&context.cluster.kubernetes_version) else { return };
    let Some((_, first, last)) = SUPPORTED.iter().find(|(minor, ..)| *minor == talos.minor) else { return };
    if kubernetes.major != 1 || !(*first..=*last).contains(&kubernetes.minor) {
        let summary = format!("Talos v{talos} does not run Kubernetes v{kubernetes}");
        let fits = |(_, first, last): &&(u64, u64, u64)| kubernetes.major == 1 && (*first..=*last).contains(&kubernetes.minor);
        let newer = SUPPORTED.iter().filter(fits).find(|(minor, ..)| *minor > talos.minor);
        let fitting = newer.or_else(|| SUPPORTED.iter().rfind(fits));
        let other = fitting.map(|(minor, ..)| format!(", or Talos v1.{minor}")).unwrap_or_default();
        let help = format!("choose Kubernetes v1.{first} to v1.{last}{other}");
        findings.push(Diagnostic::error("version/kubernetes", summary).help(Some(help)).at(context.cluster_value("/kubernetes_version")));
    }
}

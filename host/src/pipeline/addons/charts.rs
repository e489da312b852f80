//! Charts of an addon as objects. What a chart has for single moments is told and not run.

use serde_json::Value;

use super::super::run::Run;
use crate::charts::{Capabilities, Chart, Hook, Moment};
use crate::diagnostic::Diagnostic;
use crate::kube::object::Id;

/// How often a chart is tried to be had.
const TRIES: u32 = 3;

impl Run {
    /// The objects of a chart, definitions first.
    pub(super) async fn chart(&self, addon: &str, chart: &Chart, notes: &mut Vec<Diagnostic>) -> Result<Vec<Value>, Vec<Diagnostic>> {
        let Some(charts) = &self.charts else {
            let summary = format!("addon {addon} is chart {} {}, and nobody here renders charts", chart.reference, chart.version);
            return Err(vec![Diagnostic::error("addon/chart", summary)]);
        };
        let capabilities = Capabilities { kube_version: self.now.get().kubernetes_version.clone(), api_versions: Vec::new() };
        let mut attempt = 0;
        let rendered = loop {
            attempt += 1;
            match charts.render(chart, &capabilities).await {
                Ok(rendered) => break rendered,
                Err(error) if error.passing && attempt < TRIES => tokio::time::sleep(self.pause(attempt, None)).await,
                Err(error) => return Err(error.diagnostics),
            }
        };
        let hooks: Vec<String> = rendered.hooks.iter().filter(|hook| is_meant(hook)).map(title).collect();
        if !hooks.is_empty() {
            let summary = format!("addon {addon}: hooks of chart {} are not run: {}", rendered.chart, hooks.join(", "));
            let help = "if the addon does not work without them, choose values with which the chart needs none";
            notes.push(Diagnostic::warning("addon/hooks", summary).help(Some(help)));
        }
        Ok(rendered.manifests)
    }
}

/// Whether a hook is for a moment that an apply has: tests and removals are none.
fn is_meant(hook: &Hook) -> bool {
    let meant = [Moment::PreInstall, Moment::PostInstall, Moment::PreUpgrade, Moment::PostUpgrade];
    hook.events.iter().any(|moment| meant.contains(moment))
}

fn title(hook: &Hook) -> String {
    Id::of(&hook.object).map_or_else(|| "one without a name".to_owned(), |id| id.title())
}

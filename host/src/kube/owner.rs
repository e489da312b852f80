//! Who else has a say in an object: tools that keep a cluster as a repository says, and managers of single fields. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::client::Refused;
use super::object::{list, text};

/// The tool that an object was handed over to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Flux or Argo CD.
    pub tool: &'static str,
    /// What says so: a label, an annotation or a manager of fields.
    pub by: String,
}

/// Beginnings of the labels and annotations that these tools put on what they own.
const MARKS: [(&str, &str); 3] =
    [("kustomize.toolkit.fluxcd.io/", "Flux"), ("helm.toolkit.fluxcd.io/", "Flux"), ("argocd.argoproj.io/", "Argo CD")];
/// What these tools are called as managers of fields.
const MANAGERS: [(&str, &str); 4] = [
    ("kustomize-controller", "Flux"),
    ("helm-controller", "Flux"),
    ("argocd-controller", "Argo CD"),
    ("argocd-application-controller", "Argo CD"),
];
/// What is about the tool and not about whose an object is: how to sync it, whether to leave it alone, and what a Secret tells it.
const ADVICE: [&str; 6] = [
    "argocd.argoproj.io/sync-wave",
    "argocd.argoproj.io/sync-options",
    "argocd.argoproj.io/compare-options",
    "argocd.argoproj.io/hook",
    "argocd.argoproj.io/hook-delete-policy",
    "argocd.argoproj.io/secret-type",
];
/// Groups of kinds that are addressed to these tools: their controllers write into every one of them, whoever made it.
const ADDRESSED: [&str; 2] = ["toolkit.fluxcd.io/", "argoproj.io/"];

/// The tool that owns an object, if one does.
pub fn gitops(live: &Value) -> Option<Owner> {
    for part in ["labels", "annotations"] {
        let Some(all) = live.pointer(&format!("/metadata/{part}")).and_then(Value::as_object) else { continue };
        for (key, value) in all.iter().filter(|(key, _)| !ADVICE.contains(&key.as_str())) {
            // `reconcile: disabled` and the like say how Flux is to treat it, which is no claim either.
            let claim = |start: &str| key.starts_with(start) && !matches!(value.as_str(), Some("disabled" | "Disabled"));
            if let Some(&(_, tool)) = MARKS.iter().find(|(start, _)| claim(start)) {
                return Some(Owner { tool, by: format!("{} {key}", part.trim_end_matches('s')) });
            }
        }
    }
    if ADDRESSED.iter().any(|group| text(live, "/apiVersion").contains(group)) {
        return None;
    }
    // Who writes a status says how an object is, not what it should be.
    let wants = |entry: &Value| text(entry, "/subresource") != "status";
    let manager = |entry: &Value| MANAGERS.iter().find(|(name, _)| *name == text(entry, "/manager") && wants(entry));
    let &(name, tool) = list(live, "/metadata/managedFields").iter().find_map(manager)?;
    Some(Owner { tool, by: format!("field manager {name}") })
}

/// Fields that somebody else holds with other values, by who holds them.
pub fn conflicts(refused: &Refused) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for cause in refused.details.causes.iter().filter(|cause| cause.reason == "FieldManagerConflict") {
        // `conflict with "kubectl-edit" using apps/v1`: the name is what is between the first quotes.
        let name = cause.message.split('"').nth(1).unwrap_or(&cause.message);
        all.entry(name.to_owned()).or_default().push(cause.field.clone());
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kube::client::{CauseOf, Details};

    #[test]
    fn what_flux_or_argo_own_is_theirs() {
        let tool = |value: Value| gitops(&value).map(|owner| (owner.tool, owner.by));
        assert_eq!(tool(json!({"metadata": {"labels": {"app.kubernetes.io/instance": "x"}}})), None);
        let flux = json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/name": "apps"}}});
        assert_eq!(tool(flux), Some(("Flux", "label kustomize.toolkit.fluxcd.io/name".to_owned())));
        let argo = json!({"metadata": {"annotations": {"argocd.argoproj.io/tracking-id": "x"}}});
        assert_eq!(tool(argo), Some(("Argo CD", "annotation argocd.argoproj.io/tracking-id".to_owned())));
        let managed = json!({"metadata": {"managedFields": [{"manager": "emhost"}, {"manager": "helm-controller"}]}});
        assert_eq!(tool(managed), Some(("Flux", "field manager helm-controller".to_owned())));
        // Nor is what its controllers write into everything.
        let status = json!({"metadata": {"managedFields": [{"manager": "helm-controller", "subresource": "status"}]}});
        assert_eq!(tool(status), None);
        let addressed =
            json!({"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "metadata": {"managedFields": [{"manager": "kustomize-controller"}]}});
        assert_eq!(tool(addressed), None);
        let repository = json!({"metadata": {"labels": {"argocd.argoproj.io/secret-type": "repository"}}});
        assert_eq!(tool(repository), None);
        // Advice to a tool is no claim of it.
        for key in ["argocd.argoproj.io/sync-wave", "kustomize.toolkit.fluxcd.io/reconcile"] {
            assert_eq!(tool(json!({"metadata": {"annotations": {key: "disabled"}}})), None, "{key}");
        }
    }

    #[test]
    fn conflicts_name_who_and_what() {
        let cause = |message: &str, field: &str| CauseOf {
            reason: "FieldManagerConflict".to_owned(),
            message: message.to_owned(),
            field: field.to_owned(),
        };
        let causes = vec![
            cause("conflict with \"kubectl-edit\" using apps/v1", ".spec.replicas"),
            cause("conflict with \"kubectl-edit\" using apps/v1", ".metadata.labels.a"),
            cause("conflict with \"hpa\" with subresource \"scale\" using apps/v1", ".spec.replicas"),
            CauseOf::default(),
        ];
        let refused = Refused { details: Details { causes, ..Details::default() }, ..Refused::default() };
        let told: Vec<(String, Vec<String>)> = conflicts(&refused).into_iter().collect();
        let fields = |all: &[&str]| all.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            told,
            [
                ("hpa".to_owned(), fields(&[".spec.replicas"])),
                ("kubectl-edit".to_owned(), fields(&[".spec.replicas", ".metadata.labels.a"]))
            ]
        );
    }
}

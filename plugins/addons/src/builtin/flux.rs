//! Flux: from then on the cluster follows a repository.

use emhost_sdk::addon::Stage;
use serde_json::{Value, json};

use super::{Asked, Builtin, Source, Turn};
use crate::manifest::{Freedom, deployment, document, namespace, secret, stage};
use crate::settings::Repository;
use crate::site::Site;
use crate::values::is_on;

const NAME: &str = "flux";
const NAMESPACE: &str = "flux-system";
const CHART: Source = Source { reference: "oci://ghcr.io/fluxcd-community/charts/flux2", version: "2.18.3" };
const AGE: &str = "sops-age";
const ACCESS: &str = "flux-system";

/// The controllers by the chart's word for them; those of images are left out, as Flux itself does.
const CONTROLLERS: [(&str, &str, bool); 6] = [
    ("sourceController", "source-controller", true),
    ("kustomizeController", "kustomize-controller", true),
    ("helmController", "helm-controller", true),
    ("notificationController", "notification-controller", true),
    ("imageAutomationController", "image-automation-controller", false),
    ("imageReflectionController", "image-reflector-controller", false),
];

pub struct Flux;

impl Builtin for Flux {
    fn name(&self) -> &'static str {
        NAME
    }

    fn turn(&self) -> Turn {
        Turn::Gitops
    }

    fn chart(&self, _: &Site) -> Option<Source> {
        Some(CHART)
    }

    fn render(&self, asked: &Asked<'_>) -> Vec<Stage> {
        let ours = CONTROLLERS.iter().map(|(word, _, on)| ((*word).to_owned(), json!({"create": on}))).collect();
        let values = asked.values(Value::Object(ours));
        let mut controllers = stage(NAME);
        controllers.manifests.push(document(&namespace(NAMESPACE, Freedom::Usual)));
        controllers.charts.push(asked.chart(CHART, "flux2", NAMESPACE, &values));
        let on = CONTROLLERS.iter().filter(|(word, ..)| is_on(&values, &format!("/{word}/create")));
        controllers.waits = on.map(|(_, name, _)| deployment(NAMESPACE, name)).collect();
        let mut stages = vec![controllers];

        let settings = &asked.settings.flux;
        let mut follows = stage("flux-repository");
        let age = settings.age_key.as_deref();
        // The name ends as Flux expects it of keys of age.
        follows.manifests.extend(age.map(|key| document(&secret(NAMESPACE, AGE, &[("age.agekey", key)]))));
        if let Some(repository) = &settings.repository {
            follows.manifests.extend(access(repository).iter().map(document));
            follows.manifests.extend(objects(repository, age.is_some()).iter().map(document));
        }
        if !follows.manifests.is_empty() {
            stages.push(follows);
        }
        stages
    }
}

/// What Flux reads the repository with, if anything is needed for that.
fn access(repository: &Repository) -> Option<Value> {
    let mut secret = match (&repository.password, &repository.identity) {
        (Some(password), _) => secret(NAMESPACE, ACCESS, &[("password", password)]),
        (None, Some(identity)) => secret(NAMESPACE, ACCESS, &[("identity", identity)]),
        (None, None) => return None,
    };
    if repository.password.is_some() {
        secret["stringData"]["username"] = json!(repository.username);
    } else if let Some(keys) = &repository.known_hosts {
        secret["stringData"]["known_hosts"] = json!(keys);
    }
    Some(secret)
}

fn objects(repository: &Repository, encrypted: bool) -> [Value; 2] {
    let named = json!({"name": NAMESPACE, "namespace": NAMESPACE});
    let mut source = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": named,
        "spec": {"interval": "1m0s", "url": repository.url, "ref": {"branch": repository.branch}},
    });
    if access(repository).is_some() {
        source["spec"]["secretRef"] = json!({"name": ACCESS});
    }
    let mut follows = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": named,
        "spec": {
            "interval": "10m0s",
            "path": repository.path,
            "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": NAMESPACE},
        },
    });
    if encrypted {
        follows["spec"]["decryption"] = json!({"provider": "sops", "secretRef": {"name": AGE}});
    }
    [source, follows]
}

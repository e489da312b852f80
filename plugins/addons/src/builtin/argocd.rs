//! Argo CD: from then on the cluster follows a repository.

use emhost_sdk::addon::Stage;
use serde_json::{Value, json};

use super::{Asked, Builtin, Source, Turn};
use crate::manifest::{Freedom, deployment, document, namespace, secret, stage, stateful_set};
use crate::settings::Repository;
use crate::site::Site;

const NAME: &str = "argocd";
const CHART: Source = Source { reference: "oci://ghcr.io/argoproj/argo-helm/argo-cd", version: "10.1.1" };
/// The password of its Redis, which the chart would have a job make up.
const REDIS: &str = "argocd_redis_password";

pub struct Argocd;

impl Builtin for Argocd {
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
        let settings = &asked.settings.argocd;
        let mut ours = json!({"redisSecretInit": {"enabled": false}});
        if let Some(keys) = settings.repository.as_ref().and_then(|repository| repository.known_hosts.as_ref()) {
            ours["configs"] = json!({"ssh": {"extraHosts": keys}});
        }
        let mut server = stage(NAME);
        server.manifests.push(document(&namespace(NAME, Freedom::Usual)));
        server.manifests.push(document(&secret(NAME, "argocd-redis", &[("auth", REDIS)])));
        let age = settings.age_key.as_deref();
        server.manifests.extend(age.map(|key| document(&secret(NAME, "sops-age", &[("age.agekey", key)]))));
        server.charts.push(asked.chart(CHART, NAME, NAME, &asked.values(ours)));
        server.waits = ["argocd-server", "argocd-repo-server", "argocd-redis"].map(|name| deployment(NAME, name)).to_vec();
        server.waits.push(stateful_set(NAME, "argocd-application-controller"));
        let mut stages = vec![server];
        if let Some(repository) = &settings.repository {
            let mut follows = stage("argocd-repository");
            follows.manifests.extend(access(repository).iter().map(document));
            follows.manifests.push(document(&application(repository)));
            stages.push(follows);
        }
        stages
    }
}

/// What Argo CD reads the repository with, if anything is needed for that.
fn access(repository: &Repository) -> Option<Value> {
    let mut secret = match (&repository.password, &repository.identity) {
        (Some(password), _) => secret(NAME, "cluster-repository", &[("password", password)]),
        (None, Some(identity)) => secret(NAME, "cluster-repository", &[("sshPrivateKey", identity)]),
        (None, None) => return None,
    };
    secret["metadata"]["labels"] = json!({"argocd.argoproj.io/secret-type": "repository"});
    secret["stringData"]["type"] = json!("git");
    secret["stringData"]["url"] = json!(repository.url);
    if repository.password.is_some() {
        secret["stringData"]["username"] = json!(repository.username);
    }
    Some(secret)
}

fn application(repository: &Repository) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "cluster", "namespace": NAME},
        "spec": {
            "project": "default",
            "source": {"repoURL": repository.url, "targetRevision": repository.branch, "path": repository.path},
            "destination": {"server": "https://kubernetes.default.svc"},
            "syncPolicy": {"automated": {"prune": true, "selfHeal": true}},
        },
    })
}

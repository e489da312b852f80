//! The kinds every cluster has.

use std::sync::Arc;

use super::{Resource, ScalePaths};

/// One kind a line: group (`-` for core), version, plural, kind, scope, short names, categories, subresources.
const TABLE: &str = "
- v1 bindings Binding n - - create
- v1 configmaps ConfigMap n cm - -
- v1 endpoints Endpoints n ep - -
- v1 events Event n ev - -
- v1 limitranges LimitRange n limits - -
- v1 namespaces Namespace c ns - status,finalize
- v1 nodes Node c no - status,proxy
- v1 persistentvolumeclaims PersistentVolumeClaim n pvc - status
- v1 persistentvolumes PersistentVolume c pv - status
- v1 pods Pod n po all status,log,eviction,binding,exec,attach,portforward,proxy,ephemeralcontainers,resize
- v1 podtemplates PodTemplate n - - -
- v1 replicationcontrollers ReplicationController n rc all status,scale
- v1 resourcequotas ResourceQuota n quota - status
- v1 secrets Secret n - - -
- v1 serviceaccounts ServiceAccount n sa - token
- v1 services Service n svc all status,proxy
admissionregistration.k8s.io v1 mutatingwebhookconfigurations MutatingWebhookConfiguration c - api-extensions -
admissionregistration.k8s.io v1 validatingadmissionpolicies ValidatingAdmissionPolicy c - api-extensions status
admissionregistration.k8s.io v1 validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding c - api-extensions -
admissionregistration.k8s.io v1 validatingwebhookconfigurations ValidatingWebhookConfiguration c - api-extensions -
apiextensions.k8s.io v1 customresourcedefinitions CustomResourceDefinition c crd,crds api-extensions status
apiregistration.k8s.io v1 apiservices APIService c - api-extensions status
apps v1 controllerrevisions ControllerRevision n - - -
apps v1 daemonsets DaemonSet n ds all status
apps v1 deployments Deployment n deploy all status,scale
apps v1 replicasets ReplicaSet n rs all status,scale
apps v1 statefulsets StatefulSet n sts all status,scale
authentication.k8s.io v1 selfsubjectreviews SelfSubjectReview c - - create
authentication.k8s.io v1 tokenreviews TokenReview c - - create
authorization.k8s.io v1 localsubjectaccessreviews LocalSubjectAccessReview n - - create
authorization.k8s.io v1 selfsubjectaccessreviews SelfSubjectAccessReview c - - create
authorization.k8s.io v1 selfsubjectrulesreviews SelfSubjectRulesReview c - - create
authorization.k8s.io v1 subjectaccessreviews SubjectAccessReview c - - create
autoscaling v2 horizontalpodautoscalers HorizontalPodAutoscaler n hpa all status
autoscaling v1 horizontalpodautoscalers HorizontalPodAutoscaler n hpa all status
batch v1 cronjobs CronJob n cj all status
batch v1 jobs Job n - all status
certificates.k8s.io v1 certificatesigningrequests CertificateSigningRequest c csr - status,approval
coordination.k8s.io v1 leases Lease n - - -
discovery.k8s.io v1 endpointslices EndpointSlice n - - -
events.k8s.io v1 events Event n ev - -
flowcontrol.apiserver.k8s.io v1 flowschemas FlowSchema c - - status
flowcontrol.apiserver.k8s.io v1 prioritylevelconfigurations PriorityLevelConfiguration c - - status
networking.k8s.io v1 ingressclasses IngressClass c - - -
networking.k8s.io v1 ingresses Ingress n ing - status
networking.k8s.io v1 ipaddresses IPAddress c ip - -
networking.k8s.io v1 networkpolicies NetworkPolicy n netpol - -
networking.k8s.io v1 servicecidrs ServiceCIDR c - - status
node.k8s.io v1 runtimeclasses RuntimeClass c - - -
policy v1 poddisruptionbudgets PodDisruptionBudget n pdb - status
rbac.authorization.k8s.io v1 clusterrolebindings ClusterRoleBinding c - - -
rbac.authorization.k8s.io v1 clusterroles ClusterRole c - - -
rbac.authorization.k8s.io v1 rolebindings RoleBinding n - - -
rbac.authorization.k8s.io v1 roles Role n - - -
scheduling.k8s.io v1 priorityclasses PriorityClass c pc - -
storage.k8s.io v1 csidrivers CSIDriver c - - -
storage.k8s.io v1 csinodes CSINode c - - -
storage.k8s.io v1 csistoragecapacities CSIStorageCapacity n - - -
storage.k8s.io v1 storageclasses StorageClass c sc - -
storage.k8s.io v1 volumeattachments VolumeAttachment c - - status
storage.k8s.io v1 volumeattributesclasses VolumeAttributesClass c vac - -
";

pub(super) fn resources() -> Vec<Arc<Resource>> {
    TABLE.lines().filter_map(line).map(Arc::new).collect()
}

fn line(text: &str) -> Option<Resource> {
    let mut words = text.split_whitespace();
    let group = words.next()?.trim_start_matches('-').to_owned();
    let (version, plural, kind) = (words.next()?, words.next()?, words.next()?);
    let namespaced = words.next()? == "n";
    let mut names = || -> Vec<String> { words.next().unwrap_or("-").split(',').filter(|word| *word != "-").map(str::to_owned).collect() };
    let (nicknames, categories, subresources) = (names(), names(), names());
    let only_create = subresources.iter().any(|one| one == "create");
    // Events are the same objects in both of their groups.
    let sort = if group.is_empty() || plural == "events" { plural.to_owned() } else { format!("{plural}.{group}") };
    let scale = subresources.iter().any(|one| one == "scale").then(|| ScalePaths {
        wanted: "/spec/replicas".to_owned(),
        actual: "/status/replicas".to_owned(),
        selector: None,
    });
    Some(Resource {
        sort: sort.into(),
        group,
        version: version.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        namespaced,
        short: nicknames,
        categories,
        subresources: if only_create { Vec::new() } else { subresources },
        scale,
        only_create,
        custom: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_kind() {
        let all = resources();
        assert_eq!(all.len(), TABLE.lines().filter(|line| !line.is_empty()).count());
        let deployment = all.iter().find(|one| one.kind == "Deployment").unwrap();
        assert_eq!((&*deployment.sort, deployment.api_version().as_str()), ("deployments.apps", "apps/v1"));
        assert!(deployment.has("scale") && deployment.namespaced);
        let pod = all.iter().find(|one| one.kind == "Pod").unwrap();
        assert_eq!((pod.api_version().as_str(), pod.short.as_slice()), ("v1", ["po".to_owned()].as_slice()));
    }
}

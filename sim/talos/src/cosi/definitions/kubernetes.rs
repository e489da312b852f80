//! Kubernetes and etcd on the node.

use super::{Definition, row};

pub(super) const TABLE: &[Definition] = &[
    row("APIServerConfigs.kubernetes.talos.dev", "APIServerConfig", "controlplane"),
    row("AdmissionControlConfigs.kubernetes.talos.dev", "AdmissionControlConfig", "controlplane"),
    row("AuditPolicyConfigs.kubernetes.talos.dev", "AuditPolicyConfig", "controlplane").sensitive(),
    row("AuthorizationConfigs.kubernetes.talos.dev", "AuthorizationConfig", "controlplane").since(9),
    row("BootstrapManifestsConfigs.kubernetes.talos.dev", "BootstrapManifestsConfig", "controlplane"),
    row("ConfigStatuses.kubernetes.talos.dev", "ConfigStatus", "controlplane")
        .columns(&[("Ready", "{.ready}"), ("Secrets Version", "{.version}")]),
    row("ControllerManagerConfigs.kubernetes.talos.dev", "ControllerManagerConfig", "controlplane"),
    row("Endpoints.kubernetes.talos.dev", "Endpoint", "controlplane").columns(&[("Addresses", "{.addresses}")]),
    row("EtcdConfigs.etcd.talos.dev", "EtcdConfig", "etcd").columns(&[("Image", "{.image}")]),
    row("EtcdMembers.etcd.talos.dev", "EtcdMember", "etcd").columns(&[("Member ID", "{.memberID}")]),
    row("EtcdSpecs.etcd.talos.dev", "EtcdSpec", "etcd").columns(&[
        ("Name", "{.name}"),
        ("AdvertisedAddresses", "{.advertisedAddresses}"),
        ("ListenPeerAddresses", "{.listenPeerAddresses}"),
        ("ListenClientAddresses", "{.listenClientAddresses}"),
    ]),
    row("ExtraManifestsConfigs.kubernetes.talos.dev", "ExtraManifestsConfig", "controlplane"),
    row("KubePrismConfigs.kubernetes.talos.dev", "KubePrismConfig", "k8s").columns(&[
        ("Host", "{.host}"),
        ("Port", "{.port}"),
        ("Endpoints", "{.endpoints}"),
    ]),
    row("KubePrismEndpoints.kubernetes.talos.dev", "KubePrismEndpoint", "k8s")
        .columns(&[("Hosts", "{.endpoints[*].host}"), ("Ports", "{.endpoints[*].port}")]),
    row("KubePrismStatuses.kubernetes.talos.dev", "KubePrismStatus", "k8s").columns(&[("HOST", "{.host}"), ("HEALTHY", "{.healthy}")]),
    row("KubeletConfigs.kubernetes.talos.dev", "KubeletConfig", "k8s"),
    row("KubeletKubeconfigs.kubernetes.talos.dev", "KubeletKubeconfig", "k8s").columns(&[("Hash", "{.hash}")]).since(13),
    row("KubeletLifecycles.kubernetes.talos.dev", "KubeletLifecycle", "k8s"),
    row("KubeletSpecs.kubernetes.talos.dev", "KubeletSpec", "k8s"),
    row("ManifestStatuses.kubernetes.talos.dev", "ManifestStatus", "controlplane"),
    row("Manifests.kubernetes.talos.dev", "Manifest", "controlplane"),
    row("NodeAnnotationSpecs.k8s.talos.dev", "NodeAnnotationSpec", "k8s").columns(&[("Value", "{.value}")]).sensitive(),
    row("NodeCordonedSpecs.k8s.talos.dev", "NodeCordonedSpec", "k8s").sensitive(),
    row("NodeIPConfigs.kubernetes.talos.dev", "NodeIPConfig", "k8s"),
    row("NodeIPs.kubernetes.talos.dev", "NodeIP", "k8s"),
    row("NodeLabelSpecs.k8s.talos.dev", "NodeLabelSpec", "k8s").columns(&[("Value", "{.value}")]).sensitive(),
    row("NodeStatuses.kubernetes.talos.dev", "NodeStatus", "k8s")
        .columns(&[("Ready", "{.nodeReady}"), ("Unschedulable", "{.unschedulable}")]),
    row("NodeTaintSpecs.k8s.talos.dev", "NodeTaintSpec", "k8s").columns(&[("Effect", "{.effect}"), ("Value", "{.value}")]).sensitive(),
    row("Nodenames.kubernetes.talos.dev", "Nodename", "k8s").columns(&[("Nodename", "{.nodename}")]),
    row("PKIStatuses.etcd.talos.dev", "PKIStatus", "etcd").columns(&[("Ready", "{.ready}"), ("Secrets Version", "{.version}")]),
    row("SchedulerConfigs.kubernetes.talos.dev", "SchedulerConfig", "controlplane"),
    row("SecretStatuses.kubernetes.talos.dev", "SecretStatus", "controlplane")
        .columns(&[("Ready", "{.ready}"), ("Secrets Version", "{.version}")]),
    row("StaticPodServerStatuses.kubernetes.talos.dev", "StaticPodServerStatus", "k8s"),
    row("StaticPodStatuses.kubernetes.talos.dev", "StaticPodStatus", "k8s")
        .aliases(&["podstatus"])
        .columns(&[("Ready", "{.conditions[?(@.type==\"Ready\")].status}")]),
    row("StaticPods.kubernetes.talos.dev", "StaticPod", "k8s"),
];

//! The cluster, and the node's configuration.

use super::{Definition, row};

pub(super) const TABLE: &[Definition] = &[
    row("Affiliates.cluster.talos.dev", "Affiliate", "cluster").columns(&[
        ("Hostname", "{.hostname}"),
        ("Machine Type", "{.machineType}"),
        ("Addresses", "{.addresses}"),
    ]),
    row("DiscoveryConfigs.cluster.talos.dev", "DiscoveryConfig", "config").sensitive(),
    row("Identities.cluster.talos.dev", "Identity", "cluster").columns(&[("ID", "{.nodeId}")]),
    row("Infos.cluster.talos.dev", "Info", "cluster").columns(&[("Cluster ID", "{.clusterId}"), ("Cluster Name", "{.clusterName}")]),
    row("KubeSpanConfigs.kubespan.talos.dev", "KubeSpanConfig", "config").sensitive(),
    row("KubeSpanEndpoints.kubespan.talos.dev", "KubeSpanEndpoint", "kubespan")
        .columns(&[("Endpoint", "{.endpoint}"), ("Affiliate ID", "{.affiliateID}")]),
    row("KubeSpanIdentities.kubespan.talos.dev", "KubeSpanIdentity", "kubespan")
        .columns(&[("Address", "{.address}"), ("PublicKey", "{.publicKey}")])
        .sensitive(),
    row("KubeSpanPeerSpecs.kubespan.talos.dev", "KubeSpanPeerSpec", "kubespan")
        .columns(&[("Label", "{.label}"), ("Endpoints", "{.endpoints}")]),
    row("KubeSpanPeerStatuses.kubespan.talos.dev", "KubeSpanPeerStatus", "kubespan").columns(&[
        ("Label", "{.label}"),
        ("Endpoint", "{.endpoint}"),
        ("State", "{.state}"),
        ("Rx", "{.receiveBytes}"),
        ("Tx", "{.transmitBytes}"),
    ]),
    row("KubernetesAccessConfigs.cluster.talos.dev", "KubernetesAccessConfig", "config"),
    row("MachineConfigs.config.talos.dev", "MachineConfig", "config").sensitive(),
    row("MachineTypes.config.talos.dev", "MachineType", "config").columns(&[("Type", "{@}")]),
    row("Members.cluster.talos.dev", "Member", "cluster").columns(&[
        ("Hostname", "{.hostname}"),
        ("Machine Type", "{.machineType}"),
        ("OS", "{.operatingSystem}"),
        ("Addresses", "{.addresses}"),
    ]),
    row("SiderolinkConfigs.siderolink.talos.dev", "SiderolinkConfig", "config")
        .columns(&[("API Endpoint", "{.apiEndpoint}"), ("Tunnel", "{.tunnel}")])
        .sensitive(),
    row("SiderolinkStatuses.siderolink.talos.dev", "SiderolinkStatus", "config")
        .columns(&[("Host", "{.host}"), ("Connected", "{.connected}")]),
    row("SiderolinkTunnels.siderolink.talos.dev", "SiderolinkTunnel", "config")
        .columns(&[("API Endpoint", "{.apiEndpoint}"), ("Link name", "{.linkName}"), ("MTU", "{.mtu}"), ("Node address", "{.nodeAddress}")])
        .sensitive(),
];

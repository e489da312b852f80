//! Links, addresses, routes and names.

use super::{Definition, row};

pub(super) const TABLE: &[Definition] = &[
    row("AddressSpecs.net.talos.dev", "AddressSpec", "network"),
    row("AddressStatuses.net.talos.dev", "AddressStatus", "network")
        .aliases(&["address", "addresses"])
        .columns(&[("Address", "{.address}"), ("Link", "{.linkName}")]),
    row("DNSResolveCaches.net.talos.dev", "DNSResolveCach", "network").columns(&[("Status", "{.status}")]),
    row("DNSUpstreams.net.talos.dev", "DNSUpstream", "network").columns(&[("Healthy", "{.healthy}"), ("Address", "{.addr}")]),
    row("DeviceConfigSpecs.net.talos.dev", "DeviceConfigSpec", "network").sensitive(),
    row("EthernetSpecs.net.talos.dev", "EthernetSpec", "network").since(10),
    row("EthernetStatuses.net.talos.dev", "EthernetStatus", "network")
        .aliases(&["ethtool"])
        .columns(&[("Link", "{.linkState}"), ("Speed", "{.speedMbit}")])
        .since(10),
    row("HardwareAddresses.net.talos.dev", "HardwareAddress", "network"),
    row("HostDNSConfigs.net.talos.dev", "HostDNSConfig", "network").columns(&[("Enabled", "{.enabled}")]),
    row("HostnameSpecs.net.talos.dev", "HostnameSpec", "network"),
    row("HostnameStatuses.net.talos.dev", "HostnameStatus", "network")
        .aliases(&["hostname"])
        .columns(&[("Hostname", "{.hostname}"), ("Domainname", "{.domainname}")]),
    row("LinkAliasSpecs.net.talos.dev", "LinkAliasSpec", "network").columns(&[("Alias", "{.alias}")]).since(12),
    row("LinkRefreshes.net.talos.dev", "LinkRefresh", "network"),
    row("LinkSpecs.net.talos.dev", "LinkSpec", "network").sensitive(),
    row("LinkStatuses.net.talos.dev", "LinkStatus", "network").aliases(&["link", "links"]).columns(&[
        ("Alias", "{.alias}"),
        ("Type", "{.type}"),
        ("Kind", "{.kind}"),
        ("Hw Addr", "{.hardwareAddr}"),
        ("Oper State", "{.operationalState}"),
        ("Link State", "{.linkState}"),
    ]),
    row("NetworkStatuses.net.talos.dev", "NetworkStatus", "network").aliases(&["netstatus", "netstatuses"]).columns(&[
        ("Address", "{.addressReady}"),
        ("Connectivity", "{.connectivityReady}"),
        ("Hostname", "{.hostnameReady}"),
        ("Etc", "{.etcFilesReady}"),
    ]),
    row("NfTablesChains.net.talos.dev", "NfTablesChain", "network").aliases(&["chain", "chains"]).columns(&[
        ("Type", "{.type}"),
        ("Hook", "{.hook}"),
        ("Priority", "{.priority}"),
        ("Policy", "{.policy}"),
    ]),
    row("NodeAddressFilters.net.talos.dev", "NodeAddressFilter", "network")
        .columns(&[("Include Subnets", "{.includeSubnets}"), ("Exclude Subnets", "{.excludeSubnets}")]),
    row("NodeAddressSortAlgorithms.net.talos.dev", "NodeAddressSortAlgorithm", "network")
        .columns(&[("Algorithm", "{.algorithm}")])
        .since(9),
    row("NodeAddresses.net.talos.dev", "NodeAddress", "network")
        .columns(&[("Addresses", "{.addresses}"), ("SortAlgorithm", "{.sortAlgorithm}")]),
    row("OperatorSpecs.net.talos.dev", "OperatorSpec", "network").sensitive(),
    row("PlatformConfigs.net.talos.dev", "PlatformConfig", "network").since(12),
    row("ProbeSpecs.net.talos.dev", "ProbeSpec", "network"),
    row("ProbeStatuses.net.talos.dev", "ProbeStatus", "network").aliases(&["probe", "probes"]).columns(&[("Success", "{.success}")]),
    row("ResolverSpecs.net.talos.dev", "ResolverSpec", "network").columns(&[
        ("Layer", "{.layer}"),
        ("Resolvers", "{.dnsServers}"),
        ("Search Domains", "{.searchDomains}"),
    ]),
    row("ResolverStatuses.net.talos.dev", "ResolverStatus", "network")
        .aliases(&["resolvers"])
        .columns(&[("Resolvers", "{.dnsServers}"), ("Search Domains", "{.searchDomains}")]),
    row("RouteSpecs.net.talos.dev", "RouteSpec", "network"),
    row("RouteStatuses.net.talos.dev", "RouteStatus", "network").aliases(&["route", "routes"]).columns(&[
        ("Destination", "{.dst}"),
        ("Gateway", "{.gateway}"),
        ("Link", "{.outLinkName}"),
        ("Metric", "{.priority}"),
    ]),
    row("RoutingRuleSpecs.net.talos.dev", "RoutingRuleSpec", "network").since(13),
    row("RoutingRuleStatuses.net.talos.dev", "RoutingRuleStatus", "network")
        .aliases(&["routingrule", "routingrules"])
        .columns(&[("Src", "{.src}"), ("Dst", "{.dst}"), ("Table", "{.table}"), ("Priority", "{.priority}")])
        .since(13),
    row("TimeServerSpecs.net.talos.dev", "TimeServerSpec", "network"),
    row("TimeServerStatuses.net.talos.dev", "TimeServerStatus", "network")
        .aliases(&["timeserver", "timeservers"])
        .columns(&[("Timeservers", "{.timeServers}")]),
];

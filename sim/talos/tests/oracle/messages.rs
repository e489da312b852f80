//! Whether our messages carry everything that Talos puts into its resources.

use std::collections::BTreeSet;

use emhost_talos_api::cosi::{ListRequest, ListResponse};
use emhost_talos_api::definitions::{block, config, k8s, network, runtime, secrets, time};
use emhost_talos_api::methods::cosi;
use prost::Message;

use super::super::client::Client;
use super::seen::split;
use super::{Secrets, Target};

type Again = fn(&[u8]) -> Vec<u8>;

/// Types of resources that `oraclenode` has, with our message of each.
const TYPES: [(&str, &str, Again); 15] = [
    ("MachineStatuses.runtime.talos.dev", "runtime", again::<runtime::MachineStatusSpec>),
    ("Disks.block.talos.dev", "runtime", again::<block::DiskSpec>),
    ("VolumeStatuses.block.talos.dev", "runtime", again::<block::VolumeStatusSpec>),
    ("HostnameStatuses.net.talos.dev", "network", again::<network::HostnameStatusSpec>),
    ("NodeAddresses.net.talos.dev", "network", again::<network::NodeAddressSpec>),
    ("NetworkStatuses.net.talos.dev", "network", again::<network::StatusSpec>),
    ("TimeStatuses.v1alpha1.talos.dev", "runtime", again::<time::StatusSpec>),
    ("MachineConfigs.config.talos.dev", "config", again::<config::MachineConfigSpec>),
    ("MachineTypes.config.talos.dev", "config", again::<config::MachineTypeSpec>),
    ("OSRootSecrets.secrets.talos.dev", "secrets", again::<secrets::OsRootSpec>),
    ("KubernetesRootSecrets.secrets.talos.dev", "secrets", again::<secrets::KubernetesRootSpec>),
    ("EtcdRootSecrets.secrets.talos.dev", "secrets", again::<secrets::EtcdRootSpec>),
    ("ApiCertificates.secrets.talos.dev", "secrets", again::<secrets::ApiCertsSpec>),
    ("CertSANs.secrets.talos.dev", "secrets", again::<secrets::CertSanSpec>),
    ("Endpoints.kubernetes.talos.dev", "controlplane", again::<k8s::EndpointSpec>),
];

fn again<M: Message + Default>(bytes: &[u8]) -> Vec<u8> {
    M::decode(bytes).unwrap().encode_to_vec()
}

/// Reads every resource of a configured node with our messages and writes it again: nothing may be missing.
pub async fn carried_over(target: &Target, secrets: &Secrets) {
    let admin = Client::connect(target.address, Some(secrets.client(&["os:admin"]))).await.unwrap();
    let fields = |bytes: &[u8]| split(bytes).into_iter().map(|(field, _)| field).collect::<BTreeSet<_>>();
    for (kind, namespace, again) in TYPES {
        let request = ListRequest { namespace: namespace.to_owned(), r#type: kind.to_owned(), options: None };
        let outcome = admin.call(cosi::LIST, &[], &[request.encode_to_vec()]).await.unwrap();
        assert!(outcome.code == Some(0) && !outcome.messages.is_empty(), "{kind}: {outcome:?}");
        for message in outcome.messages {
            let spec = ListResponse::decode(message).unwrap().resource.unwrap().spec.unwrap();
            assert_eq!(fields(&again(&spec.proto_spec)), fields(&spec.proto_spec), "{kind}: {}", spec.yaml_spec);
        }
    }
}

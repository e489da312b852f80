//! Certificates of a node, and the configurations it hands out to clients.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use emhost_sim_kit::Network;
use emhost_sim_kit::certificates::{self, Algorithm, Authority, CertificateError, Identity, Subject};
use emhost_talos_api::machine;
use rustls::pki_types::CertificateDer;

use super::Node;
use super::files::{gzip, header};
use super::settings::Settings;
use crate::wire::{Code, Status};

const DAY: Duration = Duration::from_hours(24);
const YEAR: Duration = Duration::from_hours(8760);

/// The roles there are.
const ROLES: [&str; 7] =
    ["os:admin", "os:operator", "os:reader", "os:etcd:backup", "os:impersonator", "os:image:verifier", "os:meta:writer"];

/// The certificate of a node that has none yet. Nobody is served with it.
pub(crate) fn nobody() -> Arc<Identity> {
    static ONE: OnceLock<Arc<Identity>> = OnceLock::new();
    ONE.get_or_init(|| {
        let empty = || Identity { certificate: CertificateDer::from(Vec::new()), key: Vec::new(), algorithm: Algorithm::Ed25519 };
        Arc::new(maintenance("", &[]).unwrap_or_else(|_| empty()))
    })
    .clone()
}

/// A certificate that nobody knows, for a node without configuration.
pub(crate) fn maintenance(hostname: &str, addresses: &[Ipv4Addr]) -> Result<Identity, CertificateError> {
    let authority = Authority::generate(Algorithm::Ed25519, "", "talos", DAY)?;
    let subject = Subject {
        organizations: vec!["maintenance".to_owned()],
        names: name(hostname),
        addresses: addresses.iter().copied().map(IpAddr::from).collect(),
        server: true,
        client: false,
        ..Subject::default()
    };
    authority.issue(Algorithm::Ed25519, &subject, DAY)
}

fn name(hostname: &str) -> Vec<String> {
    if hostname.is_empty() { Vec::new() } else { vec![hostname.to_owned()] }
}

/// Every address in both of its forms, and the additional names sorted into names and addresses.
fn names(network: Network, hostname: &str, addresses: &[Ipv4Addr], additional: &[String]) -> (Vec<String>, Vec<IpAddr>) {
    let mut names = name(hostname);
    let mut all: Vec<IpAddr> = Vec::new();
    let mut add = |address: IpAddr| {
        let forms = match address {
            IpAddr::V4(address) => vec![address.into(), network.dial(address).into()],
            IpAddr::V6(_) => vec![address],
        };
        for form in forms {
            if !all.contains(&form) {
                all.push(form);
            }
        }
    };
    for address in addresses {
        add((*address).into());
    }
    for text in additional {
        match text.parse() {
            Ok(address) => add(address),
            Err(_) if !names.contains(text) => names.push(text.clone()),
            Err(_) => {}
        }
    }
    all.push(Ipv4Addr::LOCALHOST.into());
    (names, all)
}

/// The certificate of the machine API.
pub(crate) fn server(
    authority: &Authority,
    network: Network,
    hostname: &str,
    addresses: &[Ipv4Addr],
    settings: &Settings,
) -> Result<Identity, CertificateError> {
    let (names, addresses) = names(network, hostname, addresses, &settings.cert_sans);
    let common_name = addresses.first().map(ToString::to_string).unwrap_or_default();
    let subject = Subject { common_name, names, addresses, server: true, client: true, ..Subject::default() };
    authority.issue(Algorithm::Ed25519, &subject, DAY)
}

/// The certificate of the Kubernetes API on a control plane.
pub(crate) fn apiserver(
    network: Network,
    hostname: &str,
    addresses: &[Ipv4Addr],
    settings: &Settings,
) -> Result<Identity, CertificateError> {
    let (certificate, key) = &settings.cluster_ca;
    let key = key.as_ref().ok_or(CertificateError::Missing("private key"))?;
    let authority = Authority::from_pem(certificate, key)?;
    let mut additional = settings.api_cert_sans.clone();
    additional.extend(host(&settings.endpoint).map(str::to_owned));
    additional.extend(["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(str::to_owned));
    additional.push(format!("kubernetes.default.svc.{}", settings.kubernetes.dns_domain));
    additional.push("localhost".to_owned());
    let own: Vec<Ipv4Addr> = addresses.iter().chain(&settings.vips).copied().collect();
    let (names, addresses) = names(network, hostname, &own, &additional);
    let subject = Subject {
        common_name: "kube-apiserver".to_owned(),
        organizations: vec!["kube-master".to_owned()],
        names,
        addresses,
        server: true,
        client: false,
    };
    authority.issue(Algorithm::P256, &subject, YEAR)
}

/// The host of a URL, without port.
pub(crate) fn host(url: &str) -> Option<&str> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, port)| if port.bytes().all(|byte| byte.is_ascii_digit()) { host } else { authority });
    (!host.is_empty()).then_some(host)
}

/// The endpoint as it is dialled from outside the site.
fn dialled(network: Network, endpoint: &str) -> String {
    let mapped = host(endpoint).and_then(|host| Some((host, host.parse::<Ipv4Addr>().ok()?)));
    match mapped {
        Some((host, address)) if !address.is_loopback() => endpoint.replacen(host, &network.dial(address).to_string(), 1),
        _ => endpoint.to_owned(),
    }
}

/// The certificates that a client of the machine API may have been signed by.
pub(crate) fn authorities(settings: &Settings) -> Vec<CertificateDer<'static>> {
    let all = std::iter::once(&settings.machine_ca.0).chain(&settings.accepted_cas);
    all.filter_map(|pem| certificates::first_certificate(pem).ok()).collect()
}

impl Node {
    /// `Kubeconfig`: a tar.gz whose end is missing, as Talos sends it.
    pub fn kubeconfig(&self) -> Result<Vec<u8>, Status> {
        let settings = self.control_plane("kubeconfig")?;
        let fleet = self.need_fleet()?;
        let text = kubeconfig(&settings, &dialled(fleet.parts.network, &settings.endpoint)).map_err(|error| failed(&error))?;
        archive("kubeconfig", text.as_bytes()).map_err(|error| Status::unknown(error.to_string()))
    }

    /// `GenerateClientConfiguration`: a talosconfig for these roles.
    pub fn talosconfig(
        &self,
        request: &machine::GenerateClientConfigurationRequest,
    ) -> Result<machine::GenerateClientConfiguration, Status> {
        let settings = self.need_settings()?;
        if !settings.control_plane {
            return Err(Status::new(Code::FailedPrecondition, "client configuration (talosconfig) can't be generated on worker nodes"));
        }
        let lifetime: Duration = request.crt_ttl.map(Into::into).unwrap_or_default();
        if lifetime.is_zero() {
            return Err(Status::invalid("crt_ttl should be positive"));
        }
        // What is no role is left out without a word.
        let mut roles: Vec<String> = request.roles.iter().filter(|role| ROLES.contains(&role.as_str())).cloned().collect();
        roles.sort();
        roles.dedup();
        let (authority, key) = &settings.machine_ca;
        let key = key.as_ref().ok_or_else(|| Status::unknown("no private key of the authority"))?;
        let authority = Authority::from_pem(authority, key).map_err(|error| failed(&error))?;
        let subject = Subject { organizations: roles.clone(), client: true, ..Subject::default() };
        let identity = authority.issue(Algorithm::Ed25519, &subject, lifetime).map_err(|error| failed(&error))?;
        let context = match roles.as_slice() {
            [role] => format!("{}@{}", role.trim_start_matches("os:"), settings.cluster_name),
            _ => settings.cluster_name.clone(),
        };
        let (ca, crt, key) = (authority.pem(), identity.pem(), identity.key_pem());
        let talosconfig = format!(
            "context: {context}\ncontexts:\n    {context}:\n        endpoints: []\n        ca: {}\n        crt: {}\n        key: {}\n",
            STANDARD.encode(&ca),
            STANDARD.encode(&crt),
            STANDARD.encode(&key),
        );
        Ok(machine::GenerateClientConfiguration {
            metadata: None,
            ca: ca.into_bytes(),
            crt: crt.into_bytes(),
            key: key.into_bytes(),
            talosconfig: talosconfig.into_bytes(),
        })
    }
}

fn failed(error: &CertificateError) -> Status {
    Status::unknown(error.to_string())
}

fn kubeconfig(settings: &Settings, server: &str) -> Result<String, CertificateError> {
    let (certificate, key) = &settings.cluster_ca;
    let key = key.as_ref().ok_or(CertificateError::Missing("private key"))?;
    let authority = Authority::from_pem(certificate, key)?;
    let subject =
        Subject { common_name: "admin".to_owned(), organizations: vec!["system:masters".to_owned()], client: true, ..Subject::default() };
    let admin = authority.issue(Algorithm::P256, &subject, settings.admin_lifetime)?;
    let mut accepted: Vec<u8> = settings.accepted_cluster_cas.concat();
    accepted.extend_from_slice(certificate);
    let name = &settings.cluster_name;
    Ok(format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {}\n    server: {server}\n  name: {name}\n\
         contexts:\n- context:\n    cluster: {name}\n    namespace: default\n    user: admin@{name}\n  name: admin@{name}\n\
         current-context: admin@{name}\nkind: Config\npreferences: {{}}\nusers:\n- name: admin@{name}\n  user:\n    \
         client-certificate-data: {}\n    client-key-data: {}\n",
        STANDARD.encode(accepted),
        STANDARD.encode(admin.pem()),
        STANDARD.encode(admin.key_pem()),
    ))
}

/// A tar.gz with one file and without the blocks that end it.
fn archive(name: &str, contents: &[u8]) -> std::io::Result<Vec<u8>> {
    gzip(&[header(name, contents.len(), 0o600).as_slice(), contents].concat())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Read;

    #[test]
    fn the_archive_has_one_file_and_no_end() {
        let bytes = archive("kubeconfig", b"apiVersion: v1\n").unwrap();
        let mut tar = Vec::new();
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut tar).unwrap();
        assert_eq!(tar.len(), 512 + 15, "no padding, no end blocks");
        assert_eq!(&tar[..10], b"kubeconfig");
        let sum: u32 = tar[..512].iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) }).sum();
        let written = std::str::from_utf8(&tar[148..154]).unwrap();
        assert_eq!(u32::from_str_radix(written, 8).unwrap(), sum);
    }

    #[test]
    fn the_endpoint_is_dialled_on_loopback_and_names_stay() {
        let network = Network::new(3);
        assert_eq!(dialled(network, "https://10.0.10.10:6443"), "https://127.3.10.10:6443");
        assert_eq!(dialled(network, "https://127.9.0.1:6443"), "https://127.9.0.1:6443");
        assert_eq!(dialled(network, "https://kube.example.org:6443"), "https://kube.example.org:6443");
        assert_eq!(host("https://kube.example.org/"), Some("kube.example.org"));
    }

    #[test]
    fn certificates_name_both_forms_of_every_address() {
        let network = Network::new(3);
        let (names, addresses) = names(network, "cp1", &[Ipv4Addr::new(10, 0, 10, 11)], &["10.0.10.10".to_owned(), "api.test".to_owned()]);
        assert_eq!(names, ["cp1", "api.test"]);
        let text: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["10.0.10.11", "127.3.10.11", "10.0.10.10", "127.3.10.10", "127.0.0.1"]);
    }
}

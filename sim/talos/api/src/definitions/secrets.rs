//! Keys and certificates.

/// `talos.resource.definitions.secrets.APICertsSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ApiCertsSpec {
    #[prost(message, optional, tag = "2")]
    pub client: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(message, optional, tag = "3")]
    pub server: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(message, repeated, tag = "4")]
    pub accepted_c_as: Vec<crate::common::PemEncodedCertificate>,
    #[prost(bool, tag = "5")]
    pub skip_verifying_client_cert: bool,
}

/// `talos.resource.definitions.secrets.CertSANSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct CertSanSpec {
    #[prost(message, repeated, tag = "1")]
    pub i_ps: Vec<crate::common::NetIp>,
    #[prost(string, repeated, tag = "2")]
    pub dns_names: Vec<String>,
    #[prost(string, tag = "3")]
    pub fqdn: String,
}

/// `talos.resource.definitions.secrets.EtcdCertsSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdCertsSpec {
    #[prost(message, optional, tag = "1")]
    pub etcd: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(message, optional, tag = "2")]
    pub etcd_peer: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(message, optional, tag = "3")]
    pub etcd_admin: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(message, optional, tag = "4")]
    pub etcd_api_server: Option<crate::common::PemEncodedCertificateAndKey>,
}

/// `talos.resource.definitions.secrets.EtcdRootSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct EtcdRootSpec {
    #[prost(message, optional, tag = "1")]
    pub etcd_ca: Option<crate::common::PemEncodedCertificateAndKey>,
}

/// `talos.resource.definitions.secrets.KubeletSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KubeletSpec {
    #[prost(message, optional, tag = "1")]
    pub endpoint: Option<crate::common::Url>,
    #[prost(string, tag = "3")]
    pub bootstrap_token_id: String,
    #[prost(string, tag = "4")]
    pub bootstrap_token_secret: String,
    #[prost(message, repeated, tag = "5")]
    pub accepted_c_as: Vec<crate::common::PemEncodedCertificate>,
}

/// `talos.resource.definitions.secrets.KubernetesCertsSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KubernetesCertsSpec {
    #[prost(string, tag = "4")]
    pub scheduler_kubeconfig: String,
    #[prost(string, tag = "5")]
    pub controller_manager_kubeconfig: String,
    #[prost(string, tag = "6")]
    pub localhost_admin_kubeconfig: String,
    #[prost(string, tag = "7")]
    pub admin_kubeconfig: String,
}

/// `talos.resource.definitions.secrets.KubernetesRootSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct KubernetesRootSpec {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub endpoint: Option<crate::common::Url>,
    #[prost(message, optional, tag = "3")]
    pub local_endpoint: Option<crate::common::Url>,
    #[prost(string, repeated, tag = "4")]
    pub cert_sa_ns: Vec<String>,
    #[prost(string, tag = "6")]
    pub dns_domain: String,
    #[prost(message, optional, tag = "7")]
    pub issuing_ca: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(message, optional, tag = "8")]
    pub service_account: Option<crate::common::PemEncodedKey>,
    #[prost(message, optional, tag = "9")]
    pub aggregator_ca: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(string, tag = "10")]
    pub aescbc_encryption_secret: String,
    #[prost(string, tag = "11")]
    pub bootstrap_token_id: String,
    #[prost(string, tag = "12")]
    pub bootstrap_token_secret: String,
    #[prost(string, tag = "13")]
    pub secretbox_encryption_secret: String,
    #[prost(message, repeated, tag = "14")]
    pub api_server_ips: Vec<crate::common::NetIp>,
    #[prost(message, repeated, tag = "15")]
    pub accepted_c_as: Vec<crate::common::PemEncodedCertificate>,
}

/// `talos.resource.definitions.secrets.OSRootSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct OsRootSpec {
    #[prost(message, optional, tag = "1")]
    pub issuing_ca: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(message, repeated, tag = "2")]
    pub cert_sani_ps: Vec<crate::common::NetIp>,
    #[prost(string, repeated, tag = "3")]
    pub cert_sandns_names: Vec<String>,
    #[prost(string, tag = "4")]
    pub token: String,
    #[prost(message, repeated, tag = "5")]
    pub accepted_c_as: Vec<crate::common::PemEncodedCertificate>,
}

/// `talos.resource.definitions.secrets.TrustdCertsSpec`
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrustdCertsSpec {
    #[prost(message, optional, tag = "2")]
    pub server: Option<crate::common::PemEncodedCertificateAndKey>,
    #[prost(message, repeated, tag = "3")]
    pub accepted_c_as: Vec<crate::common::PemEncodedCertificate>,
}

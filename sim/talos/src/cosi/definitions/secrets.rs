//! Keys and certificates; almost all of them for admins alone.

use super::{Definition, row};

pub(super) const TABLE: &[Definition] = &[
    row("ApiCertificates.secrets.talos.dev", "ApiCertificate", "secrets").sensitive(),
    row("CertSANs.secrets.talos.dev", "CertSAN", "secrets").sensitive(),
    row("EncryptionSalts.secrets.talos.dev", "EncryptionSalt", "secrets").sensitive().since(11),
    row("EtcdRootSecrets.secrets.talos.dev", "EtcdRootSecret", "secrets").sensitive(),
    row("EtcdSecrets.secrets.talos.dev", "EtcdSecret", "secrets").sensitive(),
    row("KubeletSecrets.secrets.talos.dev", "KubeletSecret", "secrets").sensitive(),
    row("KubernetesDynamicCerts.secrets.talos.dev", "KubernetesDynamicCert", "secrets").sensitive(),
    row("KubernetesRootSecrets.secrets.talos.dev", "KubernetesRootSecret", "secrets").sensitive(),
    row("KubernetesSecrets.secrets.talos.dev", "KubernetesSecret", "secrets").sensitive(),
    row("MaintenanceRootSecrets.secrets.talos.dev", "MaintenanceRootSecret", "secrets").sensitive(),
    row("MaintenanceServiceCertificates.secrets.talos.dev", "MaintenanceServiceCertificate", "secrets").sensitive().until(12),
    row("OSRootSecrets.secrets.talos.dev", "OSRootSecret", "secrets").sensitive(),
    row("TrustdCertificates.secrets.talos.dev", "TrustdCertificate", "secrets").sensitive(),
];

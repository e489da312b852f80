//! Which values nobody may see.

/// Keys that hold secrets, or texts in which people put them: environments, files, manifests.
const SECRETS: [(&str, &[&str]); 27] = [
    ("v1alpha1.MachineConfig", &["token", "env"]),
    ("v1alpha1.ClusterConfig", &["secret", "token", "aescbcEncryptionSecret", "secretboxEncryptionSecret", "extraManifestHeaders"]),
    ("x509.PEMEncodedCertificateAndKey", &["key"]),
    ("x509.PEMEncodedKey", &["key"]),
    ("meta.CertificateAndKey", &["key"]),
    ("v1alpha1.RegistryAuthConfig", &["username", "password", "auth", "identityToken"]),
    ("cri.RegistryAuthConfigV1Alpha1", &["username", "password", "auth", "identityToken"]),
    ("v1alpha1.EncryptionKeyStatic", &["passphrase"]),
    ("block.EncryptionKeyStatic", &["passphrase"]),
    ("v1alpha1.DeviceWireguardConfig", &["privateKey"]),
    ("network.WireguardConfigV1Alpha1", &["privateKey"]),
    ("network.WireguardPeer", &["presharedKey"]),
    ("v1alpha1.VIPEquinixMetalConfig", &["apiToken"]),
    ("v1alpha1.VIPHCloudConfig", &["apiToken"]),
    ("network.HCloudVIPConfigV1Alpha1", &["apiToken"]),
    ("siderolink.ConfigV1Alpha1", &["apiUrl", "uniqueToken"]),
    ("v1alpha1.MachineFile", &["content"]),
    ("v1alpha1.ClusterInlineManifest", &["contents"]),
    ("extensions.ConfigFile", &["content"]),
    ("extensions.ServiceConfigV1Alpha1", &["environment"]),
    ("runtime.EnvironmentV1Alpha1", &["variables"]),
    ("runtime.KmsgLogV1Alpha1", &["url"]),
    ("v1alpha1.LoggingDestination", &["endpoint"]),
    ("v1alpha1.APIServerConfig", &["env"]),
    ("v1alpha1.ControllerManagerConfig", &["env"]),
    ("v1alpha1.SchedulerConfig", &["env"]),
    ("v1alpha1.KubeletConfig", &["credentialProviderConfig"]),
];

/// Whether a key of a struct holds a secret; where no struct is known, by its name.
pub(crate) fn is_secret(name: Option<&str>, key: &str) -> bool {
    if let Some(name) = name {
        return SECRETS.iter().any(|(known, keys)| *known == name && keys.contains(&key));
    }
    let key: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    ["token", "password", "passphrase", "secret", "privatekey", "apikey", "authkey", "credentials", "env", "environment"]
        .iter()
        .any(|word| key.ends_with(word))
}

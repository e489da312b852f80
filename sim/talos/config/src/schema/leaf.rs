//! Values without keys of their own.

/// The kind of a value that is one scalar, or that reads its YAML itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaf {
    Text,
    Bool,
    /// A whole number: its name, the smallest and the largest.
    Number(&'static str, i128, i128),
    Duration,
    /// Any map at all.
    Anything,
    Address(&'static str),
    Prefix(&'static str),
    AddressPort(&'static str),
    Expression,
    /// A size in bytes.
    Bytes,
    /// A size in bytes or in per cent.
    Size,
    /// A URL that may be empty.
    Url,
    /// A URL.
    Endpoint,
    /// A text, or a list of texts.
    Argument,
    DiskSize,
    /// `>= 4GB`.
    SizeMatch,
    DiskType,
    Ports,
    /// A map of `crt` and `key`, of which the kind has one or both.
    Pem {
        certificate: bool,
        key: bool,
    },
    Base64,
    Hardware,
    FailOverMac,
    /// One of a few words.
    Word(&'static str),
}

impl Leaf {
    /// The leaf of a name in the tables; nothing for a struct.
    pub(crate) fn read(name: &'static str) -> Option<Self> {
        let number = |low, high| Self::Number(name, low, high);
        Some(match name {
            "text" => Self::Text,
            "bool" => Self::Bool,
            "int" => number(i64::MIN.into(), i64::MAX.into()),
            "uint" | "uint64" => number(0, u64::MAX.into()),
            "uint8" => number(0, u8::MAX.into()),
            "uint16" => number(0, u16::MAX.into()),
            "uint32" | "v1alpha1.FileMode" => number(0, u32::MAX.into()),
            "duration" => Self::Duration,
            "v1alpha1.Unstructured" => Self::Anything,
            "netip.Addr" | "network.Addr" => Self::Address(name),
            "netip.Prefix" | "network.Prefix" => Self::Prefix(name),
            "netip.AddrPort" | "network.AddrPort" => Self::AddressPort(name),
            "cel.Expression" => Self::Expression,
            "block.ByteSize" => Self::Bytes,
            "block.Size" => Self::Size,
            "meta.URL" => Self::Url,
            "v1alpha1.Endpoint" => Self::Endpoint,
            "v1alpha1.ArgValue" => Self::Argument,
            "v1alpha1.DiskSize" => Self::DiskSize,
            "v1alpha1.InstallDiskSizeMatcher" => Self::SizeMatch,
            "v1alpha1.InstallDiskType" => Self::DiskType,
            "network.PortRange" => Self::Ports,
            "x509.PEMEncodedCertificateAndKey" => Self::Pem { certificate: true, key: true },
            "x509.PEMEncodedCertificate" => Self::Pem { certificate: true, key: false },
            "x509.PEMEncodedKey" => Self::Pem { certificate: false, key: true },
            "v1alpha1.Base64Bytes" => Self::Base64,
            "nethelpers.HardwareAddr" => Self::Hardware,
            "nethelpers.FailOverMAC" => Self::FailOverMac,
            name if !words(name).is_empty() => Self::Word(name),
            _ => return None,
        })
    }

    /// Whether the type is a struct without keys: then a map is not of the wrong kind, but all of its keys are unknown.
    pub(crate) fn is_struct(self) -> bool {
        matches!(self, Self::Address(_) | Self::Prefix(_) | Self::AddressPort(_) | Self::Expression | Self::Bytes | Self::Size)
    }

    /// The type's name in refusals.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Bool => "bool",
            Self::Number(name, ..) | Self::Address(name) | Self::Prefix(name) | Self::AddressPort(name) | Self::Word(name) => name,
            Self::Duration => "time.Duration",
            Self::Anything => "v1alpha1.Unstructured",
            Self::Expression => "cel.Expression",
            Self::Bytes => "block.ByteSize",
            Self::Size => "block.Size",
            Self::Url => "meta.URL",
            Self::Endpoint => "v1alpha1.Endpoint",
            Self::Argument => "v1alpha1.ArgValue",
            Self::DiskSize => "v1alpha1.DiskSize",
            Self::SizeMatch => "v1alpha1.InstallDiskSizeMatcher",
            Self::DiskType => "v1alpha1.InstallDiskType",
            Self::Ports => "network.PortRange",
            Self::Pem { certificate: true, key: true } => "x509.PEMEncodedCertificateAndKey",
            Self::Pem { certificate: true, .. } => "x509.PEMEncodedCertificate",
            Self::Pem { .. } => "x509.PEMEncodedKey",
            Self::Base64 => "v1alpha1.Base64Bytes",
            Self::Hardware => "nethelpers.HardwareAddr",
            Self::FailOverMac => "nethelpers.FailOverMAC",
        }
    }
}

/// The words a type takes; none for a type that has no fixed ones.
pub(crate) fn words(name: &str) -> &'static [&'static str] {
    match name {
        "nethelpers.ADLACPActive" => &["off", "on"],
        "nethelpers.ADSelect" => &["stable", "bandwidth", "count"],
        "nethelpers.ARPAllTargets" => &["any", "all"],
        "nethelpers.ARPValidate" => &["none", "active", "backup", "all", "filter", "filter-active", "filter-backup"],
        "nethelpers.AddressSortAlgorithm" => &["v1", "v2"],
        "nethelpers.AutoHostnameKind" => &["off", "talos-addr", "stable"],
        "nethelpers.BondMode" => &["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"],
        "nethelpers.BondXmitHashPolicy" => &["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4"],
        "nethelpers.ClientIdentifier" => &["none", "mac", "duid"],
        "nethelpers.DefaultAction" => &["accept", "block"],
        "nethelpers.LACPRate" => &["slow", "fast"],
        "nethelpers.PrimaryReselect" => &["always", "better", "failure"],
        "nethelpers.Protocol" => &["icmp", "tcp", "udp", "icmpv6"],
        "nethelpers.RoutingRuleAction" => &["unspec", "unicast", "blackhole", "unreachable", "prohibit"],
        // Tables 1 to 252 are named by their number.
        "nethelpers.RoutingTable" => &["unspec", "default", "main", "local"],
        "nethelpers.VLANProtocol" => &["802.1q", "802.1ad"],
        "nethelpers.WOLMode" => &["phy", "unicast", "multicast", "broadcast", "magic", "magicsecure", "filter"],
        "block.VolumeType" => &["partition", "disk", "tmpfs", "directory", "symlink", "overlay", "external"],
        "block.FilesystemType" => &["none", "xfs", "vfat", "ext4", "iso9660", "swap", "swapi", "virtiofs"],
        "block.EncryptionProviderType" => &["none", "luks2"],
        _ => &[],
    }
}

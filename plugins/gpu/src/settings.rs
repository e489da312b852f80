//! The settings of a site.

use serde::Deserialize;

/// The settings of a site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// For devices of NVIDIA.
    pub nvidia: Nvidia,
}

/// How devices of NVIDIA are driven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Nvidia {
    /// The branch of the driver.
    pub branch: Branch,
    /// The kernel modules.
    pub modules: Modules,
    /// Whether every container runs in NVIDIA's runtime.
    pub default_runtime: bool,
}

/// The branches of NVIDIA's driver that Talos has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Branch {
    /// The one with long support.
    #[default]
    Lts,
    /// The newer one.
    Production,
}

impl Branch {
    /// As names of extensions end.
    pub fn word(self) -> &'static str {
        match self {
            Self::Lts => "lts",
            Self::Production => "production",
        }
    }
}

/// The kernel modules of NVIDIA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Modules {
    /// Those that fit the device and the driver's version.
    #[default]
    Auto,
    /// The open ones.
    Open,
    /// The closed ones.
    Proprietary,
}

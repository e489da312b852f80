//! Which contract a component was built for, and whether this host can speak it.
//!
//! A component states the types of all it imports and exports. They are compared with ours before
//! anything is compiled, because the engine finds a difference late and cannot name it: "expected
//! record of 4 fields, found 5" at the first call.
//!
//! The types are read with the validator the engine itself trusts, not with
//! `wit_component::decode`: that one recurses over packages, so a valid component of 150 bytes whose
//! packages use each other overflows the stack, which nothing can catch.

mod compare;
mod component;
mod ours;
#[cfg(test)]
pub(super) mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use semver::Version;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wasmparser::Parser;

use compare::Comparison;
use component::{Component, Extern, read};
use ours::OURS;

use super::manifest::clean;

/// The package that holds the contract.
pub const PACKAGE: &str = "emhost:plugin";

/// The version of the contract this host speaks.
pub const CONTRACT: &str = "0.1.0";

/// The largest component that is looked at.
pub const MAX_SIZE: usize = 256 * 1024 * 1024;

/// What every plugin exports beside its roles.
const LIFECYCLE: &str = "lifecycle";

/// How many entries of a list are printed.
const SHOWN: usize = 5;

/// What a plugin can be to the host: one exported interface each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Renders machine configuration.
    Configurator,
    /// Decides what machines boot from.
    BootSource,
    /// Finds accelerators.
    Gpu,
    /// Makes machines exist.
    Provisioner,
    /// Drives the operating system.
    Distro,
    /// Saves and brings back the cluster's own data.
    DistroBackup,
    /// Renders what runs in the cluster.
    Addon,
}

impl Role {
    /// Every role, in the order of the flow.
    pub const ALL: [Self; 7] =
        [Self::Configurator, Self::BootSource, Self::Gpu, Self::Provisioner, Self::Distro, Self::DistroBackup, Self::Addon];

    /// The name of the role, which is that of its interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configurator => "configurator",
            Self::BootSource => "boot-source",
            Self::Gpu => "gpu",
            Self::Provisioner => "provisioner",
            Self::Distro => "distro",
            Self::DistroBackup => "distro-backup",
            Self::Addon => "addon",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is not the name of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a role: use {}", clean(.0), role_names())]
pub struct UnknownRole(String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

fn role_names() -> String {
    Role::ALL.map(Role::as_str).join(", ")
}

/// What a component fills and what it wants, as far as its types tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The roles it fills; at least one.
    pub roles: Vec<Role>,
    /// The contract it was built for: compatible with [`CONTRACT`], perhaps newer.
    pub contract: Version,
    /// Full names of all imported interfaces, sorted.
    pub imports: Vec<String>,
    /// Full names of everything it exports, sorted.
    pub exports: Vec<String>,
}

/// Why this host cannot run a component. Reads on from the name of the plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// Larger than anything sensible.
    #[error("is {size} bytes large, more than the {MAX_SIZE} that are read")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// A module that was not made into a component.
    #[error(
        "is a core WebAssembly module, not a component: build it for wasm32-wasip2, or wrap it \
         with `wasm-tools component new`"
    )]
    CoreModule,
    /// Machine code, which is never accepted from outside.
    #[error(
        "is precompiled machine code, which emhost only loads from its own cache: give it the \
         .wasm component"
    )]
    Precompiled,
    /// Something else, or damaged.
    #[error("is not a WebAssembly component ({reason})")]
    NotComponent {
        /// What the parser found.
        reason: String,
    },
    /// Built for a contract that is not compatible.
    #[error("{}", version_message(.built_for))]
    Version {
        /// The contract it was built for.
        built_for: Version,
    },
    /// Built for something that calls itself our package but has no version.
    #[error("uses `{interface}` without a version: build it against the WIT of {PACKAGE}@{CONTRACT}")]
    Unversioned {
        /// The interface.
        interface: String,
    },
    /// Wants interfaces that nobody here provides.
    #[error("imports {}, which emhost does not provide", shown(.0))]
    Foreign(
        /// Their names.
        Vec<String>,
    ),
    /// Exports no role.
    #[error("fills no role: export at least one of {}{}", role_names(), newer(.unknown))]
    NoRole {
        /// Interfaces of a newer contract that it exports.
        unknown: Vec<String>,
    },
    /// Exports a role, but not what every plugin exports.
    #[error(
        "does not export `{LIFECYCLE}`: build it against one of the worlds of {PACKAGE}, for \
         example `{}-plugin`", .role
    )]
    NoLifecycle {
        /// A role it does export.
        role: Role,
    },
    /// Functions or types are not those of the contract.
    #[error("does not fit contract {CONTRACT}:\n  {}", few(.0, "\n  "))]
    Types(
        /// One line each, for example ``types.action: lacks the field `reason` ``.
        Vec<String>,
    ),
}

/// Changes whenever the contract does, by so much as a letter; for what is kept about components.
pub(super) fn fingerprint() -> [u8; 32] {
    static FINGERPRINT: LazyLock<[u8; 32]> =
        LazyLock::new(|| ours::WIT.iter().fold(Sha256::new(), |sum, (_, text)| sum.chain_update(text)).finalize().into());
    *FINGERPRINT
}

/// Reads from a component which roles it fills, and makes sure that it and this host understand
/// each other.
///
/// # Errors
/// When the bytes are not a component, when it fills no role, or when it was built for something
/// this host does not provide.
pub fn check(component: &[u8]) -> Result<Shape, ContractError> {
    if component.len() > MAX_SIZE {
        return Err(ContractError::TooLarge { size: component.len() });
    }
    if component.starts_with(b"\x7fELF") {
        return Err(ContractError::Precompiled);
    }
    if Parser::is_core_wasm(component) {
        return Err(ContractError::CoreModule);
    }
    if !Parser::is_component(component) {
        let reason = match component {
            [] => "it is empty",
            _ => "its first bytes are not those of one",
        };
        return Err(not_component(reason));
    }
    // The last net. The parser is fuzzed and no input is known to make it panic, but the bytes come
    // from strangers and one of them must not take down a run that is busy with something else.
    std::panic::catch_unwind(|| read(component)?.shape()).unwrap_or_else(|_| Err(not_component("the parser failed on it")))
}

impl Component {
    fn shape(&self) -> Result<Shape, ContractError> {
        let contract = self.contract()?;
        let exported: BTreeSet<&str> = self.exports.iter().filter_map(Extern::our_name).collect();
        let roles: BTreeSet<Role> = exported.iter().filter_map(|name| name.parse().ok()).collect();
        let (Some(role), Some(contract)) = (roles.first(), contract) else {
            let unknown = exported.iter().filter(|name| OURS.interface(name).is_none());
            return Err(ContractError::NoRole { unknown: unknown.map(|name| clean(name)).collect() });
        };
        if !exported.contains(LIFECYCLE) {
            return Err(ContractError::NoLifecycle { role: *role });
        }
        let foreign: Vec<_> = self
            .imports
            .iter()
            .filter(|import| import.our_name().is_none() && !import.is_wasi())
            .map(|import| import.name.clone())
            .collect();
        if !foreign.is_empty() {
            return Err(ContractError::Foreign(foreign));
        }
        let differences = Comparison::of(self);
        if !differences.is_empty() {
            return Err(ContractError::Types(differences));
        }
        Ok(Shape {
            roles: roles.into_iter().collect(),
            contract: contract.clone(),
            imports: sorted_names(&self.imports),
            exports: sorted_names(&self.exports),
        })
    }

    /// The newest contract any part of it was built for, if all parts are compatible with ours.
    fn contract(&self) -> Result<Option<&Version>, ContractError> {
        let mut newest = None;
        for item in self.imports.iter().chain(&self.exports) {
            let Some(ours) = item.ours() else { continue };
            let version = ours.version.as_ref().ok_or_else(|| ContractError::Unversioned { interface: item.name.clone() })?;
            if track(version) != track(&OURS.version) {
                return Err(ContractError::Version { built_for: version.clone() });
            }
            newest = newest.max(Some(version));
        }
        Ok(newest)
    }
}

/// The part of a version that has to be the same for two contracts to be compatible.
fn track(version: &Version) -> String {
    match version {
        v if !v.pre.is_empty() => v.to_string(),
        Version { major: 0, minor, .. } => format!("0.{minor}"),
        v => v.major.to_string(),
    }
}

fn sorted_names(externs: &[Extern]) -> Vec<String> {
    let names: BTreeSet<_> = externs.iter().map(|item| item.name.clone()).collect();
    names.into_iter().collect()
}

fn not_component(reason: &str) -> ContractError {
    ContractError::NotComponent { reason: clean(reason) }
}

fn version_message(built_for: &Version) -> String {
    format!(
        "built for contract {}, this emhost speaks {CONTRACT}: rebuild the plugin against contract \
         {}, or use an emhost that speaks {}",
        clean(&built_for.to_string()),
        track(&OURS.version),
        clean(&track(built_for)),
    )
}

fn newer(unknown: &[String]) -> String {
    match unknown {
        [] => String::new(),
        _ => format!(" (it exports {}, unknown to contract {CONTRACT})", shown(unknown)),
    }
}

/// The first few of a list, in one line.
fn shown(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    few(&quoted, ", ")
}

fn few(list: &[String], separator: &str) -> String {
    let (shown, rest) = list.split_at(list.len().min(SHOWN));
    let text = shown.join(separator);
    match rest.len() {
        0 => text,
        more => format!("{text}{separator}and {more} more"),
    }
}

//! What a plugin for emhost is made with: the contract's types, diagnostics, an HTTP and a gRPC
//! client that go through slots, and an ISO 9660 writer.
//!
//! A plugin is a type that implements the trait of its role ([`Provisioner`] …) and [`Lifecycle`],
//! and one line that exports it:
//!
//! ```ignore
//! emhost_sdk::plugin!(Noop: provisioner; "emhost-plugin.json");
//! ```
//!
//! The JSON file beside `Cargo.toml` says what the plugin asks of a site; its name and version
//! come from `Cargo.toml` unless the file has its own. Everything ends up in the component, where
//! `emhost plugin inspect` reads it without running any of it.

pub mod bindings;
mod diagnostics;
pub mod grpc;
pub mod http;
pub mod iso;
mod roles;

pub use bindings::host::emhost::plugin::{archives, inventory, keys, log, operations, reveal, secrets, types};
pub use inventory::{Cluster, Node, NodeRole};
pub use operations::Operation;
pub use roles::{
    Addon, BootSource, Configurator, Distro, DistroBackup, Gpu, Lifecycle, Provisioner, Site, Unit, addon, boot_source, distro, gpu,
    nothing, provisioner,
};
pub use types::{
    Action, Again, Artifact, Attribute, Boot, Change, Contribution, Diagnostic, Disruption, Document, Failure, FailureKind, FieldChange,
    Intent, Medium, MediumFile, Proposal, Severity, State, Step,
};

/// Exports a type as a plugin and embeds its manifest.
///
/// The type implements [`Lifecycle`] and the trait of each role it is listed for. The path is that
/// of the manifest, from the folder of `Cargo.toml`.
#[macro_export]
macro_rules! plugin {
    ($type:ident: $($role:ident),+; $manifest:literal) => {
        $crate::manifest!($manifest);
        $crate::export!(lifecycle, $type);
        $($crate::export!($role, $type);)+
    };
    // The manifest's text itself, for plugins too small for a file of their own.
    ($type:ident: $($role:ident),+; text = $text:expr) => {
        $crate::manifest!(text $text);
        $crate::export!(lifecycle, $type);
        $($crate::export!($role, $type);)+
    };
}

/// Exports one role. Used by [`plugin!`].
#[doc(hidden)]
#[macro_export]
macro_rules! export {
    (lifecycle, $type:ident) => {
        // The names of the exports mean something to a component only; other linkers refuse them.
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::lifecycle::export_lifecycle!($type with_types_in $crate::bindings::lifecycle);
    };
    (configurator, $type:ident) => {
        // The names of the exports mean something to a component only; other linkers refuse them.
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::configurator::export_configurator!($type with_types_in $crate::bindings::configurator);
    };
    (boot_source, $type:ident) => {
        // The names of the exports mean something to a component only; other linkers refuse them.
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::boot_source::export_boot_source!($type with_types_in $crate::bindings::boot_source);
    };
    (gpu, $type:ident) => {
        // The names of the exports mean something to a component only; other linkers refuse them.
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::gpu::export_gpu!($type with_types_in $crate::bindings::gpu);
    };
    (provisioner, $type:ident) => {
        // The names of the exports mean something to a component only; other linkers refuse them.
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::provisioner::export_provisioner!($type with_types_in $crate::bindings::provisioner);
    };
    (distro, $type:ident) => {
        // The names of the exports mean something to a component only; other linkers refuse them.
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::distro::export_distro!($type with_types_in $crate::bindings::distro);
    };
    (distro_backup, $type:ident) => {
        // The names of the exports mean something to a component only; other linkers refuse them.
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::distro_backup::export_distro_backup!($type with_types_in $crate::bindings::distro_backup);
    };
    (addon, $type:ident) => {
        // The names of the exports mean something to a component only; other linkers refuse them.
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::addon::export_addon!($type with_types_in $crate::bindings::addon);
    };
}

/// Embeds a manifest in the component. Used by [`plugin!`].
#[doc(hidden)]
#[macro_export]
macro_rules! manifest {
    ($path:literal) => {
        $crate::manifest!(text include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path)));
    };
    (text $text:expr) => {
        const _: () = {
            const TEXT: &str = concat!("[{\"name\":\"", env!("CARGO_PKG_NAME"), "\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"},", $text, "]");
            #[cfg_attr(target_arch = "wasm32", unsafe(link_section = "emhost:manifest"))]
            #[used]
            static MANIFEST: [u8; TEXT.len()] = *TEXT.as_bytes().first_chunk().expect("as long as it is");
        };
    };
}

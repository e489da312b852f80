//! The contract as generated code, and nothing else.
//!
//! One module for what the host offers, one per role for what a plugin fills. The roles share the
//! host's types, so one component can fill several.
#![expect(missing_docs, reason = "the documentation is in wit/ and docs/contract.md")]
#![allow(unsafe_code, reason = "generated: the canonical ABI")]
#![allow(clippy::all, clippy::pedantic, reason = "generated")]

pub mod host {
    wit_bindgen::generate!({
        path: "../wit",
        inline: "
            package emhost:sdk-host;
            world host {
                import emhost:plugin/types@0.1.0;
                import emhost:plugin/log@0.1.0;
                import emhost:plugin/operations@0.1.0;
                import emhost:plugin/inventory@0.1.0;
                import emhost:plugin/secrets@0.1.0;
                import emhost:plugin/reveal@0.1.0;
                import emhost:plugin/keys@0.1.0;
                import emhost:plugin/grpc@0.1.0;
                import emhost:plugin/archives@0.1.0;
            }
        ",
        world: "emhost:sdk-host/host",
        additional_derives: [PartialEq],
        generate_all,
    });
}

macro_rules! role {
    ($module:ident, $package:literal, $world:literal, $macro:literal, { $($shared:tt)* }) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: "../wit",
                inline: $package,
                world: $world,
                pub_export_macro: true,
                export_macro_name: $macro,
                generate_all,
                with: {
                    "emhost:plugin/types@0.1.0": crate::bindings::host::emhost::plugin::types,
                    $($shared)*
                },
            });
        }
    };
}

role!(
    lifecycle,
    "package emhost:sdk-lifecycle; world lifecycle { export emhost:plugin/lifecycle@0.1.0; }",
    "emhost:sdk-lifecycle/lifecycle",
    "export_lifecycle",
    {}
);
role!(
    configurator,
    "package emhost:sdk-configurator; world configurator { export emhost:plugin/configurator@0.1.0; }",
    "emhost:sdk-configurator/configurator",
    "export_configurator",
    {
        "emhost:plugin/operations@0.1.0": crate::bindings::host::emhost::plugin::operations,
        "emhost:plugin/inventory@0.1.0": crate::bindings::host::emhost::plugin::inventory,
    }
);
role!(
    boot_source,
    "package emhost:sdk-boot-source; world boot-source { export emhost:plugin/boot-source@0.1.0; }",
    "emhost:sdk-boot-source/boot-source",
    "export_boot_source",
    {
        "emhost:plugin/operations@0.1.0": crate::bindings::host::emhost::plugin::operations,
        "emhost:plugin/inventory@0.1.0": crate::bindings::host::emhost::plugin::inventory,
    }
);
role!(
    gpu,
    "package emhost:sdk-gpu; world gpu { export emhost:plugin/gpu@0.1.0; }",
    "emhost:sdk-gpu/gpu",
    "export_gpu",
    {
        "emhost:plugin/operations@0.1.0": crate::bindings::host::emhost::plugin::operations,
        "emhost:plugin/inventory@0.1.0": crate::bindings::host::emhost::plugin::inventory,
    }
);
role!(
    provisioner,
    "package emhost:sdk-provisioner; world provisioner { export emhost:plugin/provisioner@0.1.0; }",
    "emhost:sdk-provisioner/provisioner",
    "export_provisioner",
    {
        "emhost:plugin/operations@0.1.0": crate::bindings::host::emhost::plugin::operations,
        "emhost:plugin/inventory@0.1.0": crate::bindings::host::emhost::plugin::inventory,
    }
);
role!(
    distro,
    "package emhost:sdk-distro; world distro { export emhost:plugin/distro@0.1.0; }",
    "emhost:sdk-distro/distro",
    "export_distro",
    {
        "emhost:plugin/operations@0.1.0": crate::bindings::host::emhost::plugin::operations,
        "emhost:plugin/inventory@0.1.0": crate::bindings::host::emhost::plugin::inventory,
        "emhost:plugin/secrets@0.1.0": crate::bindings::host::emhost::plugin::secrets,
    }
);
role!(
    distro_backup,
    "package emhost:sdk-distro-backup; world distro-backup { export emhost:plugin/distro-backup@0.1.0; }",
    "emhost:sdk-distro-backup/distro-backup",
    "export_distro_backup",
    {
        "emhost:plugin/operations@0.1.0": crate::bindings::host::emhost::plugin::operations,
        "emhost:plugin/inventory@0.1.0": crate::bindings::host::emhost::plugin::inventory,
        "emhost:plugin/archives@0.1.0": crate::bindings::host::emhost::plugin::archives,
    }
);
role!(
    addon,
    "package emhost:sdk-addon; world addon { export emhost:plugin/addon@0.1.0; }",
    "emhost:sdk-addon/addon",
    "export_addon",
    {
        "emhost:plugin/operations@0.1.0": crate::bindings::host::emhost::plugin::operations,
        "emhost:plugin/inventory@0.1.0": crate::bindings::host::emhost::plugin::inventory,
    }
);

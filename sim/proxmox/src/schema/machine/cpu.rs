//! The processor of a machine, and memory encryption.

use std::sync::Arc;

use crate::Release;
use crate::schema::field::{choice, flag, int, one, text};
use crate::schema::formats;
use crate::schema::perl;
use crate::schema::property::{Format, Properties};

/// Models that QEMU has, by maker.
const MODELS: &str = "486 pentium pentium2 pentium3 coreduo core2duo Conroe Penryn Nehalem Nehalem-IBRS Westmere \
    Westmere-IBRS SandyBridge SandyBridge-IBRS IvyBridge IvyBridge-IBRS Haswell Haswell-IBRS Haswell-noTSX \
    Haswell-noTSX-IBRS Broadwell Broadwell-IBRS Broadwell-noTSX Broadwell-noTSX-IBRS Skylake-Client \
    Skylake-Client-IBRS Skylake-Client-noTSX-IBRS Skylake-Client-v4 Skylake-Server Skylake-Server-IBRS \
    Skylake-Server-noTSX-IBRS Skylake-Server-v4 Skylake-Server-v5 Cascadelake-Server Cascadelake-Server-v2 \
    Cascadelake-Server-noTSX Cascadelake-Server-v4 Cascadelake-Server-v5 Cooperlake Cooperlake-v2 KnightsMill \
    Icelake-Client Icelake-Client-noTSX Icelake-Server Icelake-Server-noTSX Icelake-Server-v3 Icelake-Server-v4 \
    Icelake-Server-v5 Icelake-Server-v6 SapphireRapids SapphireRapids-v2 GraniteRapids athlon phenom Opteron_G1 \
    Opteron_G2 Opteron_G3 Opteron_G4 Opteron_G5 EPYC EPYC-IBPB EPYC-v3 EPYC-v4 EPYC-Rome EPYC-Rome-v2 EPYC-Rome-v3 \
    EPYC-Rome-v4 EPYC-Milan EPYC-Milan-v2 EPYC-Genoa host kvm32 kvm64 qemu32 qemu64 max";

/// Models that came with 9.
const NEWER: &str = "ClearwaterForest EPYC-Genoa-v2 EPYC-Milan-v3 EPYC-Rome-v5 EPYC-Turin EPYC-v5 GraniteRapids-v2 \
    GraniteRapids-v3 Icelake-Server-v7 SapphireRapids-v3 SapphireRapids-v4 SierraForest SierraForest-v2 \
    SierraForest-v3 a64fx cortex-a35 cortex-a53 cortex-a55 cortex-a57 cortex-a710 cortex-a72 cortex-a76 neoverse-n1 \
    neoverse-n2 neoverse-v1";

/// Models that Proxmox makes out of others.
const MADE: [&str; 4] = ["x86-64-v2", "x86-64-v2-AES", "x86-64-v3", "x86-64-v4"];

const FLAGS_8: [&str; 12] =
    ["pcid", "spec-ctrl", "ibpb", "ssbd", "virt-ssbd", "amd-ssbd", "amd-no-ssb", "pdpe1gb", "md-clear", "hv-tlbflush", "hv-evmcs", "aes"];

const FLAGS_9: [&str; 13] = [
    "aes",
    "amd-no-ssb",
    "amd-ssbd",
    "hv-evmcs",
    "hv-tlbflush",
    "ibpb",
    "md-clear",
    "nested-virt",
    "pcid",
    "pdpe1gb",
    "spec-ctrl",
    "ssbd",
    "virt-ssbd",
];

fn models(release: Release) -> Vec<&'static str> {
    let newer = if release == Release::V9 { NEWER } else { "" };
    let mut all: Vec<&str> = MODELS.split_whitespace().chain(newer.split_whitespace()).collect();
    all.sort_by_key(|model| model.to_lowercase());
    all
}

/// `cpu`.
pub(super) fn cpu(release: Release) -> Arc<Format> {
    let mut fields = vec![
        ("cputype", text().default_key()),
        ("reported-model", choice(models(release))),
        ("hidden", flag()),
        ("hv-vendor-id", text().pattern("[a-zA-Z0-9]{1,12}")),
        ("flags", text().pattern("[+-][a-zA-Z0-9_.-]+(;[+-][a-zA-Z0-9_.-]+)*")),
        ("phys-bits", one(formats::phys_bits)),
    ];
    if release == Release::V9 {
        fields.push(("guest-phys-bits", int().min(32).max(64)));
    }
    let fields = fields.into_iter().map(|(name, field)| (name, field.optional()));
    let validator = match release {
        Release::V8 => |cpu: &Properties| of_a_machine(cpu, Release::V8, &FLAGS_8),
        Release::V9 => |cpu: &Properties| of_a_machine(cpu, Release::V9, &FLAGS_9),
    };
    Arc::new(Format::new(release, fields).validated(validator))
}

fn of_a_machine(cpu: &Properties, release: Release, flags: &[&str]) -> Result<(), String> {
    let Some(model) = cpu.get("cputype").filter(|model| perl::truthy(model)) else {
        return Err("CPU is missing cputype".to_owned());
    };
    if let Some(custom) = model.strip_prefix("custom-") {
        return Err(format!("Custom cputype '{custom}' not found"));
    }
    if !MADE.contains(&model.as_str()) && !models(release).contains(&model.as_str()) {
        return Err(format!("Built-in cputype '{model}' is not defined (missing 'custom-' prefix?)"));
    }
    let known = format!("[+-](?:{})", flags.join("|"));
    if cpu.get("flags").is_some_and(|given| !perl::matches(&format!("{known}(;{known})*"), given)) {
        return Err(format!("VM-specific CPU flags must be a subset of: {}", flags.join(", ")));
    }
    match cpu.get("reported-model") {
        Some(_) => Err("Property 'reported-model' not allowed in VM-specific CPU config.".to_owned()),
        None => Ok(()),
    }
}

/// `amd-sev`.
pub(super) fn amd_sev(release: Release) -> Arc<Format> {
    let kind = choice(&["std", "es", "snp"][..]).longest(3).default_key();
    let flags = ["no-debug", "no-key-sharing", "allow-smt", "kernel-hashes"];
    let flags = flags.into_iter().map(|name| (name, flag().optional()));
    Arc::new(Format::new(release, [("type", kind)].into_iter().chain(flags)))
}

/// `intel-tdx`, on 9.
pub(super) fn intel_tdx(release: Release) -> Arc<Format> {
    let fields = [
        ("type", choice(&["tdx"][..]).default_key()),
        ("attestation", flag()),
        ("vsock-cid", int().min(2).optional()),
        ("vsock-port", int().min(0).optional()),
    ];
    Arc::new(Format::new(release, fields))
}

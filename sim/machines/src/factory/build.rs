//! From a schematic, a version and a file name to the bytes of an image.

use std::collections::BTreeMap;

use emhost_sim_kit::{Image, Medium, Platform};

use super::Schematic;
use super::catalogue::{self, Version};
use crate::image::{self, Format, Packing};

/// Platforms that Talos knows and no machine here can be.
const ELSEWHERE: [&str; 16] = [
    "akamai",
    "aws",
    "azure",
    "cloudstack",
    "digital-ocean",
    "equinixMetal",
    "exoscale",
    "gcp",
    "hcloud",
    "opennebula",
    "openstack",
    "oracle",
    "scaleway",
    "upcloud",
    "vmware",
    "vultr",
];

/// Why there is no such image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The request asks for what cannot be.
    #[error("{0}")]
    Invalid(String),
    /// The version is not there.
    #[error("version {0} is not available")]
    NoVersion(Version),
}

/// What a file name asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asset {
    kind: Kind,
    platform: Platform,
    arch: &'static str,
    secure_boot: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Disk(Format, Option<Packing>),
    Iso,
    Kernel,
    Initramfs,
    Cmdline,
    Uki,
    Installer,
}

impl Asset {
    /// Reads a file name such as `nocloud-amd64-secureboot.raw.xz`.
    pub(super) fn parse(path: &str) -> Result<Self, BuildError> {
        let plain = |kind, arch: &str| Ok(Self { kind, platform: Platform::Metal, arch: self::arch(arch)?, secure_boot: false });
        if let Some(rest) = path.strip_prefix("kernel-") {
            return plain(Kind::Kernel, rest);
        }
        if let Some(rest) = path.strip_prefix("cmdline-") {
            return Self::of(Kind::Cmdline, rest);
        }
        if let Some(rest) = path.strip_prefix("initramfs-").and_then(|rest| rest.strip_suffix(".xz")) {
            return plain(Kind::Initramfs, rest);
        }
        if let Some(rest) = path.strip_suffix(".iso") {
            return Self::of(Kind::Iso, rest);
        }
        if let Some(rest) = path.strip_suffix("-uki.efi") {
            return Self::of(Kind::Uki, rest);
        }
        if let Some(rest) = path.strip_suffix(".tar") {
            if let Some(rest) = rest.strip_prefix("installer-") {
                return Self::of(Kind::Installer, &format!("metal-{rest}"));
            }
            if let Some((platform, rest)) = rest.split_once("-installer-") {
                return Self::of(Kind::Installer, &format!("{platform}-{rest}"));
            }
        }
        let packings = [Packing::Gz, Packing::Xz, Packing::Zst];
        let cut = |packing: &Packing| path.strip_suffix(packing.extension())?.strip_suffix('.').map(|rest| (rest, Some(*packing)));
        let (rest, packing) = packings.iter().find_map(cut).unwrap_or((path, None));
        let formats = [(".raw", Format::Raw), (".qcow2", Format::Qcow2)];
        let found = formats.iter().find_map(|(extension, format)| rest.strip_suffix(extension).map(|rest| (rest, *format)));
        let (rest, format) = found.ok_or_else(|| invalid(format!("error parsing profile from path: invalid profile path: {rest:?}")))?;
        Self::of(Kind::Disk(format, packing), rest)
    }

    /// `<platform>-<arch>[-secureboot]`.
    fn of(kind: Kind, text: &str) -> Result<Self, BuildError> {
        let (text, secure_boot) = text.strip_suffix("-secureboot").map_or((text, false), |rest| (rest, true));
        let cut = ELSEWHERE.iter().find_map(|name| text.strip_prefix(name)?.strip_prefix('-').map(|rest| (*name, rest)));
        let (platform, rest) = cut
            .or_else(|| text.split_once('-'))
            .ok_or_else(|| invalid(format!("error parsing profile from path: invalid platform-arch: {text:?}")))?;
        let arch = arch(rest)?;
        let platform = platform_of(platform)?;
        Ok(Self { kind, platform, arch, secure_boot })
    }

    /// The image this file would carry.
    pub(super) fn image(&self, id: &str, schematic: &Schematic, version: Version) -> Result<Image, BuildError> {
        let mut extensions = Vec::new();
        if !matches!(self.kind, Kind::Cmdline | Kind::Kernel) {
            if !schematic.embedded.is_empty() && !version.at_least(12) {
                let what = format!("embedding configuration is not supported for Talos version v{version}");
                return Err(enhancing(&what));
            }
            for name in &schematic.extensions {
                let official = catalogue::extension(name, version);
                let missing = || enhancing(&format!("official extension {name:?} is not available for Talos version v{version}"));
                extensions.push(official.ok_or_else(missing)?);
            }
            if let Some(overlay) = &schematic.overlay
                && !catalogue::overlays(version).iter().any(|known| known.name == overlay.name)
            {
                return Err(enhancing(&format!("official overlay {:?} is not available for Talos version v{version}", overlay.name)));
            }
        }
        // Installers of old versions bring no kernel arguments, and none brings META (facts/talos.md §5.2).
        let installs = matches!(self.kind, Kind::Installer | Kind::Uki);
        let kernel_args = if installs && !self.secure_boot && !version.at_least(10) { Vec::new() } else { schematic.kernel_args.clone() };
        Ok(Image {
            version: format!("v{version}"),
            platform: self.platform,
            arch: self.arch.into(),
            medium: if self.kind == Kind::Iso { Medium::Iso } else { Medium::Disk },
            secure_boot: self.secure_boot,
            schematic: id.to_owned(),
            customization: schematic.canonical(),
            extensions,
            kernel_args,
            meta: if installs { BTreeMap::new() } else { schematic.meta.iter().cloned().collect() },
        })
    }

    /// The bytes of the file.
    pub(super) fn bytes(&self, image: &Image) -> Vec<u8> {
        match self.kind {
            Kind::Iso => image::encode(image, Format::Iso),
            Kind::Disk(format, packing) => {
                let bytes = image::encode(image, format);
                packing.map_or_else(|| bytes.clone(), |packing| image::pack(&bytes, packing))
            }
            Kind::Cmdline => cmdline(image).into_bytes(),
            Kind::Initramfs => image::pack(note("initramfs", image).as_bytes(), Packing::Xz),
            // Nothing here boots over the network or unpacks an installer: these name what they stand for.
            Kind::Kernel => note("kernel", image).into_bytes(),
            Kind::Uki => note("unified kernel image", image).into_bytes(),
            Kind::Installer => note("installer", image).into_bytes(),
        }
    }

    /// The script that boots this over the network.
    pub(super) fn pxe(&self, image: &Image, base: &str) -> String {
        let (arch, folder) = (self.arch, format!("{base}/image/{}/{}", image.schematic, image.version));
        if self.secure_boot {
            let platform = self.platform.name();
            return format!("#!ipxe\n\nkernel {folder}/{platform}-{arch}-secureboot-uki.efi {}\nboot\n", cmdline(image));
        }
        format!("#!ipxe\n\nkernel {folder}/kernel-{arch} {}\ninitrd {folder}/initramfs-{arch}.xz\nboot\n", cmdline(image))
    }
}

/// The installer image for a platform: what an upgrade to it writes.
pub(super) fn installer(platform: &str, secure_boot: bool, id: &str, schematic: &Schematic, version: Version) -> Result<Image, BuildError> {
    let platform = platform_of(if platform.is_empty() { "metal" } else { platform })?;
    let asset = Asset { kind: Kind::Installer, platform, arch: "amd64", secure_boot };
    asset.image(id, schematic, version)
}

/// The kernel's command line: Talos's own, the platform's, the schematic's.
fn cmdline(image: &Image) -> String {
    let mut line = format!("talos.platform={}", image.platform.name());
    line.push_str(match image.platform {
        Platform::Nocloud => " console=tty1 console=ttyS0 net.ifnames=0",
        Platform::Metal => " console=tty0",
    });
    line.push_str(" init_on_alloc=1 slab_nomerge pti=on consoleblank=0 nvme_core.io_timeout=4294967295 printk.devkmsg=on");
    for argument in &image.kernel_args {
        line.push(' ');
        line.push_str(argument);
    }
    line
}

fn note(what: &str, image: &Image) -> String {
    format!("simulated {what} of Talos {} for {}, schematic {}\n", image.version, image.arch, image.schematic)
}

fn platform_of(name: &str) -> Result<Platform, BuildError> {
    match name {
        "metal" => Ok(Platform::Metal),
        "nocloud" => Ok(Platform::Nocloud),
        name if ELSEWHERE.contains(&name) => Err(invalid(format!("platform {name:?} is not simulated"))),
        name => Err(invalid(format!("unknown platform {name:?}"))),
    }
}

fn arch(name: &str) -> Result<&'static str, BuildError> {
    match name {
        "amd64" | "x86_64" | "i386" => Ok("amd64"),
        "arm64" => Ok("arm64"),
        other => Err(invalid(format!("error parsing profile from path: invalid architecture: {other:?}"))),
    }
}

fn enhancing(what: &str) -> BuildError {
    invalid(format!("error enhancing profile from schematic: {what}"))
}

fn invalid(what: String) -> BuildError {
    BuildError::Invalid(what)
}

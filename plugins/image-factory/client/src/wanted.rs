//! What a node asks of its image.

use emhost_schematic::Schematic;
use emhost_sdk::inventory::Architecture;
use emhost_sdk::{Failure, Unit};

use crate::extensions;
use crate::network::Card;
use crate::version::Version;

/// What a node asks of its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The node's name.
    pub node: String,
    /// The version of Talos.
    pub version: Version,
    /// As images are named.
    pub architecture: &'static str,
    /// Whether the firmware checks signatures.
    pub secure_boot: bool,
    /// Official extensions, each once and in order: the same wish is the same image.
    pub extensions: Vec<String>,
    /// Kernel arguments, each once. Their order is kept, because the last of two wins.
    pub kernel_args: Vec<String>,
    /// The card it is reached by.
    pub card: Option<Card>,
    /// Name servers.
    pub resolvers: Vec<String>,
}

impl Wanted {
    /// Reads what the inventory and the other plugins want for this node.
    ///
    /// # Errors
    /// A value that no image can have.
    pub fn of(unit: Unit<'_>) -> Result<Self, Failure> {
        let contribution = unit.node.contribution();
        Self {
            node: unit.node.name(),
            version: Version::wanted(&unit.cluster.os_version())?,
            architecture: match unit.node.architecture() {
                Architecture::Amd64 => "amd64",
                Architecture::Arm64 => "arm64",
            },
            secure_boot: unit.node.secure_boot(),
            extensions: contribution.extensions,
            kernel_args: contribution.kernel_args,
            card: Card::of(&unit.node.cards())?,
            resolvers: unit.cluster.resolvers(),
        }
        .checked()
    }

    /// The same with its lists in order.
    ///
    /// # Errors
    /// A value that no image can have.
    pub fn checked(mut self) -> Result<Self, Failure> {
        self.extensions.sort();
        self.extensions.dedup();
        self.extensions.iter().try_for_each(|name| extensions::check(name))?;
        let mut seen = Vec::new();
        self.kernel_args.retain(|argument| {
            let new = !seen.contains(argument);
            seen.push(argument.clone());
            new
        });
        self.kernel_args.iter().try_for_each(|argument| check_argument(argument))?;
        Ok(self)
    }

    /// The image that fulfils the wish, without anything that is about one node only.
    pub fn schematic(&self) -> Schematic {
        Schematic { kernel_args: self.kernel_args.clone(), extensions: self.extensions.clone(), ..Schematic::default() }
    }
}

fn check_argument(argument: &str) -> Result<(), Failure> {
    let refused = |why: &str, help: &str| {
        let summary = format!("the kernel argument `{}` {why}", argument.escape_default());
        Err(Failure::invalid("boot/kernel-argument", summary).pointer("/kernel_args").help(help))
    };
    if argument.trim().is_empty() {
        return refused("is empty", "remove it from `kernel_args`");
    }
    if argument.contains(|c: char| c.is_control() || c == ' ') {
        return refused("has a space or a control character in it", "write each argument as an entry of `kernel_args` of its own");
    }
    if argument.trim_start_matches('-').split('=').next() == Some("talos.platform") {
        return refused("is set by the image", "remove it from `kernel_args`, and choose the platform in the boot source's settings");
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::samples;

    pub(crate) fn wanted(extensions: &[&str], kernel_args: &[&str]) -> Wanted {
        let list = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Wanted { extensions: list(extensions), kernel_args: list(kernel_args), ..samples::wanted() }
    }

    #[test]
    fn the_same_wish_is_the_same_image() {
        let one = wanted(&["siderolabs/util-linux-tools", "siderolabs/iscsi-tools"], &["b=1", "a", "b=1"]).checked().unwrap();
        let other = wanted(&["siderolabs/iscsi-tools", "siderolabs/util-linux-tools", "siderolabs/iscsi-tools"], &["b=1", "a"]);
        assert_eq!(one, other.checked().unwrap());
        let longhorn = wanted(&["siderolabs/util-linux-tools", "siderolabs/iscsi-tools"], &[]).checked().unwrap();
        assert_eq!(longhorn.schematic().id(), "613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245");
    }

    #[test]
    fn an_argument_that_cannot_be_is_refused() {
        for argument in ["", " ", "quiet splash", "a\nb", "talos.platform=metal", "-talos.platform"] {
            let failure = wanted(&[], &[argument]).checked().unwrap_err();
            assert_eq!(failure.diagnostics[0].pointer.as_deref(), Some("/kernel_args"), "{argument}");
        }
        assert!(wanted(&[], &["-console", "console=ttyS0,115200", "ip=10.0.0.5::10.0.0.1:255.255.255.0::eth0:off"]).checked().is_ok());
    }
}

//! The kernel's command line.

use emhost_sim_kit::{Image, Platform};

use super::Acquired;
use super::links::{Links, mask};

/// The arguments an image brings beyond those of every Talos.
pub(super) struct Cmdline<'a> {
    arguments: &'a [String],
}

impl<'a> Cmdline<'a> {
    pub(super) fn of(image: &'a Image) -> Self {
        Self { arguments: &image.kernel_args }
    }

    /// Every value of an argument, in order. One entry of a schematic may hold several arguments.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let words = self.arguments.iter().flat_map(|argument| argument.split_whitespace());
        words.filter_map(move |word| word.strip_prefix(name)?.strip_prefix('=')).map(|value| value.trim_matches('"'))
    }

    pub(super) fn first(&self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Whether the kernel names links by where they sit. `-name` takes a default away.
    pub(super) fn net_ifnames(&self, platform: Platform) -> bool {
        let removed = self.arguments.iter().any(|argument| argument == "-net.ifnames" || argument.starts_with("-net.ifnames="));
        match self.all("net.ifnames").last() {
            Some(value) => value != "0",
            None => platform == Platform::Metal || removed,
        }
    }

    /// `ip=` and `talos.hostname=`.
    pub(super) fn network(&self, links: &mut Links, found: &mut Acquired) -> Result<(), String> {
        found.hostname = self.first("talos.hostname").map(str::to_owned);
        for value in self.all("ip") {
            let fields = split(value);
            match fields.as_slice() {
                ["dhcp"] => {}
                [device, "dhcp"] => {
                    if let Some(link) = links.by_name(device) {
                        link.dhcp = true;
                    }
                }
                fields => static_address(fields, links, found)?,
            }
        }
        Ok(())
    }
}

/// `<client>:<server>:<gateway>:<mask>:<hostname>:<device>:<autoconf>:<dns0>:<dns1>:<ntp0>`.
fn static_address(fields: &[&str], links: &mut Links, found: &mut Acquired) -> Result<(), String> {
    let field = |index: usize| fields.get(index).copied().filter(|field| !field.is_empty());
    let parse = |what: &str, text: &str| text.parse::<std::net::IpAddr>().map_err(|_| format!("cmdline {what} parse failure: {text:?}"));
    let address = field(0).map(|text| parse("address", text)).transpose()?;
    let gateway = field(2).map(|text| parse("gateway", text)).transpose()?;
    let whole = if address.is_some_and(|address| address.is_ipv6()) { 128 } else { 32 };
    let prefix = field(3).map_or(Ok(whole), |text| mask(text).ok_or_else(|| format!("cmdline netmask parse failure: {text:?}")))?;
    if found.hostname.is_none() {
        found.hostname = field(4).map(str::to_owned);
    }
    for index in [7, 8] {
        if let Some(text) = field(index) {
            found.resolvers.push(parse("DNS", text)?);
        }
    }
    let link = match field(5) {
        Some(name) => links.by_name(name),
        None => links.first(),
    };
    if let Some(link) = link {
        if let Some(address) = address {
            link.add(address, prefix);
        }
        if let Some(gateway) = gateway {
            link.route(gateway);
        }
        link.dhcp |= field(6) == Some("dhcp");
    }
    Ok(())
}

/// Splits at colons that are not within the brackets of an IPv6 address.
fn split(value: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    let parts = value.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ':' && depth == 0
    });
    parts.map(|part| part.trim_matches(['[', ']'])).collect()
}

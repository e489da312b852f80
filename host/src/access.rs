//! Client configurations that a distribution makes (kubeconfig, talosconfig): where they lead, and how that is changed.
//!
//! A simulated site has its nodes at other addresses than the inventory says. Only the values that are addresses change, in place:
//! everything else of the text stays as its author wrote it.

use std::net::Ipv4Addr;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle};

/// Why a client configuration cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the client configuration is not YAML: {0}")]
pub struct AccessError(String);

/// One value that says where the client goes.
#[derive(Debug, PartialEq, Eq)]
struct Leads {
    at: Range<usize>,
    value: String,
    quoted: bool,
}

/// A key, or a place in a list.
type Step = Option<String>;

/// A list or mapping whose end was not seen yet.
struct Open {
    list: bool,
    key: Option<String>,
}

/// Whether a value of a kubeconfig or a talosconfig is where the client goes.
fn is_address(path: &[Step]) -> bool {
    let words: Vec<&str> = path.iter().map(|step| step.as_deref().unwrap_or("[]")).collect();
    matches!(words[..], ["clusters", "[]", "cluster", "server"] | ["contexts", _, "endpoints" | "nodes", "[]"])
}

fn addresses(text: &str) -> Result<Vec<Leads>, AccessError> {
    let mut found = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| AccessError(error.info()))?;
        match event {
            Event::Scalar(value, style, ..) => {
                if let Some(last) = open.last_mut().filter(|last| !last.list && last.key.is_none()) {
                    last.key = Some(value.into_owned());
                    continue;
                }
                let path: Vec<Step> = open.iter().map(|open| open.key.clone()).collect();
                if let (true, Some(start), Some(end)) = (is_address(&path), span.start.byte_offset(), span.end.byte_offset()) {
                    found.push(Leads { at: start..end, value: value.into_owned(), quoted: style != ScalarStyle::Plain });
                }
                close_value(&mut open);
            }
            Event::SequenceStart(..) => open.push(Open { list: true, key: None }),
            Event::MappingStart(..) => open.push(Open { list: false, key: None }),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                close_value(&mut open);
            }
            Event::Alias(_) => close_value(&mut open),
            _ => {}
        }
    }
    Ok(found)
}

/// After a value of a mapping comes a key.
fn close_value(open: &mut [Open]) {
    if let Some(last) = open.last_mut() {
        last.key = None;
    }
}

/// Where the client goes: servers, endpoints and nodes, each once.
///
/// # Errors
/// The text is not YAML.
pub fn leads_to(text: &str) -> Result<Vec<String>, AccessError> {
    let mut all: Vec<String> = Vec::new();
    for one in addresses(text)? {
        if !all.contains(&one.value) {
            all.push(one.value);
        }
    }
    Ok(all)
}

/// The same configuration with every address as `dial` has it. Names stay.
///
/// # Errors
/// The text is not YAML.
pub fn readdressed(text: &str, dial: impl Fn(Ipv4Addr) -> Ipv4Addr) -> Result<String, AccessError> {
    let mut written = String::with_capacity(text.len());
    let mut from = 0;
    for one in addresses(text)? {
        let Some(mapped) = mapped(&one.value, &dial) else { continue };
        let (Some(before), true) = (text.get(from..one.at.start), text.is_char_boundary(one.at.end)) else { continue };
        written.push_str(before);
        let quote = if one.quoted { "\"" } else { "" };
        written.extend([quote, &mapped, quote]);
        from = one.at.end;
    }
    written.push_str(text.get(from..).unwrap_or_default());
    Ok(written)
}

/// An address, alone or in a URL, with or without a port. None where a name leads.
pub fn mapped(value: &str, dial: impl Fn(Ipv4Addr) -> Ipv4Addr) -> Option<String> {
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), value),
    };
    let end = rest.find([':', '/']).unwrap_or(rest.len());
    let address: Ipv4Addr = rest[..end].parse().ok()?;
    Some(format!("{scheme}{}{}", dial(address), &rest[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dial(address: Ipv4Addr) -> Ipv4Addr {
        let [_, _, c, d] = address.octets();
        Ipv4Addr::new(127, 7, c, d)
    }

    #[test]
    fn only_where_a_kubeconfig_leads_changes() {
        let text = "\
apiVersion: v1
clusters:
- name: 10.0.10.11      # a name, not an address
  cluster:
    server: https://10.0.10.11:6443
    certificate-authority-data: MTAuMC4xMC4xMQ==
- cluster: {server: \"https://10.0.10.12:6443/prefix\"}
  name: second
- name: third
  cluster:
    server: https://api.example.com:6443
users:
- name: admin
  user: {server: https://10.0.10.11:6443}
";
        let mapped = readdressed(text, dial).expect("yaml");
        let expected = text
            .replacen("server: https://10.0.10.11:6443\n    cert", "server: https://127.7.10.11:6443\n    cert", 1)
            .replacen("https://10.0.10.12", "https://127.7.10.12", 1);
        assert_eq!(mapped, expected);
        let leads = ["https://127.7.10.11:6443", "https://127.7.10.12:6443/prefix", "https://api.example.com:6443"];
        assert_eq!(leads_to(&mapped).expect("yaml"), leads);
    }

    #[test]
    fn only_endpoints_and_nodes_of_a_talosconfig_change() {
        let text = "context: dev\ncontexts:\n    dev:\n        endpoints:\n            - 10.0.10.11\n            - '10.0.10.12:50000'\n        nodes: [10.0.10.11, node.example.com]\n        ca: 10.0.10.11\n";
        let mapped = readdressed(text, dial).expect("yaml");
        assert_eq!(
            mapped,
            "context: dev\ncontexts:\n    dev:\n        endpoints:\n            - 127.7.10.11\n            - \"127.7.10.12:50000\"\n        nodes: [127.7.10.11, node.example.com]\n        ca: 10.0.10.11\n"
        );
    }

    #[test]
    fn json_is_yaml_and_nonsense_is_not() {
        let mapped = readdressed(r#"{"clusters":[{"cluster":{"server":"https://10.0.10.11:6443"}}]}"#, dial).expect("yaml");
        assert_eq!(mapped, r#"{"clusters":[{"cluster":{"server":"https://127.7.10.11:6443"}}]}"#);
        assert!(readdressed("a: [", dial).is_err());
    }
}

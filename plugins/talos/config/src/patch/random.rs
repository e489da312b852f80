//! Random configurations and patches by the tables, merged here and by Talos itself.

use std::path::Path;

use super::merge_for;
use crate::diff::changes;
use crate::schema::{ANYTHING, Release, Shape, Table};
use crate::tree::{Node, Scalar, Style, emit};

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn pick(&mut self, words: &[&str]) -> String {
        words[self.below(words.len())].to_owned()
    }

    fn value(&mut self, shape: &Shape, release: Release, depth: usize) -> Option<Node> {
        match shape {
            Shape::List(element, _) => {
                Some(Node::List((0..self.below(3)).filter_map(|_| self.value(element, release, depth + 1)).collect()))
            }
            Shape::Map(element, _) => {
                let keys = ["a", "b", "c"].into_iter().filter(|_| self.below(2) == 0).collect::<Vec<_>>();
                Some(Node::Map(
                    keys.into_iter().filter_map(|key| Some((key.to_owned(), self.value(element, release, depth + 1)?))).collect(),
                ))
            }
            Shape::Named(name) if name.starts_with("x509.") => {
                let keys: &[&str] = if name.ends_with("AndKey") {
                    &["crt", "key"]
                } else if name.ends_with("Key") {
                    &["key"]
                } else {
                    &["crt"]
                };
                Some(Node::Map(keys.iter().map(|key| ((*key).to_owned(), Node::text(self.pick(&["YQ==", "Yg=="])))).collect()))
            }
            Shape::Named(name) if Table::get().is_struct(name) => {
                let mut entries: Vec<(String, Node)> = Vec::new();
                for key in Table::get().keys(name, release) {
                    // Without its protocol Talos cannot write a rule, and without its provider it writes no encryption.
                    if !entries.iter().any(|(known, _)| known == key.name)
                        && (self.below(3) > 0 || matches!(key.name, "protocol" | "portSelector" | "provider"))
                        && let Some(value) = self.value(&key.shape, release, depth + 1)
                    {
                        entries.push((key.name.to_owned(), value));
                    }
                }
                Some(Node::Map(entries))
            }
            Shape::Named(ANYTHING) => Some(self.anything(depth.min(3))),
            Shape::Named(leaf) => self.leaf(leaf),
        }
    }

    fn anything(&mut self, depth: usize) -> Node {
        let mut entries = Vec::new();
        for key in ["n", "t", "l", "m", "b"] {
            if self.below(2) == 0 {
                continue;
            }
            let value = match key {
                "n" => plain(&self.pick(&["0", "1", "7"])),
                "t" => Node::text(self.pick(&["", "x", "5"])),
                "b" => plain(&self.pick(&["true", "false"])),
                "l" => Node::List(vec![Node::text(self.pick(&["x", "y"]))]),
                _ if depth < 5 => self.anything(depth + 1),
                _ => continue,
            };
            entries.push((key.to_owned(), value));
        }
        Node::Map(entries)
    }

    fn leaf(&mut self, leaf: &str) -> Option<Node> {
        let words: &[&str] = match leaf {
            "text" => return Some(Node::text(self.pick(&["", "a", "b", "c"]))),
            "bool" | "cel.Expression" => &["true", "false"],
            "int" | "uint" | "uint8" | "uint16" | "uint32" | "uint64" | "v1alpha1.FileMode" => &["0", "1", "7"],
            "duration" => &["0s", "1m0s", "5s"],
            "netip.Addr" | "network.Addr" => &["10.0.0.1", "10.0.0.2"],
            "netip.Prefix" | "network.Prefix" => &["10.0.0.0/24", "10.0.1.0/24"],
            "netip.AddrPort" | "network.AddrPort" => &["10.0.0.1:80"],
            "block.ByteSize" => &["1GB", "2GiB"],
            "meta.URL" | "v1alpha1.Endpoint" => &["https://a:1/x", "https://b", "tcp://c:2/?q=1"],
            "v1alpha1.ArgValue" => &["a", "b"],
            "v1alpha1.DiskSize" => &["10GB", "5GB"],
            "network.PortRange" => &["80", "90-100"],
            "nethelpers.DefaultAction" => &["accept", "block"],
            "nethelpers.RoutingTable" => &["main", "unspec"],
            "nethelpers.Protocol" => &["tcp", "udp"],
            "nethelpers.BondMode" => &["balance-rr", "802.3ad"],
            "nethelpers.AutoHostnameKind" => &["'off'", "stable"],
            "nethelpers.LACPRate" => &["slow", "fast"],
            "block.EncryptionProviderType" => &["luks2"],
            "v1alpha1.Base64Bytes" => &["YQ==", "Yg=="],
            _ => return None,
        };
        let word = self.pick(words);
        Some(if word.starts_with('\'') { Node::text(word.trim_matches('\'')) } else { plain(&word) })
    }

    fn configuration(&mut self, release: Release) -> Vec<Node> {
        let main = self.value(&Shape::Named(crate::schema::MAIN), release, 0).unwrap();
        let mut documents = vec![main];
        let mut kinds = Table::get().kinds(release);
        kinds.sort_unstable();
        for (kind, name) in kinds {
            // Talos fails to merge the addresses of a routing rule, even with nothing.
            if self.below(3) == 0
                && kind != "RoutingRuleConfig"
                && let Some(Node::Map(mut entries)) = self.value(&Shape::Named(name), release, 0)
            {
                entries.retain(|(key, _)| !matches!(key.as_str(), "apiVersion" | "kind" | "name"));
                let named = Table::get().key(name, "name", release).is_some();
                let head = [("apiVersion", "v1alpha1"), ("kind", kind)].into_iter().chain(named.then_some(("name", kind)));
                documents.push(Node::Map(head.map(|(key, value)| (key.to_owned(), Node::text(value))).chain(entries).collect()));
            }
        }
        documents
    }
}

fn plain(text: &str) -> Node {
    Node::Scalar(Scalar { text: text.to_owned(), style: Style::Plain })
}

fn judged(program: &Path, texts: &[&str]) -> Result<String, String> {
    emhost_oracles::on_files(program, "patch", texts)
}

#[test]
fn talos_merges_random_patches_the_same() {
    let rounds: u64 = std::env::var("EMHOST_ROUNDS").map_or(8, |rounds| rounds.parse().unwrap());
    let mut wrong = Vec::new();
    let mut refused = 0;
    for (release, minor) in [("v1.11.5", 11), ("v1.12.1", 12), ("v1.13.0", 13)] {
        let Some(program) = emhost_oracles::program(&format!("talos-oracle-{release}"), "talos-oracle") else { continue };
        for round in 0..rounds {
            let mut random = Random(round * 3 + u64::from(minor));
            let rules = Release(Some(minor));
            let base = emit(&random.configuration(rules));
            let patch = emit(&random.configuration(rules));
            let theirs = judged(&program, &[&base, &patch]);
            match (merge_for(minor, &base, &[&patch]), theirs) {
                (Ok(ours), Ok(theirs)) => {
                    // What Talos writes must mean the same, and be the same once Talos has read and written ours too.
                    let meant = changes(&ours, &theirs);
                    let more = "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: more\nurl: tcp://192.0.2.1:1\n";
                    let [ours, theirs] = [ours, theirs].map(|text| judged(&program, &[&text, more]));
                    if ours != theirs || meant != Ok(Vec::new()) {
                        wrong.push(format!(
                            "== {release} {round}\n{base}\n-- patch\n{patch}\n-- ours {ours:?}\n-- theirs {theirs:?}\n-- meant {meant:?}"
                        ));
                    }
                }
                (Err(_), Err(_)) => refused += 1,
                (ours, theirs) => wrong.push(format!(
                    "== {release} {round}\n{base}\n-- patch\n{patch}\n-- ours {:?}\n-- theirs {:?}",
                    ours.err(),
                    theirs.err()
                )),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong, {refused} refused by both\n{}", wrong.len(), wrong.join("\n"));
    assert!(refused < rounds, "{refused} refused");
}

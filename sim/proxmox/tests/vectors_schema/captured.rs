//! What a real client sent, recorded on the wire: all of it has an endpoint and passes its checks.

use std::collections::BTreeMap;

use emhost_oracles::facts;
use emhost_sim_proxmox::schema::Given;
use serde_json::Value as Json;

use crate::{BOTH, call};

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
                rest = tail;
            }
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn form(text: &str) -> BTreeMap<String, Given> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value).into())).collect()
}

#[test]
fn what_terraform_sent_is_let_through() {
    for name in ["bpg-v0.80.0-clone-apply.jsonl", "bpg-v0.80.0-create-import-apply.jsonl"] {
        let Some(text) = facts(&format!("wire/{name}")) else { return };
        for line in text.lines() {
            let line: Json = serde_json::from_str(line).unwrap();
            let [_, method, url, _, body] = line.as_array().unwrap().as_slice() else { panic!("{line}") };
            let (url, body) = (url.as_str().unwrap(), body.as_str().unwrap());
            let (path, query) = url.split_once('?').unwrap_or((url, ""));
            let path = decoded(path.strip_prefix("/api2/json").unwrap());
            let mut given = form(body);
            given.extend(form(query));
            for release in BOTH {
                let outcome = call(release, method.as_str().unwrap(), &path, given.clone());
                let params = outcome.unwrap_or_else(|fail| panic!("{release:?} {method} {path}: {fail:?}"));
                assert!(given.keys().all(|name| params.has(name)), "{release:?} {method} {path}");
            }
        }
    }
}

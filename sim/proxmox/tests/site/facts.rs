//! The recorded answers of Proxmox's own code, where they are there to be checked against.

use emhost_sim_proxmox::Release;
use serde_json::Value;

/// One recorded answer: which release, what was asked, what came back.
pub struct Recorded {
    pub release: Release,
    pub line: usize,
    pub input: Value,
    pub expect: Value,
}

/// The whole file, line by line as it is. None where there are no records.
pub fn file() -> Option<Vec<Value>> {
    let text = emhost_oracles::facts("pve-vectors.jsonl")?;
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Why a recorded answer is not compared, for the few that are not.
pub fn exception(input: &Value, expect: &Value) -> Option<&'static str> {
    let put = expect["put"].is_object();
    (put && input["key"] == "import-working-storage")
        .then_some("the published schema of PUT config does not have the parameter; the recorder's stand-in took it")
}

/// Every recorded answer of some suites; an answer that is the same on 9 counts for both. None where there are no records.
pub fn recorded(suites: &[&str]) -> Option<Vec<Recorded>> {
    let mut found = Vec::new();
    for (index, value) in file()?.into_iter().enumerate() {
        if !suites.contains(&value["suite"].as_str().unwrap()) {
            continue;
        }
        let both = value["same_on_9"] == true;
        let releases: &[Release] = match value["pve"].as_str().unwrap() {
            "8.4" if both => &[Release::V8, Release::V9],
            "8.4" => &[Release::V8],
            _ => &[Release::V9],
        };
        for release in releases {
            found.push(Recorded { release: *release, line: index + 1, input: value["input"].clone(), expect: value["expect"].clone() });
        }
    }
    Some(found)
}

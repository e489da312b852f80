//! The judges: small programs around Talos's own code, and the real client.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use emhost_talos_config::{Bundle, Contract};

/// The releases that there is a judge for, one of each minor version.
pub const RELEASES: [&str; 6] = ["v1.8.2", "v1.9.5", "v1.10.6", "v1.11.5", "v1.12.1", "v1.13.0"];
/// The releases that there is a client of.
pub const CLIENTS: [&str; 2] = ["v1.11.5", "v1.12.1"];

/// The generator and validator of a release, where it is built.
pub fn judge(release: &str) -> Option<PathBuf> {
    emhost_oracles::program(&format!("talos-oracle-{release}"), "talos-oracle")
}

/// The client of a release, where it is built.
pub fn client(release: &str) -> Option<PathBuf> {
    emhost_oracles::program(&format!("talosctl-{release}"), "talosctl")
}

/// What a program prints.
pub fn run(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).env("HOME", std::env::temp_dir()).output().unwrap();
    let said = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(said(output.stdout)) } else { Err(said(output.stderr) + &said(output.stdout)) }
}

pub fn contract(release: &str) -> Contract {
    Contract::of(release).unwrap()
}

/// Secrets of a judge, which take long to make: those of the first that is there, for all tests.
pub fn theirs() -> Option<&'static str> {
    static SECRETS: OnceLock<Option<String>> = OnceLock::new();
    let made =
        || RELEASES.iter().find_map(|release| judge(release)).map(|judge| run(&judge, &["secrets", "--talos-version", "v1.11"]).unwrap());
    SECRETS.get_or_init(made).as_deref()
}

/// Secrets of ours, the same in every run. The key of the service accounts is the judge's, since making one is the host's work.
pub fn ours() -> Option<Bundle> {
    let mut bundle = Bundle::from_yaml(theirs()?).unwrap();
    let mut state = 7_u64;
    let mut random = |bytes: &mut [u8]| {
        for byte in bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = state.to_be_bytes()[0];
        }
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let new = Bundle::new(now, &mut random, &pkcs8(&bundle.service_account)).unwrap();
    assert_eq!(new.service_account, bundle.service_account);
    bundle = new;
    Some(bundle)
}

/// An RSA key as the host hands it out.
fn pkcs8(pkcs1: &str) -> String {
    use pkcs8::der::pem::{LineEnding, decode_vec, encode_string};
    let (_, bytes) = decode_vec(pkcs1.as_bytes()).unwrap();
    let length = |length: usize| [0x82, u8::try_from(length >> 8).unwrap(), u8::try_from(length & 0xff).unwrap()];
    let octets = [&[0x04], length(bytes.len()).as_slice(), &bytes].concat();
    let head = [0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
    let whole = [&[0x30], length(head.len() + octets.len()).as_slice(), &head, &octets].concat();
    encode_string("PRIVATE KEY", LineEnding::LF, &whole).unwrap()
}

/// A file in a folder of its own.
pub fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// The lines that two texts do not share.
pub fn difference(ours: &str, theirs: &str) -> Vec<String> {
    let (ours, theirs): (Vec<_>, Vec<_>) = (ours.lines().collect(), theirs.lines().collect());
    let gone = ours.iter().filter(|line| !theirs.contains(line)).map(|line| format!("ours: {line}"));
    let come = theirs.iter().filter(|line| !ours.contains(line)).map(|line| format!("theirs: {line}"));
    gone.chain(come).collect()
}

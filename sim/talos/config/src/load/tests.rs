use super::super::oracle::Oracle;
use super::*;

const V11: Version = Version::new(1, 11, 5);
const V12: Version = Version::new(1, 12, 1);
const V13: Version = Version::new(1, 13, 0);

fn refusal(text: &str, version: Version) -> String {
    load(text.as_bytes(), version).map_or_else(|error| error.to_string(), |config| format!("loaded: {config:?}"))
}

#[test]
fn unknown_keys_are_shown_with_the_way_to_them() {
    let text = "machine:\n  type: worker\n  nework: {}\n  install:\n    disk: /dev/sda\n    wipes: true\n    grubUseUKICmdline: true\n  registries:\n    mirrors:\n      ghcr.io:\n        endpoint: [a]\n";
    assert_eq!(
        refusal(text, V11),
        "unknown keys found during decoding:\nmachine:\n    install:\n        grubUseUKICmdline: true\n        wipes: true\n    nework: {}\n    registries:\n        mirrors:\n            ghcr.io:\n                endpoint: [a]\n"
    );
    assert!(!refusal(text, V12).contains("grubUseUKICmdline"));
    assert!(refusal(text, V13).starts_with("error decoding document /v1alpha1/ (line 1): unknown keys found during decoding:\nmachine:\n"));
}

#[test]
fn kinds_are_known_from_their_version_on() {
    let text = "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: n1\n";
    assert_eq!(refusal(text, V11), "\"HostnameConfig\" \"v1alpha1\": not registered");
    assert!(load(text.as_bytes(), V12).is_ok_and(|config| !config.is_complete()));
    assert_eq!(refusal("apiVersion: v1alpha1\nkind: Foo\n", V12), "\"Foo\" \"v1alpha1\": not registered");
    assert_eq!(refusal("apiVersion: v2\nkind: HostnameConfig\n", V12), "\"HostnameConfig\" \"v2\": not registered");
    assert_eq!(refusal("apiVersion: v2\nhostname: a\n", V12), "missing kind");
    assert_eq!(refusal("kind: HostnameConfig\n", V13), "error decoding document /HostnameConfig/ (line 1): missing apiVersion");
}

#[test]
fn a_document_is_there_once() {
    let one = "apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\n";
    assert_eq!(refusal(&format!("{one}---\n{one}"), V12), "duplicate document v1alpha1/LinkConfig/eth0 is not allowed");
    let other = one.replace("eth0", "eth1");
    assert!(load(format!("{one}---\n{other}").as_bytes(), V12).is_ok());
    let vlan = one.replace("LinkConfig", "VLANConfig");
    assert_eq!(refusal(&format!("{one}---\n{vlan}"), V12), "conflicting documents: LinkConfig/eth0 and VLANConfig/eth0");
    assert_eq!(refusal("machine: {}\n---\ncluster: {}\n", V12), "duplicate document /v1alpha1/ is not allowed");
}

#[test]
fn values_of_a_wrong_kind_are_refused_together() {
    let text = "machine:\n  certSANs: x\n  kubelet:\n    registerWithFQDN: maybe\n  network: []\ncluster:\n  controlPlane:\n    localAPIServerPort: many\n";
    assert_eq!(
        refusal(text, V11),
        "error decoding  to *v1alpha1.Config: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!str `x` into []string\n  line 4: cannot unmarshal !!str `maybe` into bool\n  line 5: cannot unmarshal !!seq into v1alpha1.NetworkConfig\n  line 8: cannot unmarshal !!str `many` into int"
    );
    let key = "machine:\n  ca:\n    crt: '*'\n";
    assert_eq!(refusal(key, V11), "error decoding  to *v1alpha1.Config: illegal base64 data at input byte 0");
    assert_eq!(
        refusal(key, V12),
        "error decoding  to *v1alpha1.Config: yaml: unmarshal errors:\n  line 3: illegal base64 data at input byte 0"
    );
    assert_eq!(
        refusal("debug: true\ndebug: false\n", V12),
        "error decoding  to *v1alpha1.Config: yaml: unmarshal errors:\n  line 2: mapping key \"debug\" already defined at line 1"
    );
}

#[test]
fn what_is_no_document_is_no_configuration() {
    assert_eq!(refusal("", V12), "config not found");
    assert_eq!(refusal("# nothing\n", V12), "config not found");
    assert_eq!(refusal("just words", V12), "recovered: expected a mapping node");
    assert_eq!(refusal("just words", V13), "expected a YAML document at line 1");
    assert!(refusal("machine:\n\ttype: worker\n", V12).starts_with("decode error: yaml: line 2: "));
}

#[test]
fn flags_may_have_several_values_once_the_check_lets_them() {
    let text = "machine: {kubelet: {extraArgs: {a: [b, c]}}}\n";
    assert!(refusal(text, V12).contains("cannot unmarshal !!seq into string"));
    assert!(refusal(text, V13).contains("unexpected type for yaml sequence: v1alpha1.ArgValue"));
    assert!(load(text.as_bytes(), Version::new(1, 13, 6)).is_ok());
}

#[test]
fn aliases_do_not_eat_the_machine() {
    let mut text = "machine:\n  env:\n    a0: &a0 x\n  baseRuntimeSpecOverrides:\n    b0: &b0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
    for level in 1..12 {
        use std::fmt::Write;
        let below = level - 1;
        writeln!(text, "    b{level}: &b{level} [*b{below},*b{below},*b{below},*b{below},*b{below},*b{below},*b{below},*b{below}]")
            .unwrap();
    }
    assert_eq!(refusal(&text, V12), "decode error: yaml: document contains excessive aliasing");
}

/// The texts of refusals at loading are those of Talos itself.
#[test]
fn refusals_read_as_those_of_talos() {
    let texts: Vec<String> = [
        "machine:\n  typ: worker\n",
        "machine:\n  type: [worker]\n",
        "machine:\n  type: {a: b}\n  token: 5\n",
        "machine:\n  install:\n    wipe: perhaps\n    bootloader: 1\n",
        "machine:\n  ca: text\n",
        "machine:\n  ca: {crt: a b c}\n",
        "machine:\n  ca: {crt: [1]}\n",
        "machine:\n  acceptedCAs: [{crt: '', key: x}]\n",
        "machine:\n  sysctls: {a: 1, b: true, c: null, d: [x]}\n",
        "machine:\n  sysctls:\n    a: 1\n    a: 2\n",
        "machine:\n  disks:\n  - device: /dev/sdb\n    partition: []\n    other: {x: [1, {y: 'z'}]}\n",
        "machine:\n  time: {bootTimeout: 5}\n",
        "machine:\n  time: {bootTimeout: 5 minutes}\n",
        "machine:\n  files: [{permissions: 0o666}, {permissions: -1}, {permissions: rw}]\n",
        "machine:\n  install: {diskSelector: {size: big}}\n",
        "machine:\n  disks: [{partitions: [{size: 10 parsecs}]}]\n",
        "cluster:\n  controlPlane: {endpoint: 10.0.0.1:6443}\n",
        "cluster:\n  controlPlane: {endpoint: [a]}\n",
        "cluster:\n  inlineManifests: {a: b}\n",
        "cluster:\n  apiServer:\n    extraArgs: [a]\n",
        "kind: Nothing\napiVersion: v1alpha1\n",
        "kind: v1alpha1\napiVersion: v1alpha1\nmachine: {}\n",
        "apiVersion: v1alpha1\n",
        "apiVersion: v1alpha1\nkind:\n",
        "kind: [a]\n",
        "version: v1alpha1\n",
        "[]\n",
        "~\n",
        "---\n---\nmachine: {}\n",
        "apiVersion: v1alpha1\nkind: NetworkDefaultActionConfig\ningress: maybe\n",
        "apiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: a\nportSelector: {ports: [70000, a-b, '53'], protocol: sctp}\n",
        "apiVersion: v1alpha1\nkind: KubeSpanEndpointsConfig\nextraAnnouncedEndpoints: [10.0.0.1]\n",
        "apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ntimeout: 5\nextra1: 1\nextra10: 2\nextra2: \"3\"\nExtra: {}\n_x: ''\n",
        "apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nprovisioning: {maxSize: 50%, minSize: lots}\n",
        "apiVersion: v1alpha1\nkind: SideroLinkConfig\napiUrl: ':x'\n",
        "apiVersion: v1alpha1\nkind: EthernetConfig\nname: a\nrings: {rx: -1, tx: 5000000000}\nfeatures: {a: on, b: x}\n",
        "apiVersion: v1alpha1\nkind: LinkConfig\nname: a\naddresses: [{address: 10.0.0.1}]\n",
        "apiVersion: v1alpha1\nkind: DHCPv4Config\nname: a\nduidRaw: 'xyz'\nclientIdentifier: Foo\n",
        "apiVersion: v1alpha1\nkind: HostnameConfig\nauto: sometimes\n",
        "apiVersion: v1alpha1\nkind: LinkConfig\nname: a\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: a\n",
        "apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: a\n---\napiVersion: v1alpha1\nkind: ExistingVolumeConfig\nname: a\n",
    ]
    .map(str::to_owned)
    .to_vec();
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for oracle in Oracle::all() {
        let verdicts = oracle.judge(folder.path(), "cloud", &texts);
        for (text, verdict) in texts.iter().zip(verdicts) {
            let ours = load(text.as_bytes(), oracle.version).map_or_else(|error| error.to_string().replace('\n', "; "), |_| String::new());
            // What loads is refused later, by validation.
            let theirs = if verdict.text.contains(" occurred:; ") || verdict.accepted { String::new() } else { verdict.text };
            if ours != theirs {
                wrong.push(format!("{} {text:?}\n  ours:   {ours}\n  theirs: {theirs}", oracle.version));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

use std::collections::BTreeMap;

use super::super::{Version, load};
use super::*;

#[test]
fn nothing_that_is_sent_breaks_the_reader() {
    let base = "version: v1alpha1\nmachine:\n  type: controlplane\n  ca: {crt: QUJD, key: QUJD}\n  network:\n    interfaces:\n    - interface: eth0\n      addresses: [10.0.0.1/24]\n      vlans: [{vlanId: 5}]\n      bond: {mode: 802.3ad, interfaces: &a [eth1, \"é\"]}\n  install: {diskSelector: {size: '>= 5GB'}}\n  time: {bootTimeout: 1m}\ncluster:\n  controlPlane: {endpoint: 'https://[fd00::1]:6443'}\n  inlineManifests:\n  - name: m\n    contents: |\n      a: b\n---\napiVersion: v1alpha1\nkind: UserVolumeConfig\nname: data\nprovisioning:\n  diskSelector: {match: \"disk.size > 5u * GiB && glob('a*', disk.serial)\"}\n  minSize: 10GiB\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\naddresses: [{address: fd00::1/64}]\n";
    let version = Version::new(1, 12, 1);
    assert!(load(base.as_bytes(), version).is_ok());
    let signs = b"\0\n\t :-[]{}&*!|>'\"%@`#,?~<.0159azAZ\x80\xc3\xa9\xff";
    let mut seed = 11_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let (mut loaded, rounds) = (0, 3000);
    for _ in 0..rounds {
        let mut text = base.as_bytes().to_vec();
        for _ in 0..=random(3) {
            let at = random(text.len());
            match random(3) {
                0 => text[at] = signs[random(signs.len())],
                1 => text.insert(at, signs[random(signs.len())]),
                _ => {
                    let end = (at + random(12)).min(text.len());
                    text.drain(at..end);
                }
            }
        }
        let Ok(config) = load(&text, version) else { continue };
        loaded += 1;
        let _ = (validate(&config, Mode::Metal), config.links(), config.user_volumes(), config.install(), config.vips());
        assert_eq!(super::super::diff::diff(&config, &config), "");
        assert!(super::super::scope(&config, &config, version).is_at_once() || !config.is_complete());
    }
    assert!(loaded > rounds / 20, "only {loaded} of {rounds} could be read at all");
}

#[test]
fn refusals_name_everything_that_is_wrong() {
    let version = Version::new(1, 11, 5);
    let config = load(b"machine: {type: worker, network: {interfaces: [{interface: eth0, vip: {ip: 10.0.0.10}}]}}\n", version).unwrap();
    assert_eq!(
        validate(&config, Mode::Metal).unwrap_err().to_string(),
        "4 errors occurred:\n\t* cluster instructions are required\n\t* install instructions are required in \"metal\" mode\n\t* issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)\n\t* virtual (shared) IP is not allowed on non-controlplane nodes\n\n"
    );
    assert_eq!(validate(&config, Mode::Cloud).unwrap_err().problems().len(), 3);
    let later = load(config.text(), Version::new(1, 12, 1)).unwrap();
    assert!(
        validate(&later, Mode::Cloud)
            .unwrap_err()
            .to_string()
            .starts_with("1 error occurred:\n\t* v1alpha1.Config: 3 errors occurred:\n\t* ")
    );
}

#[test]
fn two_documents_may_not_say_the_same() {
    let version = Version::new(1, 12, 1);
    let main = "machine: {type: worker, ca: {crt: QQ==}, network: {hostname: a, nameservers: [1.1.1.1]}, time: {servers: [a]}}\ncluster: {controlPlane: {endpoint: 'https://a:6443'}}\n";
    let problem = |document: &str| {
        let config = load(format!("{main}---\napiVersion: v1alpha1\n{document}").as_bytes(), version).unwrap();
        validate(&config, Mode::Cloud).unwrap_err().problems().to_vec()
    };
    assert_eq!(problem("kind: HostnameConfig\nhostname: b\n"), ["static hostname is already set in v1alpha1 config"]);
    assert_eq!(
        problem("kind: ResolverConfig\nnameservers: [{address: 9.9.9.9}]\n"),
        [".machine.network.nameservers is already set in v1alpha1 config"]
    );
    assert_eq!(
        problem("kind: TimeSyncConfig\nntp: {servers: [b]}\n"),
        ["time servers cannot be specified in both v1alpha1 and new-style configuration"]
    );
    assert_eq!(
        problem("kind: HostnameConfig\nhostname: b\nauto: stable\n"),
        ["HostnameConfig: 'auto' and 'hostname' cannot be set at the same time", "static hostname is already set in v1alpha1 config"]
    );
}

#[test]
fn a_machine_knows_more_than_its_configuration() {
    let version = Version::new(1, 11, 5);
    let read = |text: &str| load(text.as_bytes(), version).unwrap();
    let disks = [super::super::DiskFacts {
        dev_path: "/dev/vda".to_owned(),
        size: 20 << 30,
        serial: "system".to_owned(),
        transport: "virtio".to_owned(),
        ..super::super::DiskFacts::default()
    }];
    let running = Running { disks: &disks, systemd_boot: true };
    let config = read("machine: {type: worker, install: {diskSelector: {serial: 'sys*'}, extraKernelArgs: [a]}}\n");
    assert_eq!(
        runtime_validate(&config, Mode::Metal, running).unwrap(),
        ["extra kernel arguments are not supported when booting using SDBoot"]
    );
    let config = read("machine: {type: worker, install: {diskSelector: {serial: other}}, kubelet: {image: 'a:v1.20.0'}}\n");
    let problem = runtime_validate(&config, Mode::Metal, running).unwrap_err().to_string();
    assert!(
        problem.contains(
            "no disks matched the expression: glob(\"other\", disk.serial) && disk.transport != \"\" && !disk.readonly && !disk.cdrom"
        ),
        "{problem}"
    );
    assert!(
        problem.contains("kubelet image is not valid: version of Kubernetes 1.20.0 is too old to be used with Talos 1.11.5"),
        "{problem}"
    );
    let early = |text: &str| runtime_validate(&load(text.as_bytes(), Version::new(1, 8, 2)).unwrap(), Mode::Metal, running);
    assert_eq!(
        early("machine: {install: {disk: /dev/sdz}}\n").unwrap_err().problems(),
        ["specified install disk does not exist: \"/dev/sdz\""]
    );
    assert_eq!(
        early("machine: {install: {diskSelector: {serial: z}}}\n").unwrap_err().problems(),
        ["no disk found matching provided parameters"]
    );
    assert!(early("machine: {install: {disk: /dev/vda}}\n").is_ok());
    let by_count: BTreeMap<_, _> = [("1.28.9", false), ("1.29.0", true), ("1.34.2", true), ("1.35.0", false)].into();
    for (kubernetes, taken) in by_count {
        let config = read(&format!("machine: {{kubelet: {{image: 'ghcr.io/siderolabs/kubelet:v{kubernetes}'}}}}\n"));
        assert_eq!(runtime_validate(&config, Mode::Cloud, running).is_ok(), taken, "{kubernetes}");
    }
}

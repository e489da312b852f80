//! Bundles that both sides made.

use emhost_talos_config::{Bundle, Input, Role, generate};

use crate::programs::{CLIENTS, RELEASES, client, contract, file, judge, ours, run, theirs};

const ENDPOINT: &str = "https://10.0.0.10:6443";

#[test]
fn a_bundle_of_talos_is_read_and_written_back_byte_by_byte() {
    let Some(theirs) = theirs() else { return };
    assert_eq!(Bundle::from_yaml(theirs).unwrap().to_yaml().as_str(), theirs);
}

#[test]
fn a_bundle_of_ours_has_the_form_of_theirs() {
    let (Some(theirs), Some(ours)) = (theirs(), ours()) else { return };
    let ours = ours.to_yaml();
    assert_eq!(Bundle::from_yaml(&ours).unwrap().to_yaml(), ours);
    let keys = |text: &str| text.lines().map(|line| line.split(": ").next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(theirs));
    let length = |text: &str, key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap().len();
    for key in ["id: ", "secret: ", "bootstraptoken: ", "secretboxencryptionsecret: ", "token: "] {
        assert_eq!(length(&ours, key), length(theirs, key), "{key}");
    }
}

/// Every field of a certificate but those that are random: asked of a program that neither side wrote.
#[test]
fn authorities_are_like_those_of_talos() {
    let (Some(theirs), Some(ours)) = (theirs(), ours()) else { return };
    let theirs = Bundle::from_yaml(theirs).unwrap();
    let described = |certificate: &str| {
        let (_folder, path) = file("ca.pem", certificate);
        run("openssl".as_ref(), &["x509", "-in", &path, "-noout", "-text", "-certopt", "no_serial,no_validity,no_sigdump,no_pubkey"])
    };
    let verified = |certificate: &str| {
        let (_folder, path) = file("ca.pem", certificate);
        run("openssl".as_ref(), &["verify", "-check_ss_sig", "-CAfile", &path, &path]).unwrap()
    };
    if std::process::Command::new("openssl").arg("version").output().is_err() {
        emhost_oracles::skipped("openssl is not there, so certificates were not compared");
        return;
    }
    for (name, ours, theirs) in [
        ("etcd", &ours.etcd, &theirs.etcd),
        ("k8s", &ours.kubernetes, &theirs.kubernetes),
        ("aggregator", &ours.aggregator, &theirs.aggregator),
        ("os", &ours.os, &theirs.os),
    ] {
        let unnamed = |text: String| {
            // The identifier of the key is random on both sides.
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            let at = lines.iter().position(|line| line.contains("Subject Key Identifier")).unwrap();
            assert_eq!(lines[at + 1].trim().split(':').count(), 20, "{name}");
            lines.remove(at + 1);
            lines
        };
        assert_eq!(unnamed(described(&ours.certificate).unwrap()), unnamed(described(&theirs.certificate).unwrap()), "{name}");
        assert!(verified(&ours.certificate).ends_with("OK\n"), "{name}");
        let head = |pem: &str| pem.lines().next().unwrap().to_owned();
        assert_eq!((head(&ours.key), ours.key.len()), (head(&theirs.key), theirs.key.len()), "{name}");
    }
}

#[test]
fn every_version_loads_a_bundle_of_ours_and_makes_our_configurations_of_it() {
    let Some(bundle) = ours() else { return };
    let (_folder, secrets) = file("secrets.yaml", &bundle.to_yaml());
    for release in RELEASES {
        let Some(judge) = judge(release) else { continue };
        for (role, word) in [(Role::ControlPlane, "controlplane"), (Role::Worker, "worker")] {
            let minor = release.rsplit_once('.').unwrap().0;
            let arguments = ["gen", "--secrets", &secrets, "--endpoint", ENDPOINT, "--kubernetes", "1.31.1", "--talos-version", minor];
            let theirs = run(&judge, &[arguments.as_slice(), &["--type", word]].concat()).unwrap();
            let ours = generate(&bundle, &Input::new(contract(release), "v1.31.1", "c1", ENDPOINT, role)).unwrap();
            assert_eq!(ours, theirs, "{release} {word}");
        }
        // With the certificate of an administrator, the keys have signed something.
        let talosconfig = ["gen", "--secrets", &secrets, "--endpoint", ENDPOINT, "--type", "talosconfig"];
        assert!(run(&judge, &talosconfig).unwrap().contains("contexts:"), "{release}");
    }
}

/// The real client, with arguments that the judges do not have.
#[test]
fn talosctl_makes_our_configurations_of_a_bundle_of_either_side() {
    let (Some(theirs), Some(ours)) = (theirs(), ours()) else { return };
    for release in CLIENTS {
        let Some(talosctl) = client(release) else { continue };
        for bundle in [&ours, &Bundle::from_yaml(theirs).unwrap()] {
            let (folder, secrets) = file("secrets.yaml", &bundle.to_yaml());
            for minor in 8..=release[3..5].parse::<u16>().unwrap() {
                for (role, word) in [(Role::ControlPlane, "controlplane"), (Role::Worker, "worker")] {
                    let version = format!("v1.{minor}");
                    let out = folder.path().join(format!("{version}-{word}.yaml"));
                    let arguments = [
                        "gen",
                        "config",
                        "dev",
                        "https://api.example.com:6443",
                        "--with-secrets",
                        &secrets,
                        "--talos-version",
                        &version,
                        "--kubernetes-version",
                        "1.31.1",
                        "--additional-sans",
                        "10.0.0.11,10.0.0.20",
                        "--install-disk",
                        "/dev/vda",
                        "--install-image",
                        "factory.talos.dev/nocloud-installer/abc:v1.11.5",
                        "--config-patch",
                        r#"{"cluster": {"network": {"cni": {"name": "none"}, "podSubnets": ["10.1.0.0/16"], "serviceSubnets": ["10.2.0.0/16"]}}}"#,
                        "--with-docs=false",
                        "--with-examples=false",
                        "--output-types",
                        word,
                        "--output",
                        out.to_str().unwrap(),
                    ];
                    run(&talosctl, &arguments).unwrap();
                    let mut input = Input::new(contract(&version), "1.31.1", "dev", "https://api.example.com:6443", role);
                    "/dev/vda".clone_into(&mut input.disk);
                    input.installer = Some("factory.talos.dev/nocloud-installer/abc:v1.11.5".to_owned());
                    input.names = vec!["10.0.0.11".to_owned(), "10.0.0.20".to_owned()];
                    input.cni = emhost_talos_config::Cni::Other;
                    input.pod_subnets = vec!["10.1.0.0/16".to_owned()];
                    input.service_subnets = vec!["10.2.0.0/16".to_owned()];
                    let expected = std::fs::read_to_string(&out).unwrap();
                    assert_eq!(generate(bundle, &input).unwrap(), expected, "{release} {version} {word}");
                }
            }
        }
    }
}

//! Where keys are looked for, and whom a new file is for.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::capabilities::SecretStore as _;

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

fn with(folder: &Path, variables: &[(&str, &str)]) -> Result<Store, SecretsError> {
    Store::open(folder, environment(variables), Redactor::new())
}

#[test]
fn every_place_of_sops_is_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), TYPES).unwrap();
    let key = elsewhere.path().join("a key");
    fs::write(&key, TWO).unwrap();
    let config = elsewhere.path().join("config");
    fs::create_dir_all(config.join("sops/age")).unwrap();
    fs::write(config.join("sops/age/keys.txt"), format!("# several\n{}\n\n{TWO}", secret(ONE))).unwrap();
    let home = elsewhere.path().join("home");
    fs::create_dir_all(home.join(".config/sops/age")).unwrap();
    fs::write(home.join(".config/sops/age/keys.txt"), ONE).unwrap();
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    for (name, value) in [
        ("SOPS_AGE_KEY", ONE.to_owned()),
        ("SOPS_AGE_KEY_FILE", path(&key)),
        ("SOPS_AGE_KEY_CMD", format!("cat '{}'", path(&key))),
        ("XDG_CONFIG_HOME", path(&config)),
        ("HOME", path(&home)),
    ] {
        let store = with(folder.path(), &[(name, &value)]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(**store.get("unicode").unwrap().unwrap(), "пароль-密码-🔑".as_bytes());
    }
}

#[test]
fn without_the_key_all_places_and_recipients_are_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), TYPES).unwrap();
    let other = Identity::generate();
    let other = age::secrecy::ExposeSecret::expose_secret(&other.to_string()).to_owned();
    let variables = [("SOPS_AGE_KEY", &*other), ("SOPS_AGE_KEY_FILE", "/nowhere/key"), ("SOPS_AGE_KEY_CMD", "false"), ("HOME", "/nowhere")];
    let error = refused(with(folder.path(), &variables)).replace(folder.path().canonicalize().unwrap().to_str().unwrap(), "FOLDER");
    assert_eq!(
        error,
        format!(
            "FOLDER/secrets.sops.yaml: none of your age keys opens it\nit is encrypted for:\n  {}\n  {}\nkeys were looked for in:\n  \
             SOPS_AGE_KEY: one key\n  SOPS_AGE_KEY_FILE /nowhere/key: No such file or directory (os error 2)\n  SOPS_AGE_KEY_CMD: the command \
             ended with exit status: 1\n  /nowhere/.config/sops/age/keys.txt: not there\nput the right key into one of these places, or have \
             somebody who can open it add yours: `sops rotate --in-place --add-age YOUR-PUBLIC-KEY FILE`",
            public(ONE),
            public(TWO)
        )
    );
    let error = refused(with(folder.path(), &[("SOPS_AGE_KEY", "AGE-PLUGIN-YUBIKEY-1\nwhat")]));
    assert!(error.contains("SOPS_AGE_KEY: no key, 2 that emhost cannot use (plugin, SSH or damaged)"), "{error}");
    assert!(!error.contains("what"), "{error}");
    let error = refused(with(folder.path(), &[("SOPS_AGE_KEY", "-----BEGIN AGE ENCRYPTED FILE-----")]));
    assert!(error.contains("protected by a passphrase"), "{error}");
    let error = refused(with(folder.path(), &[]));
    assert!(error.contains("SOPS_AGE_KEY: not set\n  SOPS_AGE_KEY_FILE: not set\n  SOPS_AGE_KEY_CMD: not set\n"), "{error}");
}

#[test]
fn the_first_key_is_made_where_sops_finds_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    let keys = home.path().join(".config/sops/age/keys.txt");
    let open = || with(folder.path(), &[("HOME", home.path().to_str().unwrap())]).unwrap();
    let store = open();
    assert!(store.get("a").unwrap().is_none() && store.take_notes().is_empty());
    assert!(!home.path().join(".config").exists(), "nothing is made before it is needed");
    store.put_if_absent("a", b"value of a").unwrap();
    let notes = store.take_notes();
    assert_eq!(notes.len(), 1);
    let written = fs::read_to_string(&keys).unwrap();
    let public = public(&written);
    assert_eq!(notes[0].summary, format!("made an age key in {}", keys.display()));
    assert!(notes[0].detail.as_ref().unwrap().contains(&public) && notes[0].help.as_ref().unwrap().starts_with("back up "));
    assert!(written.contains(&format!("# public key: {public}\nAGE-SECRET-KEY-1")));
    assert_eq!((mode(&keys), mode(keys.parent().unwrap())), (0o600, 0o700));
    assert!(store.take_notes().is_empty());
    let again = open();
    assert_eq!(**again.get("a").unwrap().unwrap(), *b"value of a");
    again.put_if_absent("b", b"value of b").unwrap();
    assert!(again.take_notes().is_empty());
    assert_eq!(fs::read_to_string(&keys).unwrap(), written);
}

#[test]
fn a_file_of_keys_is_added_to_and_never_lost() {
    let folder = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    let keys = home.path().join(".config/sops/age/keys.txt");
    fs::create_dir_all(keys.parent().unwrap()).unwrap();
    fs::write(&keys, "# my keys, all gone").unwrap();
    let store = with(folder.path(), &[("HOME", home.path().to_str().unwrap())]).unwrap();
    store.put_if_absent("a", b"value of a").unwrap();
    assert!(fs::read_to_string(&keys).unwrap().starts_with("# my keys, all gone\n# created: "));
}

#[test]
fn no_key_is_made_beside_one_that_was_named() {
    let folder = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    let store = with(folder.path(), &[("HOME", home.path().to_str().unwrap()), ("SOPS_AGE_KEY_FILE", "/nowhere/key")]).unwrap();
    let error = store.put_if_absent("a", b"value of a").unwrap_err().to_string();
    assert!(error.contains("SOPS_AGE_KEY_FILE /nowhere/key: No such file"), "{error}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count() + fs::read_dir(folder.path()).unwrap().count(), 0);
    let error = with(folder.path(), &[]).unwrap().put_if_absent("a", b"value of a").unwrap_err().to_string();
    assert!(error.contains("no place to keep a new one"), "{error}");
}

/// A cluster's folder below one with this `.sops.yaml`, in which a secret is stored.
fn by_rule(rules: &str) -> Result<(String, Store), String> {
    let site = tempfile::tempdir().unwrap();
    let folder = site.path().join("clusters/dev");
    fs::create_dir_all(&folder).unwrap();
    let rules = rules.replace("ONE", &public(ONE)).replace("TWO", &public(TWO));
    fs::write(site.path().join(".sops.yaml"), rules).unwrap();
    let store = open(&folder).map_err(|error| error.to_string())?;
    store.put_if_absent("token", b"value of token").map_err(|error| error.to_string())?;
    Ok((fs::read_to_string(folder.join(FILE)).unwrap(), store))
}

#[test]
fn a_rule_says_whom_a_new_file_is_for() {
    for rules in [
        "creation_rules:\n- age: ONE,TWO\n",
        "creation_rules:\n- age: 'ONE, TWO,'\n- age: TWO\n",
        "creation_rules:\n- age: [ONE, TWO]\n",
        "creation_rules:\n- path_regex: other\n  pgp: ABC\n- path_regex: ^clusters/dev/secrets\\.sops\\.yaml$\n  age: ONE,TWO\n",
        "keys:\n- &one ONE\n- &two TWO\ncreation_rules:\n- key_groups:\n  - age:\n    - *one\n    - *two\n",
        "creation_rules:\n- key_groups:\n  - merge:\n    - age: [ONE]\n    - age: [TWO, ONE]\n",
        "stores: {yaml: {indent: 2}}\ncreation_rules:\n- {age: 'ONE,TWO', shamir_threshold: 1, unknown: 5}\n",
    ] {
        let (text, store) = by_rule(rules).unwrap_or_else(|error| panic!("{rules}: {error}"));
        let recipients: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("- recipient: ")).collect();
        assert_eq!(recipients, [public(ONE), public(TWO)], "{rules}");
        assert!(text.contains("\n    unencrypted_suffix: \"_unencrypted\"\n"));
        assert!(store.take_notes().is_empty());
    }
    let (text, _) = by_rule("creation_rules:\n- {age: ONE, encrypted_regex: '^to', mac_only_encrypted: true}\n").unwrap();
    assert!(text.contains("\n    encrypted_regex: \"^to\"\n    mac_only_encrypted: true\n"));
    // Without rules the user's own key is used, as if there were no such file.
    for none in ["{}\n", "destination_rules: []\n"] {
        assert_eq!(by_rule(none).unwrap().0.matches("- recipient: ").count(), 1, "{none}");
    }
}

#[test]
fn a_rule_that_cannot_be_kept_is_refused_or_told() {
    for (rules, word) in [
        (
            "creation_rules:\n- pgp: ABC\n",
            "the rule for clusters/dev/secrets.sops.yaml names only pgp, and emhost can encrypt for plain age keys only",
        ),
        ("creation_rules:\n- key_groups:\n  - kms: [{arn: x}]\n    hc_vault: [y]\n", "names only kms, hc_vault"),
        ("creation_rules:\n- age: ssh-ed25519 AAAA\n", "names only ssh-ed25519 AAAA"),
        ("creation_rules:\n- encrypted_regex: x\n", "names no keys at all"),
        (
            "creation_rules:\n- path_regex: prod/\n  age: ONE\n",
            "no creation rule fits clusters/dev/secrets.sops.yaml: add one with `path_regex: secrets\\.sops\\.yaml$`",
        ),
        ("creation_rules: []\n", "no creation rule fits"),
        ("creation_rules:\n- age: TWO\n", "none of your age keys is among those for which secrets.sops.yaml is to be encrypted"),
        ("creation_rules:\n- key_groups: [{age: [ONE]}, {age: [TWO]}]\n", "several key groups (Shamir)"),
        (
            "creation_rules:\n- {age: ONE, encrypted_regex: ^x}\n",
            "secret `token` would be kept in the clear, as the file has `encrypted_regex: ^x`",
        ),
        ("creation_rules:\n- {age: ONE, encrypted_regex: a, encrypted_suffix: b}\n", "more than one rule"),
        ("creation_rules:\n- {age: ONE, encrypted_comment_regex: a}\n", "`encrypted_comment_regex`, which emhost does not know"),
        ("creation_rules:\n- {age: ONE, path_regex: '('}\n", "path_regex: "),
        ("creation_rules: 5\n", ".sops.yaml: "),
    ] {
        let error = by_rule(rules).map(|_| ()).expect_err(rules);
        assert!(error.contains(word), "{rules}: {error}");
    }
    let (_, store) = by_rule("creation_rules:\n- {age: 'ONE,age1yubikey1qqqq', pgp: ABC}\n").unwrap();
    let notes = store.take_notes();
    assert_eq!(notes[0].detail.as_deref(), Some("Only sops can encrypt for: pgp, age1yubikey1qqqq."));
    assert_eq!(notes[0].help.as_deref(), Some("run `sops updatekeys secrets.sops.yaml`"));
}

#[test]
fn the_configuration_can_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("rules.yaml");
    fs::write(&config, format!("creation_rules:\n- age: {},{}\n", public(ONE), public(TWO))).unwrap();
    let store = with(folder.path(), &[("SOPS_AGE_KEY", TWO), ("SOPS_CONFIG", config.to_str().unwrap())]).unwrap();
    store.put_if_absent("token", b"value of token").unwrap();
    assert_eq!(**open(folder.path()).unwrap().get("token").unwrap().unwrap(), *b"value of token");
    fs::remove_file(folder.path().join(FILE)).unwrap();
    let store = with(folder.path(), &[("SOPS_AGE_KEY", TWO), ("SOPS_CONFIG", "/nowhere/rules")]).unwrap();
    let error = store.put_if_absent("token", b"value of token").unwrap_err().to_string();
    assert!(error.starts_with("cannot read /nowhere/rules: "), "{error}");
}

#[test]
fn nothing_of_the_environment_is_printed() {
    let shown =
        format!("{:?}", environment(&[("SOPS_AGE_KEY", ONE), ("SOPS_AGE_KEY_CMD", "echo hunter22"), ("EMHOST_SECRET_A", "hunter22")]));
    assert!(!shown.contains("AGE-SECRET") && !shown.contains("hunter22") && shown.contains("[\"a\"]"), "{shown}");
}

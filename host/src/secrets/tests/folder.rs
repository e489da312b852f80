//! The secrets of a cluster's folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;

use super::*;
use crate::capabilities::SecretStore as _;

fn text(store: &Store, name: &str) -> Option<String> {
    store.get(name).unwrap().map(|value| String::from_utf8(value.to_vec()).unwrap())
}

#[test]
fn values_are_what_they_were() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), TYPES).unwrap();
    let store = open(folder.path()).unwrap();
    for (name, value) in [
        ("pve_token", "root@pam!emhost=0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"),
        ("pve", r#"{"username":"root@pam","password":"12345678"}"#),
        ("pve.username", "root@pam"),
        ("pve.password", "12345678"),
        (
            "key",
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v8VpguoRK9JLsLMREScVpezkpGXGSwMEfxrdq\n-----END PRIVATE KEY-----\n",
        ),
        ("unicode", "пароль-密码-🔑"),
        ("empty", ""),
        ("yes", "quoted key"),
        ("number", "-42"),
        ("big", "9223372036854775807"),
        ("float", "2.5"),
        ("exponent", "1000000000000000000000000000000"),
        ("truth", "true"),
        ("lie", "false"),
        ("when", "2020-01-02T03:04:05.6Z"),
        ("list", r#"["first item","second item",{"deep":[1,null,""]}]"#),
        ("list.1", "second item"),
        ("list.2.deep.0", "1"),
        ("no_items", "[]"),
        ("no_entries", "{}"),
        ("mode_unencrypted", "493"),
        ("nested_unencrypted", r#"{"text":"in the clear","folded":"a b c\n"}"#),
    ] {
        assert_eq!(text(&store, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(**store.get("bytes").unwrap().unwrap(), *b"\x80\x81\x82\xff");
    for absent in ["nothing", "sops", "sops.mac", "list.2.deep.1", "pve.", "a"] {
        assert_eq!(text(&store, absent), None, "{absent}");
    }
    let names = store.names();
    assert!(names.contains("pve") && names.contains("list") && !names.contains("pve.username") && !names.contains("sops"));
    assert!(store.made().is_empty());
}

#[test]
fn the_environment_wins_then_the_cluster_then_the_site() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("dev");
    fs::create_dir(&folder).unwrap();
    let file = |secrets: &[(&str, &str)]| {
        let made = tempfile::tempdir().unwrap();
        let store = open(made.path()).unwrap();
        for (name, value) in secrets {
            store.put_if_absent(name, value.as_bytes()).unwrap();
        }
        fs::read(made.path().join(FILE)).unwrap()
    };
    fs::write(above.path().join(SITE_FILE), file(&[("a", "above"), ("b", "above"), ("c", "above"), ("d", "above")])).unwrap();
    fs::write(folder.join(SITE_FILE), file(&[("a", "site"), ("b", "site"), ("c", "site")])).unwrap();
    fs::write(folder.join(FILE), file(&[("a", "own"), ("b", "own")])).unwrap();
    fs::write(above.path().join(FILE), "another cluster's, and no business of ours").unwrap();
    let variables = [("SOPS_AGE_KEY", ONE), ("EMHOST_SECRET_A", "environment"), ("EMHOST_SECRET_E", "environment"), ("OTHER", "x")];
    let variables = [&variables[..], &[("HEADSCALE_AUTH_KEY", "customary")]].concat();
    let store = Store::open(&folder, environment(&variables), Redactor::new()).unwrap();
    for (name, value) in [("a", "environment"), ("b", "own"), ("c", "site"), ("d", "above"), ("e", "environment")] {
        assert_eq!(text(&store, name).as_deref(), Some(value), "{name}");
        // What is there, wherever it is, is not stored again.
        assert_eq!(**store.put_if_absent(name, b"another").unwrap(), *value.as_bytes());
    }
    assert!(store.made().is_empty());
    assert_eq!(text(&store, "headscale_auth_key").as_deref(), Some("customary"));
    assert_eq!(store.names().into_iter().collect::<Vec<_>>(), ["a", "b", "c", "d", "e", "headscale_auth_key"]);
    let both = [("HEADSCALE_AUTH_KEY", "customary"), ("EMHOST_SECRET_HEADSCALE_AUTH_KEY", "ours"), ("SOPS_AGE_KEY", ONE)];
    let store = Store::open(&folder, environment(&both), Redactor::new()).unwrap();
    assert_eq!(text(&store, "headscale_auth_key").as_deref(), Some("ours"));
}

#[test]
fn stored_values_are_there_in_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let every: Vec<u8> = (0..=255).collect();
    let long = vec![b'x'; 64 << 10];
    let values: [(&str, &[u8]); 5] =
        [("talos.os-ca", b"-----BEGIN\nline\n\n  two \n"), ("bytes", &every), ("empty", b""), ("long", &long), ("12", b"ENC[not at all]")];
    for (name, value) in values {
        assert_eq!(***store.put_if_absent(name, value).unwrap(), *value);
        assert_eq!(***store.put_if_absent(name, b"another one").unwrap(), *value);
    }
    assert_eq!(store.made(), ["talos.os-ca", "bytes", "empty", "long", "12"]);
    let again = open(folder.path()).unwrap();
    for (name, value) in values {
        assert_eq!(***again.get(name).unwrap().unwrap(), *value, "{name}");
    }
    assert_eq!(fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode() & 0o600, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let kept = fs::read_to_string(folder.path().join(FILE)).unwrap();
    assert!(!kept.contains("BEGIN\n") && !kept.contains("not at all"));
}

#[test]
fn names_that_are_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), TYPES).unwrap();
    let store = open(folder.path()).unwrap();
    for name in ["sops", "", "a:b", "a b", "../x", "-x", "a\nb"] {
        assert_eq!(store.put_if_absent(name, b"value").unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{name}");
    }
    let error = store.put_if_absent("nothing", b"value").unwrap_err().to_string();
    assert!(error.contains("secret `nothing` is there without a value"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join(FILE)).unwrap(), TYPES);
}

#[test]
fn what_others_write_meanwhile_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (open(folder.path()).unwrap(), open(folder.path()).unwrap());
    one.put_if_absent("a", b"of the first").unwrap();
    two.put_if_absent("b", b"of the second").unwrap();
    assert_eq!(**two.put_if_absent("a", b"of the second").unwrap(), *b"of the first");
    one.put_if_absent("c", b"of the first").unwrap();
    assert_eq!((one.made(), two.made()), (vec!["a".to_owned(), "c".to_owned()], vec!["b".to_owned()]));
    assert_eq!(text(&one, "b").as_deref(), Some("of the second"));
    let all = open(folder.path()).unwrap();
    assert_eq!(all.names().into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn many_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (folder, barrier) = (folder.path(), &barrier);
            scope.spawn(move || {
                let store = open(folder).unwrap();
                barrier.wait();
                for number in 0..4 {
                    store.put_if_absent(&format!("own-{thread}-{number}"), b"value of one").unwrap();
                    store.put_if_absent(&format!("shared-{number}"), format!("of thread {thread}").as_bytes()).unwrap();
                }
            });
        }
    });
    let store = open(folder.path()).unwrap();
    assert_eq!(store.names().len(), 36);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_went_wrong_meanwhile_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    let store = open(folder.path()).unwrap();
    store.put_if_absent("a", b"value of a").unwrap();
    let good = fs::read(&file).unwrap();
    fs::write(&file, "<<<<<<< HEAD\n").unwrap();
    store.put_if_absent("b", b"value of b").unwrap_err();
    assert_eq!(fs::read_to_string(&file).unwrap(), "<<<<<<< HEAD\n");
    fs::remove_file(&file).unwrap();
    let error = store.put_if_absent("b", b"value of b").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(error.to_string().contains("is gone now"), "{error}");
    fs::write(folder.path().join("real"), &good).unwrap();
    std::os::unix::fs::symlink("real", &file).unwrap();
    let error = store.put_if_absent("b", b"value of b").unwrap_err().to_string();
    assert!(error.contains("is a symbolic link"), "{error}");
    assert_eq!(text(&open(folder.path()).unwrap(), "a").as_deref(), Some("value of a"));
}

#[test]
fn the_mode_of_the_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    fs::write(&file, TYPES).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    open(folder.path()).unwrap().put_if_absent("a", b"value of a").unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_folder_that_cannot_be_written_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    fs::write(&file, TYPES).unwrap();
    let store = open(folder.path()).unwrap();
    // Root may write anywhere, so what is in the way is a folder under the name of the temporary file.
    let way = folder.path().join(format!(".{FILE}.{}", std::process::id()));
    fs::create_dir(&way).unwrap();
    let error = store.put_if_absent("a", b"value of a").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert!(error.to_string().ends_with("what was there before is untouched"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), TYPES);
    assert!(text(&store, "a").is_none() && store.made().is_empty());
    fs::remove_dir(&way).unwrap();
    store.put_if_absent("a", b"value of a").unwrap();
}

#[test]
fn the_redactor_knows_what_is_secret() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), TYPES).unwrap();
    let redactor = Redactor::new();
    let store = Store::open(folder.path(), environment(&[("SOPS_AGE_KEY", ONE)]), redactor.clone()).unwrap();
    for (said, shown) in [
        ("token root@pam!emhost=0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "token (secret pve_token)"),
        ("password 12345678", "password (secret pve.password)"),
        ("first item", "(secret list.0)"),
        ("root@pam is in the clear, true, 2.5, -42", "root@pam is in the clear, true, 2.5, -42"),
    ] {
        assert_eq!(redactor.text(said), shown);
    }
    store.put_if_absent("new", b"brand new value").unwrap();
    assert_eq!(redactor.text("brand new value"), "(secret new)");
}

#[test]
fn a_huge_file_and_one_of_bytes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE);
    fs::write(&file, vec![b'#'; 5 << 20]).unwrap();
    assert!(refused(open(folder.path())).ends_with("the file is larger than 4 MiB: it is not a file of secrets"));
    fs::write(&file, b"a: \xff\n").unwrap();
    assert!(refused(open(folder.path())).contains("not UTF-8"));
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
    assert!(refused(open(folder.path())).starts_with("cannot read "));
    assert!(refused(open(&folder.path().join("none"))).starts_with("cannot open folder "));
}

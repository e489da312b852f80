//! The secrets file against the real `sops`: each reads, adds to and checks what the other wrote.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use emhost::capabilities::SecretStore as _;
use emhost::redact::Redactor;
use emhost::secrets::{Environment, FILE, SecretsError, Store};
use serde_json::{Value, json};

// Throw-away keys.
const ONE: &str = include_str!("../../host/src/secrets/fixtures/one.key");
const TWO: &str = include_str!("../../host/src/secrets/fixtures/two.key");

/// A folder in which both work, and the real program.
struct Bench {
    sops: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    /// None, and a loud word, where `sops` was not built.
    fn new() -> Option<Self> {
        let sops = emhost_oracles::program("sops-v3.11.0", "sops")?;
        Some(Self { sops, folder: tempfile::tempdir().unwrap() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn file(&self) -> String {
        fs::read_to_string(self.path(FILE)).unwrap()
    }

    fn command(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.sops);
        command.args(arguments).current_dir(self.folder.path()).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", "/nowhere").envs(variables.iter().copied()).output().unwrap()
    }

    /// Runs `sops` with a key and gives what it prints.
    fn sops(&self, key: &str, arguments: &[&str]) -> String {
        let output = self.command(&[("SOPS_AGE_KEY", key)], arguments);
        assert!(output.status.success(), "sops {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What `sops` makes of the file.
    fn decrypted(&self, key: &str) -> BTreeMap<String, Value> {
        serde_json::from_str(&self.sops(key, &["decrypt", "--output-type", "json", FILE])).unwrap()
    }

    /// Makes the file of this text.
    fn encrypt(&self, plain: &str) {
        self.write("plain.yaml", plain);
        let sealed = self.sops("", &["encrypt", "--filename-override", FILE, "plain.yaml"]);
        self.write(FILE, &sealed);
    }

    fn rule(&self, more: &str) {
        self.write(".sops.yaml", &format!("creation_rules:\n  - age: {},{}\n{more}", public(ONE), public(TWO)));
    }

    fn open(&self, key: &str) -> Result<Store, SecretsError> {
        let environment = Environment::from_variables([(OsString::from("SOPS_AGE_KEY"), OsString::from(key))]);
        Store::open(self.folder.path(), environment, Redactor::new())
    }

    fn store(&self, key: &str) -> Store {
        self.open(key).unwrap_or_else(|error| panic!("{error}\n{}", self.file()))
    }
}

fn public(key: &str) -> &str {
    key.lines().find_map(|line| line.strip_prefix("# public key: ")).unwrap()
}

fn text(store: &Store, name: &str) -> Option<String> {
    store.get(name).unwrap().map(|value| String::from_utf8(value.to_vec()).unwrap())
}

/// The lines of the file that hold values or comments, without the `sops:` block.
fn values(file: &str) -> Vec<&str> {
    file.lines().take_while(|line| *line != "sops:").collect()
}

/// The encrypted data keys.
fn wrapped(file: &str) -> Vec<&str> {
    file.lines().skip_while(|line| *line != "sops:").take_while(|line| !line.contains("lastmodified")).collect()
}

#[test]
fn what_emhost_writes_sops_reads() {
    let Some(bench) = Bench::new() else { return };
    bench.rule("");
    let store = bench.store(ONE);
    let secrets = [
        ("token", "root@pam!emhost=0f1e2d3c"),
        ("pem", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n"),
        ("spaces", "  two \n\n lines\t\n"),
        ("unicode", "пароль-密码-🔑\u{7f}\u{1}"),
        ("empty", ""),
        ("digits", "0755"),
        ("true", "true"),
        ("12", "null"),
        ("2020-01-01", "~"),
        ("y", "ENC[AES256_GCM,data:not,iv:at,tag:all,type:str]"),
        ("json", r#"{"username":"a","password":"b"}"#),
    ];
    for (name, value) in secrets {
        store.put_if_absent(name, value.as_bytes()).unwrap();
    }
    for key in [ONE, TWO] {
        let decrypted = bench.decrypted(key);
        assert_eq!(decrypted, secrets.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect());
    }
    let every: Vec<u8> = (0..=255).collect();
    bench.store(TWO).put_if_absent("bytes", &every).unwrap();
    assert!(bench.sops(ONE, &["decrypt", FILE]).contains("bytes: !!binary |\n    AAECAwQF"));
    // Written again by sops, they still are what they were.
    bench.sops(ONE, &["set", FILE, "[\"more\"]", "5"]);
    assert_eq!(**bench.store(TWO).get("bytes").unwrap().unwrap(), every[..]);
    for (name, value) in secrets {
        assert_eq!(text(&bench.store(TWO), name).as_deref(), Some(value));
    }
}

#[test]
fn what_sops_edits_emhost_reads() {
    let Some(bench) = Bench::new() else { return };
    bench.rule("");
    bench.encrypt("# note\na: one\nb:\n  c: [1, 2.5, true, null, '', \"x\\ny\"]\n");
    assert_eq!(text(&bench.store(TWO), "b").as_deref(), Some(r#"{"c":[1,2.5,true,null,"","x\ny"]}"#));
    bench.sops(TWO, &["set", FILE, "[\"b\"][\"d\"]", "{\"e\": \"two\"}"]);
    assert_eq!(text(&bench.store(ONE), "b.d.e").as_deref(), Some("two"));
    let before = bench.file();
    bench.sops(ONE, &["rotate", "--in-place", FILE]);
    assert_ne!(wrapped(&before), wrapped(&bench.file()));
    assert_eq!(text(&bench.store(ONE), "b.d.e").as_deref(), Some("two"));
    bench.write(".sops.yaml", &format!("creation_rules:\n- age: {}\n", public(TWO)));
    bench.sops(ONE, &["updatekeys", "--yes", FILE]);
    assert!(matches!(bench.open(ONE), Err(SecretsError::NoKey { .. })));
    assert_eq!(text(&bench.store(TWO), "a").as_deref(), Some("one"));
    bench.sops(TWO, &["unset", FILE, "[\"b\"]"]);
    assert_eq!(bench.store(TWO).names().into_iter().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn adding_keeps_everything_else_in_the_file() {
    let Some(bench) = Bench::new() else { return };
    bench.rule("");
    let plain = "# head\nz: last letter first\n# about the list\nlist:\n    - a\n    # inside\n    - b: 1\n      c: x # line\n\
                 multi: |\n    one\n    two\nclear_unencrypted: 0755\nwhen_unencrypted: 2001-12-14\nnumber: 42\ntruth: false\nfloat: 0.25\n\
                 nothing: null\nempty: \"\"\nnone: {}\n# foot\n";
    bench.encrypt(plain);
    let (before, shown) = (bench.file(), bench.sops(ONE, &["decrypt", FILE]));
    let store = bench.store(TWO);
    store.put_if_absent("new.one", b"first").unwrap();
    store.put_if_absent("new.two", b"second\nline\n").unwrap();
    let after = bench.file();
    let old = values(&before);
    assert_eq!(values(&after)[..old.len()], old);
    assert_eq!(values(&after).len(), old.len() + 2);
    assert_eq!(wrapped(&after), wrapped(&before));
    let added = "new.one: first\nnew.two: |\n    second\n    line\n";
    // A comment at the end is above what comes next.
    assert_eq!(bench.sops(ONE, &["decrypt", FILE]), format!("{shown}{added}"));
    // And sops keeps what emhost wrote, to the byte.
    bench.sops(ONE, &["set", FILE, "[\"truth\"]", "true"]);
    let again = bench.file();
    let kept = |line: &&&str| line.starts_with("new.") || line.starts_with("z:");
    assert_eq!(values(&again).iter().filter(kept).count(), 3);
    assert!(values(&again).iter().filter(kept).all(|line| after.contains(*line)));
    assert_eq!(text(&bench.store(ONE), "truth").as_deref(), Some("true"));
}

#[test]
fn every_rule_is_understood_alike() {
    let Some(bench) = Bench::new() else { return };
    let plain = "data:\n  token: value\nother: seen\nmy_key: third\nmore_unencrypted: [1, text]\n";
    for (rule, sealed, clear) in [
        ("", "x", "x_unencrypted"),
        ("    encrypted_regex: ^(data|x)$\n", "x", "xx"),
        ("    encrypted_regex: ^(data|x)$\n    mac_only_encrypted: true\n", "x", "y"),
        ("    unencrypted_regex: ^o\n", "x", "ox"),
        ("    encrypted_suffix: _key\n", "x_key", "x"),
        ("    unencrypted_suffix: er\n", "x", "xer"),
        ("    unencrypted_suffix: er\n    mac_only_encrypted: true\n", "x", "xer"),
    ] {
        bench.rule(rule);
        for fresh in [false, true] {
            if fresh {
                fs::remove_file(bench.path(FILE)).unwrap();
            } else {
                bench.encrypt(plain);
            }
            let store = bench.store(ONE);
            store.put_if_absent(sealed, b"the new value").unwrap();
            let error = store.put_if_absent(clear, b"the new value").unwrap_err().to_string();
            assert!(error.contains("would be kept in the clear"), "{rule}: {error}");
            assert!(!bench.file().contains("the new value"), "{rule}");
            let decrypted = bench.decrypted(TWO);
            assert_eq!(decrypted[sealed], json!("the new value"), "{rule}");
            assert_eq!(decrypted.len(), if fresh { 1 } else { 5 });
        }
    }
}

#[test]
fn both_refuse_and_take_the_same() {
    let Some(bench) = Bench::new() else { return };
    bench.rule("");
    bench.encrypt("a: value of a\nn_unencrypted: 493\nf_unencrypted: 1000.5\nt_unencrypted: 2001-12-14T00:00:00Z\nb_unencrypted: true\n");
    let good = bench.file();
    let tag = good.find(",tag:").unwrap() + 8;
    let mut flipped = good.clone();
    flipped.replace_range(tag..=tag, if &good[tag..=tag] == "A" { "B" } else { "A" });
    let number = |text: &str| good.replace("n_unencrypted: 493", &format!("n_unencrypted: {text}"));
    for (changed, fine) in [
        (flipped, false),
        (good.replace("a: ENC", "c: ENC"), false),
        (good.replace("493", "494"), false),
        (good.replace("b_unencrypted: true", "b_unencrypted: \"True\""), true),
        (good.replace("lastmodified: \"2", "lastmodified: \"3"), false),
        (number("0755"), true),
        (number("0o755"), true),
        (number("0x1ED"), true),
        (number("4_9_3"), true),
        (number("+493"), true),
        (number("493.0"), true),
        (number("4.93e2"), true),
        (number("\"493\""), true),
        (number("!!str 493"), true),
        (number("!!binary NDkz"), true),
        (number("|-\n    493"), true),
        (number("493 # a comment"), true),
        (number("0493"), true),
        (number("[493]"), true),
        (number("{x: 493}"), true),
        (number("[493, null]"), true),
        (number("[4, 93]"), true),
        (number("[4, 9]"), false),
        (good.replace("1000.5", "1_000.50"), true),
        (good.replace("2001-12-14T00:00:00Z", "2001-12-14"), true),
        (good.replace("2001-12-14T00:00:00Z", "2001-12-14 0:0:0.0"), true),
        (good.replace("2001-12-14T00:00:00Z", "2001-12-14T00:00:00+00:00"), true),
        (good.replace("2001-12-14T00:00:00Z", "2001-12-15"), false),
        (good.replace("b_unencrypted: true", "b_unencrypted: TRUE"), true),
        (good.replace("b_unencrypted: true", "b_unencrypted: yes"), false),
        (good[..good.len() / 2].to_owned(), false),
    ] {
        bench.write(FILE, &changed);
        let real = bench.command(&[("SOPS_AGE_KEY", ONE)], &["decrypt", FILE]);
        let said = String::from_utf8_lossy(&real.stderr).into_owned();
        assert_eq!(real.status.success(), fine, "sops: {said}\n{changed}");
        assert_eq!(bench.open(ONE).is_ok(), fine, "{:?}\n{changed}", bench.open(ONE).err());
    }
}

#[test]
fn the_key_that_emhost_makes_is_found_by_sops() {
    let Some(bench) = Bench::new() else { return };
    let home = tempfile::tempdir().unwrap();
    let home = home.path().to_str().unwrap();
    let environment = Environment::from_variables([(OsString::from("HOME"), OsString::from(home))]);
    let store = Store::open(bench.folder.path(), environment, Redactor::new()).unwrap();
    store.put_if_absent("token", b"value of token").unwrap();
    assert_eq!(store.take_notes().len(), 1);
    let real = bench.command(&[("HOME", home)], &["decrypt", FILE]);
    assert_eq!(String::from_utf8_lossy(&real.stdout), "token: value of token\n");
}

#[test]
fn keys_of_other_kinds_stay_in_the_file() {
    let Some(bench) = Bench::new() else { return };
    let home = tempfile::tempdir().unwrap();
    let gpg = |arguments: &[&str]| Command::new("gpg").env("GNUPGHOME", home.path()).args(arguments).output();
    if !gpg(&["--batch", "--passphrase", "", "--quick-gen-key", "test@example.com"]).is_ok_and(|output| output.status.success()) {
        emhost_oracles::skipped("a file with a PGP key too: gpg is not there");
        return;
    }
    let keys = String::from_utf8(gpg(&["--list-keys", "--with-colons"]).unwrap().stdout).unwrap();
    let fingerprint = keys.lines().find_map(|line| line.strip_prefix("fpr:")).unwrap().trim_matches(':');
    bench.write(".sops.yaml", &format!("creation_rules:\n- {{age: {}, pgp: {fingerprint}}}\n", public(ONE)));
    let store = bench.store(ONE);
    store.put_if_absent("made", b"by emhost").unwrap();
    assert_eq!(store.take_notes()[0].code, "secrets/recipients");
    let variables = [("GNUPGHOME", home.path().to_str().unwrap()), ("SOPS_AGE_KEY", ONE)];
    let updated = bench.command(&variables, &["updatekeys", "--yes", FILE]);
    assert!(updated.status.success(), "{}", String::from_utf8_lossy(&updated.stderr));
    bench.store(ONE).put_if_absent("more", b"by emhost").unwrap();
    let real = bench.command(&variables[..1], &["decrypt", FILE]);
    assert_eq!(String::from_utf8_lossy(&real.stdout), "made: by emhost\nmore: by emhost\n");
    let error = bench.open(TWO).err().unwrap().to_string();
    assert!(error.contains("\n  keys of kind pgp\n"), "{error}");
    // Its agent would outlive the folder.
    let _ = Command::new("gpgconf").env("GNUPGHOME", home.path()).args(["--kill", "gpg-agent"]).output();
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 22] =
            ["a", "Z", "0", " ", "\n", "\t", "\"", "'", "\\", ":", "#", ": ", " #", "é", "密", "🔑", "-", "{", "]", "&x", "\u{1}", "%"];
        (0..self.below(12)).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 7 } else { 10 }) {
            0 => json!(null),
            1 => json!(self.below(2) == 0),
            2 => json!(i64::try_from(self.below(1 << 30)).unwrap() - (1 << 29)),
            // Never whole: in the clear sops writes 2.0 as 2.
            3 => json!(f64::from(u32::try_from(self.below(100_000) * 2 + 1).unwrap()) / 64.0),
            4..=6 => json!(self.text()),
            7 | 8 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => self.map(depth - 1),
        }
    }

    fn map(&mut self, depth: usize) -> Value {
        let entry = |random: &mut Self, number| {
            let end = if random.below(5) == 0 { "_unencrypted" } else { "" };
            (format!("k{number}{}{end}", ["", "-x", " y", ".z", "é"][random.below(5)]), random.value(depth))
        };
        (0..=self.below(5)).map(|number| entry(self, number)).collect::<serde_json::Map<_, _>>().into()
    }
}

#[test]
fn any_tree_goes_both_ways() {
    let Some(bench) = Bench::new() else { return };
    let mut both = 0;
    for seed in 0..24 {
        let mut random = Random(seed);
        bench.rule(["", "    mac_only_encrypted: true\n"][random.below(2)]);
        let Value::Object(tree) = random.map(4) else { unreachable!() };
        bench.encrypt(&Value::Object(tree.clone()).to_string());
        // sops writes some texts in the clear, such as "\t\n", as `null`, and then refuses its own file.
        let readable = bench.command(&[("SOPS_AGE_KEY", ONE)], &["decrypt", FILE]).status.success();
        assert_eq!(bench.open(ONE).is_ok(), readable, "seed {seed}");
        if !readable {
            continue;
        }
        let store = bench.store([ONE, TWO][random.below(2)]);
        for (name, value) in &tree {
            let found = text(&store, name);
            match value {
                Value::Null => assert_eq!(found, None),
                Value::String(value) => assert_eq!(found.as_ref(), Some(value), "seed {seed}"),
                value => assert_eq!(&serde_json::from_str::<Value>(&found.unwrap()).unwrap(), value, "seed {seed}"),
            }
        }
        let (name, value) = (format!("new-{seed}"), format!("x{}", random.text()));
        store.put_if_absent(&name, value.as_bytes()).unwrap();
        let mut expected: BTreeMap<String, Value> = tree.into_iter().collect();
        expected.insert(name, json!(value));
        assert_eq!(bench.decrypted(ONE), expected, "seed {seed}");
        both += 1;
    }
    assert!(both > 12, "{both}");
}

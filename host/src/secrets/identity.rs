//! The user's age keys: looked for exactly where `sops` looks, and made where there is none.

use std::ffi::OsString;
use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use age::secrecy::ExposeSecret as _;
use age::x25519::Identity;
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::error::SecretsError;
use super::words;
use crate::capabilities::MemorySecrets;
use crate::diagnostic::Diagnostic;

/// The largest file of keys that is read.
const LARGEST: u64 = 1 << 20;

/// What of the environment says where keys and secrets are. The library reads none itself.
#[derive(Default)]
pub struct Environment {
    /// `SOPS_AGE_KEY`: keys, a line each.
    age_key: Option<Zeroizing<String>>,
    /// `SOPS_AGE_KEY_FILE`: a file of keys.
    age_key_file: Option<PathBuf>,
    /// `SOPS_AGE_KEY_CMD`: a command that prints keys.
    age_key_cmd: Option<String>,
    /// `SOPS_CONFIG`: the file to use as `.sops.yaml`.
    pub(super) sops_config: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    config_home: Option<PathBuf>,
    /// `HOME`.
    home: Option<PathBuf>,
    /// Every `EMHOST_SECRET_<NAME>`.
    pub(super) secrets: MemorySecrets,
    /// The names of those.
    pub(super) secret_names: Vec<String>,
    /// Secrets under names that other programs use, for where there is no other of the name.
    pub(super) customary: MemorySecrets,
    /// The names of those.
    pub(super) customary_names: Vec<String>,
}

/// Variables that other programs read too, and the secrets they are.
const CUSTOMARY: [(&str, &str); 1] = [("HEADSCALE_AUTH_KEY", "headscale_auth_key")];

impl Environment {
    /// Takes what is needed of the variables of a process.
    pub fn from_variables(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::default();
        let mut secrets = Vec::new();
        for (name, value) in variables {
            let Some(name) = name.to_str() else { continue };
            let path = || Some(PathBuf::from(&value));
            match name {
                "SOPS_AGE_KEY_FILE" => environment.age_key_file = path(),
                "SOPS_CONFIG" => environment.sops_config = path().filter(|path| !path.as_os_str().is_empty()),
                "XDG_CONFIG_HOME" => environment.config_home = path().filter(|path| path.is_absolute()),
                "HOME" => environment.home = path().filter(|path| path.is_absolute()),
                "SOPS_AGE_KEY" => environment.age_key = value.into_string().ok().map(Zeroizing::new),
                "SOPS_AGE_KEY_CMD" => environment.age_key_cmd = value.into_string().ok(),
                _ if CUSTOMARY.iter().any(|(variable, _)| *variable == name) => {
                    let secret = CUSTOMARY.iter().find(|(variable, _)| *variable == name).map_or(name, |(_, secret)| secret);
                    if let Some(value) = value.to_str().filter(|value| !value.is_empty()) {
                        environment.customary = std::mem::take(&mut environment.customary).with(secret, value.as_bytes());
                        environment.customary_names.push(secret.to_owned());
                    }
                }
                _ if name.starts_with("EMHOST_SECRET_") => secrets.extend(value.into_string().ok().map(|value| (name.to_owned(), value))),
                _ => {}
            }
        }
        let lower = secrets.iter().filter_map(|(name, _)| name.strip_prefix("EMHOST_SECRET_")).map(str::to_ascii_lowercase);
        environment.secret_names = lower.filter(|name| crate::capabilities::policy::is_name(name)).collect();
        environment.secrets = MemorySecrets::from_environment(secrets.into_iter());
        environment
    }

    /// The file of keys in the user's own configuration.
    fn keys_file(&self) -> Option<PathBuf> {
        let default = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
        let folder = self.config_home.clone().or_else(|| Some(self.home.as_ref()?.join(default)))?;
        Some(folder.join("sops/age/keys.txt"))
    }
}

/// Without the keys and secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("age_key", &self.age_key.is_some())
            .field("age_key_file", &self.age_key_file)
            .field("age_key_cmd", &self.age_key_cmd.is_some())
            .field("config_home", &self.config_home)
            .field("home", &self.home)
            .field("secret_names", &self.secret_names)
            .finish_non_exhaustive()
    }
}

/// The keys that were found, and where they were looked for.
pub(super) struct Keyring {
    pub(super) identities: Vec<Identity>,
    /// A line for each place.
    looked: Vec<String>,
    /// A place was named that gave no key.
    disappointed: bool,
    keys_file: Option<PathBuf>,
}

impl Keyring {
    /// Looks everywhere; keys of all places are used.
    pub(super) fn look(environment: &Environment) -> Self {
        let keys_file = environment.keys_file();
        let mut ring = Self { identities: Vec::new(), looked: Vec::new(), disappointed: false, keys_file: keys_file.clone() };
        ring.place("SOPS_AGE_KEY", environment.age_key.as_ref().map(|keys| Ok(keys.clone())));
        let file = environment.age_key_file.as_deref();
        let place = file.map_or_else(|| "SOPS_AGE_KEY_FILE".to_owned(), |file| format!("SOPS_AGE_KEY_FILE {}", file.display()));
        ring.place(&place, file.map(read));
        ring.place("SOPS_AGE_KEY_CMD", environment.age_key_cmd.as_deref().map(run));
        if let Some(file) = keys_file {
            match read(&file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => ring.looked.push(format!("  {}: not there", file.display())),
                keys => ring.place(&file.display().to_string(), Some(keys)),
            }
        }
        ring
    }

    /// Where keys were looked for, a line each.
    pub(super) fn looked(&self) -> String {
        self.looked.join("\n")
    }

    /// The public keys.
    pub(super) fn recipients(&self) -> Vec<String> {
        self.identities.iter().map(|identity| identity.to_public().to_string()).collect()
    }

    fn place(&mut self, name: &str, keys: Option<io::Result<Zeroizing<String>>>) {
        let found = match keys {
            None => "not set".to_owned(),
            Some(Err(error)) => {
                self.disappointed = true;
                error.to_string()
            }
            Some(Ok(keys)) => self.take(&keys),
        };
        self.looked.push(format!("  {name}: {found}"));
    }

    /// Takes the keys out of a text and says what was found.
    fn take(&mut self, keys: &str) -> String {
        if keys.starts_with("age-encryption") || keys.starts_with("-----BEGIN AGE") {
            self.disappointed = true;
            return "protected by a passphrase, for which emhost does not ask; SOPS_AGE_KEY_CMD=\"age -d FILE\" can".to_owned();
        }
        let lines = keys.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (mut found, mut foreign) = (0, 0);
        for line in lines {
            match line.parse::<Identity>() {
                Ok(identity) => {
                    found += 1;
                    self.identities.push(identity);
                }
                Err(_) => foreign += 1,
            }
        }
        self.disappointed |= found == 0 && foreign > 0;
        let others = if foreign > 0 { format!(", {foreign} that emhost cannot use (plugin, SSH or damaged)") } else { String::new() };
        match found {
            0 => format!("no key{others}"),
            1 => format!("one key{others}"),
            more => format!("{more} keys{others}"),
        }
    }

    /// Makes the user's first key, where `sops` finds it too.
    pub(super) fn make(&mut self, now: Timestamp) -> Result<Diagnostic, SecretsError> {
        if self.disappointed {
            return Err(SecretsError::Unusable { looked: self.looked() });
        }
        let file = self.keys_file.clone().ok_or(SecretsError::Homeless)?;
        let identity = Identity::generate();
        let public = identity.to_public().to_string();
        append(&file, &identity, &public, now).map_err(|source| SecretsError::Write { file: file.clone(), source })?;
        self.identities.push(identity);
        Ok(Diagnostic::note("secrets/key-made", format!("made an age key in {}", file.display()))
            .detail(format!(
                "The secrets of your clusters are encrypted for it. Its public key is {public}.\n\
                 It is in no other place: without it the secrets, and so the clusters' certificates, are lost."
            ))
            .help(Some(format!("back up {}; `sops` finds it there too", file.display()))))
    }
}

fn read(file: &Path) -> io::Result<Zeroizing<String>> {
    let mut keys = Zeroizing::new(String::with_capacity(4096));
    File::open(file)?.take(LARGEST).read_to_string(&mut keys)?;
    Ok(keys)
}

fn run(command: &str) -> io::Result<Zeroizing<String>> {
    let wrong = |reason: String| io::Error::new(io::ErrorKind::InvalidInput, reason);
    let words = words::split(command).ok_or_else(|| wrong("a quote is left open in the command".to_owned()))?;
    let (program, arguments) = words.split_first().ok_or_else(|| wrong("the command is empty".to_owned()))?;
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let keys = String::from_utf8(output.stdout).map(Zeroizing::new).map_err(|error| {
        drop(Zeroizing::new(error.into_bytes()));
        wrong("the command printed no text".to_owned())
    });
    if output.status.success() { keys } else { Err(wrong(format!("the command ended with {}", output.status))) }
}

fn append(file: &Path, identity: &Identity, public: &str, now: Timestamp) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut kept = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(file)?;
    let mut before = Zeroizing::new(Vec::new());
    (&kept).take(LARGEST).read_to_end(&mut before)?;
    let line = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
    let created = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let secret = identity.to_string();
    let text = Zeroizing::new(format!("{line}# created: {created}\n# public key: {public}\n{}\n", secret.expose_secret()));
    kept.write_all(text.as_bytes())?;
    kept.sync_all()?;
    // The name of a new file is in its folder.
    file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

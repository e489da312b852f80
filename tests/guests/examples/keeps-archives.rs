//! Writes what its settings say into an archive, and reads it back.

use emhost_sdk::archives::Archive;
use emhost_sdk::{DistroBackup, Failure, Lifecycle, Site, State, Step};

struct Plugin;

impl Lifecycle for Plugin {}

impl DistroBackup for Plugin {
    fn backup(site: Site<'_>, into: &Archive) -> Result<(), Failure> {
        let pieces: Vec<String> = site.operation.read_settings()?;
        pieces.iter().try_for_each(|piece| into.write(piece.as_bytes()))
    }

    fn restore(_: Site<'_>, source: &Archive, _: Option<State>) -> Result<Step, Failure> {
        let mut all = Vec::new();
        loop {
            match source.read(4)? {
                piece if piece.is_empty() => break,
                piece => all.extend(piece),
            }
        }
        Ok(Step::again(0, String::from_utf8_lossy(&all), State { schema: 1, data: "{}".to_owned() }))
    }
}

emhost_sdk::plugin!(
    Plugin: distro_backup;
    text = r#"{"name": "guest", "asks": [{"grant": "archive", "why": "a test"}]}"#
);

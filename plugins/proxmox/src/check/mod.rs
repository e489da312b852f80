//! What would keep a plan from working: found by looking, before anything is made.
//!
//! Looking (`survey`) and judging are apart, so that judging is plain code over plain values.

mod machines;
mod rights;
pub mod roles;
mod room;
mod storages;
mod survey;
#[cfg(test)]
mod tests;

use emhost_sdk::{Diagnostic, Failure, Site};

pub use machines::{Base, Planned};
pub use survey::Survey;

use crate::api::Api;

/// The oldest release that can import images from a storage.
const IMPORTS: (u32, u32) = (8, 4);

/// Looks at everything that the inventory needs of Proxmox.
///
/// # Errors
/// Proxmox does not answer, or does not take the credential.
pub fn check(site: Site<'_>) -> Result<Vec<Diagnostic>, Failure> {
    let api = Api::default();
    let (mut planned, mut found) = machines::planned(site);
    let survey = survey::look(&api, &mut planned)?;
    found.extend(judge(&planned, &survey));
    Ok(found)
}

/// Everything that is wrong, and what is fine as notes.
pub fn judge(planned: &[Planned], survey: &Survey) -> Vec<Diagnostic> {
    let mut found = release(planned, survey);
    found.extend(rights::judge(planned, survey));
    found.extend(storages::judge(planned, survey));
    found.extend(room::judge(planned, survey));
    found.extend(machines::judge(planned, survey));
    found
}

fn release(planned: &[Planned], survey: &Survey) -> Vec<Diagnostic> {
    let version = &survey.version.version;
    let imports = planned.iter().any(|one| !one.made && one.base == Base::Image);
    match survey.version.release() {
        old if old < IMPORTS && imports => {
            let summary = format!("Proxmox VE {version} cannot import disk images: that came with 8.4");
            vec![
                Diagnostic::error("proxmox/release", summary)
                    .help("upgrade Proxmox VE, or write `boot: config-iso` or `boot: template` in cluster.yaml"),
            ]
        }
        (0..8, _) => {
            let summary = format!("Proxmox VE {version} is older than what emhost knows (8.4 and 9)");
            vec![Diagnostic::warning("proxmox/release", summary).help("upgrade Proxmox VE")]
        }
        (10.., _) => {
            let summary = format!("Proxmox VE {version} is newer than what emhost knows (8.4 and 9)");
            vec![Diagnostic::warning("proxmox/release", summary).help("look for a newer emhost")]
        }
        _ => vec![Diagnostic::note("proxmox/release", format!("Proxmox VE {version}"))],
    }
}

//! Asking the Image Factory (facts/talos.md §5.1).

use emhost_sdk::http::{Body, Client, Response};
use emhost_sdk::{Boot, Failure, Unit};
use serde::Deserialize;

use crate::extensions;
use crate::image::Image;
use crate::version::Version;

/// The slot that leads to the factory.
const SLOT: &str = "image-factory";

#[derive(Deserialize)]
struct Extension {
    name: String,
}

#[derive(Deserialize)]
struct Created {
    id: String,
    #[serde(default)]
    schematic: String,
}

/// The versions of Talos that the factory builds, oldest first as it lists them.
///
/// # Errors
/// The factory does not answer, or not with versions.
pub fn versions() -> Result<Vec<Version>, Failure> {
    let list: Vec<String> = read("/versions", "which versions of Talos it builds")?;
    Ok(list.iter().filter_map(|text| Version::parse(text)).filter(Version::is_supported).collect())
}

/// Makes sure that the factory can build an image: it has the version and the extensions, and knows the schematic.
///
/// # Errors
/// It cannot, or calls the schematic otherwise than we do.
pub fn ensure(image: &Image) -> Result<(), Failure> {
    let version = &image.version;
    check_version(version, &versions()?)?;
    let wanted = &image.schematic.extensions;
    if !wanted.is_empty() {
        let known: Vec<Extension> = read(&format!("/version/{version}/extensions/official"), "which extensions it has")?;
        let known: Vec<String> = known.into_iter().map(|extension| extension.name).collect();
        extensions::all_known(wanted, &known, &version.to_string())?;
    }
    let (client, id) = (Client::new(SLOT, ""), image.schematic.id());
    // Whoever has told it before has told it the same: the id is a hash of all there is to it.
    let known = client.get(&format!("/schematics/{id}")).map_err(unanswered)?;
    if known.status == 200 {
        return Ok(());
    }
    let text = image.schematic.canonical();
    let what = format!("to take the schematic {}", &id[..12]);
    let created =
        answered(client.post("/schematics", Body::bytes("application/yaml", text.clone().into_bytes())).map_err(unanswered)?, &what)?;
    let created: Created = created.json()?;
    if created.id == id {
        return Ok(());
    }
    Err(other_id(&id, &text, &created))
}

/// What a node starts from, and the image behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The image.
    pub image: Image,
    /// What is said about it.
    pub boot: Boot,
}

impl Choice {
    /// Makes sure that the factory can build what was resolved before, if that is still this.
    ///
    /// # Errors
    /// It is not, or the factory cannot.
    pub fn ensure(&self, unit: Unit<'_>, before: Boot) -> Result<Boot, Failure> {
        same(&self.boot, &before)?;
        unit.operation.progress(&format!("asking the Image Factory for {}", before.id), None);
        ensure(&self.image)?;
        Ok(before)
    }
}

/// Whether what was resolved before is what would be resolved now.
///
/// # Errors
/// It is not.
pub fn same(now: &Boot, before: &Boot) -> Result<(), Failure> {
    if now.id == before.id {
        return Ok(());
    }
    let summary = format!("machines were to start from {} when this was planned, and now it would be {}", before.id, now.id);
    Err(Failure::conflict("boot/changed", summary).help("plan again, and approve what is planned then"))
}

fn check_version(version: &Version, known: &[Version]) -> Result<(), Failure> {
    if known.contains(version) {
        return Ok(());
    }
    let help = match version.nearest(known) {
        Some(near) => format!("set `talos_version` in cluster.yaml to a version that it has, such as {near}"),
        None => format!("check where slot `{SLOT}` leads in site.yaml: that factory builds no version that emhost boots"),
    };
    Err(Failure::invalid("boot/version", format!("the Image Factory has no Talos {version}")).pointer("/os-version").help(help))
}

fn other_id(ours: &str, text: &str, created: &Created) -> Failure {
    let summary = format!("the Image Factory calls the schematic {}, and it should be {ours}", created.id);
    let detail = format!("sent:\n{}\nunderstood:\n{}", text.trim_end(), created.schematic.trim_end());
    Failure::conflict("boot/schematic", summary)
        .detail(detail)
        .help(format!("check where slot `{SLOT}` leads in site.yaml, and report this: images would not be the ones that were approved"))
}

/// Reads a JSON answer.
fn read<T: serde::de::DeserializeOwned>(path: &str, what: &str) -> Result<T, Failure> {
    answered(Client::new(SLOT, "").get(path).map_err(unanswered)?, what)?.json()
}

/// No answer at all: the client's own words name the slot.
fn unanswered(failure: Failure) -> Failure {
    if failure.diagnostics.iter().any(|diagnostic| diagnostic.help.is_some()) {
        return failure;
    }
    failure.help(format!("check that slot `{SLOT}` in site.yaml leads to an Image Factory, and try again"))
}

/// An answer of success, or what the factory says instead.
fn answered(response: Response, what: &str) -> Result<Response, Failure> {
    let body = String::from_utf8_lossy(&response.body);
    let said: String = body.trim().chars().take(300).collect();
    let said = if said.is_empty() { response.reason.clone() } else { said.replace('\n', " ") };
    let summary = format!("the Image Factory was asked {what}, and answered {}: {said}", response.status);
    let help = format!("check that slot `{SLOT}` in site.yaml leads to an Image Factory");
    match response.status {
        200..=299 => Ok(response),
        401 | 403 => Err(Failure::denied("boot/factory", summary).help(help)),
        408 | 425 | 429 | 500..=599 => Err(Failure::unavailable("boot/factory", summary).help("try again later")),
        _ => Err(Failure::invalid("boot/factory", summary).help(help)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use emhost_sdk::FailureKind;

    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).unwrap()
    }

    #[test]
    fn a_version_that_is_not_there_is_told_with_one_that_is() {
        let known = [version("v1.11.5"), version("v1.11.6"), version("v1.12.1")];
        assert_eq!(check_version(&version("v1.11.5"), &known), Ok(()));
        let failure = check_version(&version("v1.11.9"), &known).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Invalid);
        assert_eq!(failure.diagnostics[0].summary, "the Image Factory has no Talos v1.11.9");
        assert_eq!(
            failure.diagnostics[0].help.as_deref(),
            Some("set `talos_version` in cluster.yaml to a version that it has, such as v1.11.6")
        );
        assert!(
            check_version(&version("v1.11.9"), &[]).unwrap_err().diagnostics[0].help.as_ref().unwrap().contains("slot `image-factory`")
        );
    }

    #[test]
    fn another_id_shows_both() {
        let created = Created { id: "b".repeat(64), schematic: "customization: {}\n".into() };
        let failure = other_id(&"a".repeat(64), "customization:\n", &created);
        assert_eq!(failure.kind, FailureKind::Conflict);
        let summary = &failure.diagnostics[0].summary;
        assert!(summary.contains(&"a".repeat(64)) && summary.contains(&"b".repeat(64)), "{summary}");
    }

    #[test]
    fn a_refusal_says_what_was_asked() {
        let response = |status, body: &str| Response { status, reason: String::new(), headers: Vec::new(), body: body.as_bytes().to_vec() };
        let failure = answered(response(400, "yaml: line 1:\nnonsense\n"), "to take the schematic abc").unwrap_err();
        assert_eq!(failure.kind, FailureKind::Invalid);
        let told = "the Image Factory was asked to take the schematic abc, and answered 400: yaml: line 1: nonsense";
        assert_eq!(failure.diagnostics[0].summary, told);
        assert_eq!(answered(response(503, ""), "x").unwrap_err().kind, FailureKind::Unavailable);
        assert!(answered(response(201, "{}"), "x").is_ok());
    }
}

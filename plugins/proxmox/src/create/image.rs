//! What machines start from, kept once on the storage of images.

use emhost_sdk::types::ImageFormat;
use emhost_sdk::{Artifact, Failure, Step};

use crate::api::Form;
use crate::memory::Memory;
use crate::work::Work;

/// Whether an image is there.
pub enum Image {
    /// It is.
    There {
        /// What is remembered.
        memory: Memory,
        /// Its volume.
        volume: String,
    },
    /// Not yet.
    Step(Step),
}

/// The file name of an image: unique for its content, with the ending that Proxmox wants.
pub fn file_name(artifact: &Artifact) -> Result<String, Failure> {
    let ending = match artifact.format {
        ImageFormat::Iso => ".iso",
        ImageFormat::Raw => ".raw",
        ImageFormat::Qcow2 => ".qcow2",
        ImageFormat::RawGz | ImageFormat::RawXz | ImageFormat::RawZst => {
            let summary = format!("image {} is compressed, and Proxmox does not unpack images that it imports", artifact.name);
            return Err(Failure::invalid("proxmox/compressed", summary).help("use a boot source that offers qcow2 or raw images"));
        }
    };
    let kept = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    let name: String = artifact.name.chars().map(kept).collect();
    Ok(if name.ends_with(ending) { name } else { format!("{name}{ending}") })
}

/// The volume of an image.
///
/// # Errors
/// An image that Proxmox cannot use.
pub fn volume(storage: &str, artifact: &Artifact, content: &str) -> Result<String, Failure> {
    Ok(format!("{storage}:{content}/{}", file_name(artifact)?))
}

/// What a host is asked to fetch.
pub fn download(artifact: &Artifact, content: &str) -> Result<Form, Failure> {
    if artifact.url.contains(".emhost.internal") || !(artifact.url.starts_with("https://") || artifact.url.starts_with("http://")) {
        return Err(Failure::internal("proxmox/url", format!("image {} has no address that a Proxmox host could reach", artifact.name)));
    }
    let mut form: Form = vec![
        ("content".to_owned(), content.to_owned()),
        ("filename".to_owned(), file_name(artifact)?),
        ("url".to_owned(), artifact.url.clone()),
    ];
    if let Some(digest) = artifact.digest.as_deref().and_then(|digest| digest.strip_prefix("sha256:")) {
        form.push(("checksum".to_owned(), digest.to_owned()));
        form.push(("checksum-algorithm".to_owned(), "sha256".to_owned()));
    }
    Ok(form)
}

/// Lets the host fetch an image that is not there and that nobody fetches, once.
pub fn ensure(work: Work<'_>, mut memory: Memory, artifact: &Artifact, content: &str) -> Result<Image, Failure> {
    let (host, storage) = (memory.host.clone(), &work.wanted.images);
    let volume = volume(storage, artifact, content)?;
    let look = format!("see whether image {volume} is on {host}");
    let file = file_name(artifact)?;
    match work.api.volumes(&host, storage, content) {
        Ok(known) if known.contains(&volume) => return Ok(Image::There { memory, volume }),
        Ok(_) => {}
        Err(trouble) => return Err(memory.keep(trouble.failure(&look))),
    }
    let what = format!("download image {file} to storage {storage} on {host}");
    let form = download(artifact, content)?;
    memory.ask(&what)?;
    match work.api.download(&host, storage, &form) {
        Ok(upid) => memory.wait_for(upid, what, format!("image {file} is being downloaded")).map(Image::Step),
        Err(trouble) => Err(memory.in_vain(trouble, &what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(name: &str, format: ImageFormat) -> Artifact {
        let digest = Some(format!("sha256:{}", "ab".repeat(32)));
        Artifact { name: name.to_owned(), url: "https://factory.talos.dev/image/x".to_owned(), format, digest }
    }

    #[test]
    fn the_name_is_one_that_proxmox_takes() {
        assert_eq!(
            file_name(&artifact("talos-v1.11.5-376567988ad3", ImageFormat::Qcow2)).expect("fits"),
            "talos-v1.11.5-376567988ad3.qcow2"
        );
        assert_eq!(file_name(&artifact("a b/c.iso", ImageFormat::Iso)).expect("fits"), "a_b_c.iso");
        assert!(file_name(&artifact("a", ImageFormat::RawXz)).is_err());
    }

    #[test]
    fn a_host_gets_an_address_and_a_checksum() {
        let form = download(&artifact("a", ImageFormat::Raw), "import").expect("fits");
        let keys: Vec<&str> = form.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["content", "filename", "url", "checksum", "checksum-algorithm"]);
        let slot = Artifact { url: "https://image-factory.emhost.internal/image/x".to_owned(), ..artifact("a", ImageFormat::Raw) };
        assert!(download(&slot, "import").is_err());
    }
}

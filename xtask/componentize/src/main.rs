//! `cargo xtask helm`: turns the module that Go made out of `helm/` into a component, and says its digest.
#![expect(clippy::print_stdout, reason = "what `cargo xtask helm` reads")]

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use wasi_preview1_component_adapter_provider as adapter;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, wit, component] = &arguments[..] else {
        return Err("usage: componentize MODULE WIT-FOLDER COMPONENT".into());
    };
    let mut bytes = fs::read(module)?;
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit)?;
    let world = resolve.select_world(&[package], None)?;
    embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8)?;
    let made = ComponentEncoder::default()
        .module(&bytes)?
        .adapter(adapter::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .validate(true)
        .encode()?;
    keep(Path::new(component), &made)?;
    // What a release embeds: a quarter of the size.
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&made)?;
    keep(Path::new(&format!("{component}.gz")), &packed.finish()?)?;
    println!("{:x}", Sha256::digest(&made));
    Ok(())
}

/// Renamed into place, so that what is there is whole.
fn keep(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = file.with_extension("new");
    fs::write(&new, bytes)?;
    fs::rename(new, file)
}

//! Embeds the built-in plugins that `cargo xtask` compiled beforehand, and Helm's component where it was asked for.
//!
//! Cargo cannot build for a second target from inside a build, so the components are found, not
//! made: without them the binary still builds, and says at run time how to get them.

use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-env-changed=EMHOST_BUILTIN_PLUGINS");
    let mut entries = String::new();
    if let Some(folder) = env::var_os("EMHOST_BUILTIN_PLUGINS").map(PathBuf::from).filter(|folder| folder.is_dir()) {
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files: Vec<PathBuf> = fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
        files.sort();
        for file in files {
            println!("cargo::rerun-if-changed={}", file.display());
            let name = file.file_stem().and_then(|stem| stem.to_str()).ok_or("a plugin's file name is not text")?;
            entries = format!("{entries}    ({name:?}, include_bytes!({:?})),\n", file.display().to_string());
        }
    }
    let code = format!("/// Every built-in plugin: its name and its component.\nstatic BUILTIN: &[(&str, &[u8])] = &[\n{entries}];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    fs::write(out.join("builtin.rs"), code)?;
    println!("cargo::rerun-if-env-changed=EMHOST_BUILTIN_HELM");
    let helm = match env::var("EMHOST_BUILTIN_HELM") {
        Ok(file) => {
            println!("cargo::rerun-if-changed={file}");
            format!("Some(include_bytes!({file:?}))")
        }
        Err(_) => "None".to_owned(),
    };
    fs::write(
        out.join("helm.rs"),
        format!("/// Helm's component, packed by gzip, where it was built in.\nstatic HELM: Option<&[u8]> = {helm};\n"),
    )?;
    Ok(())
}

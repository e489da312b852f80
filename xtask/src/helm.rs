//! `cargo xtask helm`: Helm as a component, out of the sources in `helm/`. The only part of emhost that needs Go, and only here.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Result, root, run, target, tools};

/// The Go that the digest in `helm/helm.sha256` was made with; Go itself fetches it where it is another.
const GO: &str = "go1.26.8";
/// What Helm says its version is. The same as in `helm/go.mod`.
const HELM: &str = "v4.3.1";
/// Where the digest of the component is written down.
const PIN: &str = "helm/helm.sha256";

/// Builds the component into `target/helm/`, or takes it from the user's cache where the same sources were built before.
/// With `--write`, the digest of what was built becomes the one that emhost expects.
pub fn build(arguments: &[String]) -> Result {
    let write = match arguments {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => return Err("usage: cargo xtask helm [--write]".into()),
    };
    let folder = target().join("helm");
    let component = folder.join("helm.wasm");
    let kept = tools().join(format!("helm-{:016x}", fingerprint()?));
    fs::create_dir_all(&folder)?;
    if !kept.join("helm.wasm.sha256").exists() {
        println!("xtask: building Helm {HELM} as a component once, into {}", kept.display());
        compile(&kept)?;
    }
    for name in ["helm.wasm", "helm.wasm.gz"] {
        copy(&kept.join(name), &folder.join(name))?;
    }
    let digest = fs::read_to_string(kept.join("helm.wasm.sha256"))?;
    let pin = root().join(PIN);
    if write {
        fs::write(&pin, &digest)?;
    }
    let expected = fs::read_to_string(&pin).unwrap_or_default();
    if expected != digest {
        let (is, was) = (digest.trim(), expected.trim());
        return Err(format!(
            "the component is {is}, and {PIN} says {was}\nif helm/ was changed on purpose, run `cargo xtask helm --write`; otherwise this build is not the one that others get"
        )
        .into());
    }
    println!("xtask: {} (sha256 {})", component.display(), digest.trim());
    Ok(())
}

/// What the component depends on: its sources, both compilers, and how it is put together.
fn fingerprint() -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    (GO, HELM).hash(&mut hasher);
    let mut files = Vec::new();
    for folder in ["helm", "xtask/componentize"] {
        collect(&root().join(folder), &mut files)?;
    }
    files.sort();
    for file in files {
        file.strip_prefix(root())?.hash(&mut hasher);
        fs::read(&file)?.hash(&mut hasher);
    }
    let lock = fs::read_to_string(root().join("Cargo.lock"))?;
    for name in ["wit-component", "wit-parser", "wasi-preview1-component-adapter-provider"] {
        let version = lock.split("[[package]]").find(|package| package.contains(&format!("\nname = \"{name}\"\n")));
        version.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_none_or(|extension| extension != "md" && extension != "sha256") {
            files.push(path);
        }
    }
    Ok(())
}

fn compile(kept: &Path) -> Result {
    let work = kept.with_extension(format!("new-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    let made = compile_in(&work);
    if made.is_ok() {
        // Somebody else may have been faster, with the same.
        let _ = fs::remove_dir_all(kept);
        fs::rename(&work, kept)?;
    } else {
        let _ = fs::remove_dir_all(&work);
    }
    made
}

fn compile_in(work: &Path) -> Result {
    let module = work.join("module.wasm");
    let flags = format!("-s -w -checklinkname=0 -X helm.sh/helm/v4/internal/version.version={HELM}");
    // In the background where others work too: it takes minutes, once.
    let mut go = Command::new("nice");
    go.args(["-n", "19", "go", "build", "-C", "helm", "-buildmode=c-shared", "-trimpath", "-ldflags", &flags, "-o"]).arg(&module).arg(".");
    go.envs([("GOOS", "wasip1"), ("GOARCH", "wasm"), ("CGO_ENABLED", "0"), ("GOWORK", "off"), ("GOTOOLCHAIN", GO)]);
    go.env("GOFLAGS", "-buildvcs=false -mod=readonly").env_remove("GOWASM").env_remove("GOEXPERIMENT");
    run(&mut go).map_err(|error| format!("{error}\nHelm is built with Go, see https://go.dev/dl; nothing else of emhost needs it"))?;
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let component = work.join("helm.wasm");
    let mut componentize = Command::new(cargo);
    componentize.args(["run", "--quiet", "--package", "componentize", "--"]).arg(&module).arg("helm/wit").arg(&component);
    let output = componentize.current_dir(root()).stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{componentize:?} ended with {}", output.status).into());
    }
    fs::remove_file(module)?;
    Ok(fs::write(work.join("helm.wasm.sha256"), output.stdout)?)
}

/// Untouched when unchanged, so that the host is not built again.
fn copy(from: &Path, to: &Path) -> Result {
    let bytes = fs::read(from)?;
    if fs::read(to).ok().as_ref() != Some(&bytes) {
        fs::write(to, bytes)?;
    }
    Ok(())
}

//! Fails the build when a guest is in `guests/examples/` and no test (nor the demo or the benchmark) names it.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    for inner in files.clone().iter().filter(|path| path.is_dir()) {
        files.extend(self::files(inner)?);
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    Ok(files)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut suite = String::new();
    for file in files(Path::new("suite"))?.into_iter().chain(files(Path::new("src/bin"))?) {
        println!("cargo::rerun-if-changed={}", file.display());
        suite.push_str(&fs::read_to_string(file)?);
    }
    let unused: Vec<String> = files(Path::new("guests/examples"))?
        .iter()
        .filter_map(|file| file.file_stem()?.to_str())
        .filter(|name| !suite.contains(&format!("\"{name}\"")))
        .map(str::to_owned)
        .collect();
    if unused.is_empty() { Ok(()) } else { Err(format!("guests that no test in suite/ names: {}", unused.join(", ")).into()) }
}

//! A chart that lies in the cluster's folder. Nothing outside of that folder is read, wherever a link leads.

use std::io::{self, Read};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::error::ChartError;

/// The most files, the most bytes of all of them, and the deepest that is looked.
const FILES: usize = 5000;
const BYTES: usize = 32 << 20;
const DEEPEST: usize = 32;

/// Every file of the chart, by its name in it.
pub(super) fn read(cluster: &Path, chart: &str) -> Result<Vec<(String, Vec<u8>)>, ChartError> {
    let fail = |why: String| {
        let help = "name a folder of the cluster's folder with a Chart.yaml in it, or an address with oci:// or https://";
        ChartError::new("chart/folder", format!("cannot read the chart in {chart}: {why}"), help)
    };
    let opened = Dir::open_ambient_dir(cluster, ambient_authority()).and_then(|cluster| cluster.open_dir(chart));
    let mut found = Reading::default();
    found.folder(&opened.map_err(|error| fail(error.to_string()))?, "", 0).map_err(|error| fail(error.to_string()))?;
    if !found.files.iter().any(|(name, _)| name == "Chart.yaml") {
        return Err(fail("there is no Chart.yaml in it".to_owned()));
    }
    Ok(found.files)
}

#[derive(Default)]
struct Reading {
    files: Vec<(String, Vec<u8>)>,
    bytes: usize,
}

impl Reading {
    fn folder(&mut self, dir: &Dir, above: &str, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other(format!("{above} is deeper than {DEEPEST} folders; does a link lead in a circle?")));
        }
        let mut names = Vec::new();
        for entry in dir.entries()? {
            let name = entry?.file_name();
            let shown = name.to_string_lossy().into_owned();
            names.push(name.into_string().map_err(|_| io::Error::other(format!("{above}{shown} is no name in UTF-8")))?);
        }
        names.sort();
        for name in names {
            let path = format!("{above}{name}");
            let told = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
            // Of what a link leads to, as Helm does.
            let found = dir.metadata(&name).map_err(told)?;
            if found.is_dir() {
                // Never a part of a chart, and seldom small.
                if name != ".git" {
                    self.folder(&dir.open_dir(&name).map_err(told)?, &format!("{path}/"), depth + 1)?;
                }
            } else if found.is_file() {
                self.file(dir, &name, path.clone()).map_err(told)?;
            } else {
                return Err(io::Error::other(format!("{path} is neither a file nor a folder")));
            }
        }
        Ok(())
    }

    fn file(&mut self, dir: &Dir, name: &str, path: String) -> io::Result<()> {
        let mut bytes = Vec::new();
        dir.open(name)?.take((BYTES - self.bytes) as u64 + 1).read_to_end(&mut bytes)?;
        self.bytes += bytes.len();
        if self.bytes > BYTES || self.files.len() >= FILES {
            return Err(io::Error::other(format!("a chart has {FILES} files and {} MiB at most", BYTES >> 20)));
        }
        self.files.push((path, bytes));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_whole_and_nothing_beside_it() {
        let site = tempfile::tempdir().expect("a folder");
        let chart = site.path().join("dev/chart/templates");
        std::fs::create_dir_all(&chart).expect("a folder");
        let missing = read(&site.path().join("dev"), "chart").expect_err("refused").to_string();
        assert_eq!(missing, "cannot read the chart in chart: there is no Chart.yaml in it");
        std::fs::write(site.path().join("dev/chart/Chart.yaml"), "name: x").expect("a file");
        std::fs::write(chart.join("a.yaml"), "a: 1").expect("a file");
        std::os::unix::fs::symlink("a.yaml", chart.join("b.yaml")).expect("a link");
        let found = read(&site.path().join("dev"), "./chart").expect("read");
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Chart.yaml", "templates/a.yaml", "templates/b.yaml"]);
        assert_eq!(found[2].1, b"a: 1");

        std::fs::write(site.path().join("secret"), "x").expect("a file");
        std::os::unix::fs::symlink("../../../secret", chart.join("c.yaml")).expect("a link");
        let outside = read(&site.path().join("dev"), "chart").expect_err("refused").to_string();
        assert!(outside.starts_with("cannot read the chart in chart: templates/c.yaml: "), "{outside}");
        assert!(read(&site.path().join("dev"), "../dev/chart").is_err());
        std::fs::remove_file(chart.join("c.yaml")).expect("removed");
        std::os::unix::fs::symlink(".", chart.join("d")).expect("a link");
        let circle = read(&site.path().join("dev"), "chart").expect_err("refused").to_string();
        assert!(circle.contains("in a circle"), "{circle}");
    }
}

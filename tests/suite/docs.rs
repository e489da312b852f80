//! The documentation names files that are there.

use std::path::{Path, PathBuf};

#[test]
fn every_file_named_in_the_docs_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "wit/CHANGES.md"].iter().map(|page| root.join(page)).collect();
    pages.extend(std::fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("an entry").path()));
    let places = ["", "host/src", "host/src/capabilities", "tests", "docs"];
    let mut named = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page");
        let code = text.split('`').skip(1).step_by(2);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for name in code.chain(links) {
            let is_file = [".rs", ".md", ".wit", ".toml", ".json"].iter().any(|end| name.ends_with(end))
                || (name.ends_with('/') && !name.contains("://"));
            // Files of a site or of a plugin are not ours.
            let site =
                ["site.yaml", "emhost-plugin.json"].contains(&name) || name.starts_with(".emhost/") || name.starts_with("generated/");
            let ours = is_file && !name.contains(['*', ' ', '<', ':', '#']) && !site;
            if ours {
                named += 1;
                let exists = places.iter().any(|place| root.join(place).join(name).exists());
                let built = name.starts_with("target/");
                assert!(exists || built, "{} names `{name}`, which is not there", page.display());
            }
        }
    }
    assert!(named > 40, "only {named} names were found: is this test still looking?");
}

#[test]
fn the_smallest_provisioner_is_under_60_lines() {
    let noop = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/noop/src/lib.rs");
    assert!(std::fs::read_to_string(noop).expect("the plugin").lines().count() < 60);
}

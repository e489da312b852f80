//! How a machine configuration is shown: as it is up to 1.11, afterwards as one YAML string, which may hold several documents.

use super::{Key, Meta};

/// The type of machine configurations.
const CONFIGURATIONS: &str = "MachineConfigs.config.talos.dev";

/// The annotation that says so; clients look for it before they edit a configuration.
const AS_STRING: &str = "talos.dev/yaml-spec";

/// Shows a resource as a version (1.`minor`) does.
pub(super) fn present(minor: u32, key: &Key, meta: &mut Meta, yaml: String) -> String {
    if key.kind != CONFIGURATIONS || minor < 12 {
        return yaml;
    }
    meta.annotations.insert(AS_STRING.to_owned(), "1".to_owned());
    literal(&yaml)
}

/// A YAML document that is one string of several lines.
fn literal(text: &str) -> String {
    let ends = text.len() - text.trim_end_matches('\n').len();
    let keep = match ends {
        0 => "-",
        1 => "",
        _ => "+",
    };
    // A text that begins with a space has to say how deep it is set in.
    let depth = if text.starts_with(' ') { "4" } else { "" };
    let mut shown = format!("|{depth}{keep}\n");
    for line in text.lines() {
        if !line.is_empty() {
            shown.push_str("    ");
        }
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_documents_become_one_string() {
        let text = "version: v1alpha1\nmachine:\n    type: worker\n\n---\nkind: HostnameConfig\n";
        let key = Key::new(CONFIGURATIONS, "config", "v1alpha1");
        let mut meta = Meta::default();
        assert_eq!(present(11, &key, &mut meta, text.to_owned()), text);
        assert!(meta.annotations.is_empty());
        let shown = present(12, &key, &mut meta, text.to_owned());
        assert_eq!(shown, "|\n    version: v1alpha1\n    machine:\n        type: worker\n\n    ---\n    kind: HostnameConfig\n");
        assert_eq!(meta.annotations[AS_STRING], "1");
        assert_eq!(literal("a"), "|-\n    a\n");
        assert_eq!(literal(" a\n\n"), "|4+\n     a\n\n");
    }
}

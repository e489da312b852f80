//! What a look at everything found, group by group: what is fine, what is not, and what to do about it.

use emhost::diagnostic::{Diagnostic, Severity};
use serde_json::json;

use super::text::{Line, Style, count};
use super::{Ui, Volume};

/// Where everything below a finding begins.
const INDENT: usize = 6;

impl Ui {
    /// One group.
    pub fn findings(&self, group: &str, fine: &[String], findings: &[Diagnostic]) {
        for text in fine {
            self.event("fine", json!({ "group": group, "text": text }));
        }
        for finding in findings {
            self.event("finding", json!({ "group": group, "diagnostic": finding }));
            if self.is_quiet() {
                self.diagnostic(finding);
            }
        }
        if self.json || self.volume == Volume::Quiet || (fine.is_empty() && findings.is_empty()) {
            return;
        }
        for line in lines(group, fine, findings) {
            self.show(&line);
        }
    }

    /// How many there were.
    pub fn found(&self, errors: usize, warnings: usize) {
        self.event("found", json!({ "errors": errors, "warnings": warnings }));
        self.show(&Line::default());
        let warned = if warnings == 0 { String::new() } else { format!("; {}", count(warnings, "warning", "warnings")) };
        self.show(&if errors == 0 {
            Line::new(Style::Green, "✓ ").plain(format!("nothing is in the way{warned}"))
        } else {
            Line::new(Style::Red, "✗ ").plain(format!("{} in the way{warned}", count(errors, "thing is", "things are")))
        });
    }
}

fn lines(group: &str, fine: &[String], findings: &[Diagnostic]) -> Vec<Line> {
    let mut lines = vec![Line::new(Style::Bold, group)];
    lines.extend(fine.iter().map(|text| Line::new(Style::Green, "  ✓ ").plain(text)));
    for finding in findings {
        let (style, mark) = match finding.severity {
            Severity::Error => (Style::Red, "  ✗ "),
            Severity::Warning => (Style::Yellow, "  ! "),
            Severity::Note => (Style::Dim, "  · "),
        };
        let place = finding.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        lines.push(Line::new(style, mark).plain(&finding.summary).and(Style::Dim, place));
        let indent = " ".repeat(INDENT);
        let detail = finding.detail.iter().flat_map(|detail| detail.lines());
        lines.extend(detail.map(|text| Line::new(Style::Dim, format!("{indent}| ")).plain(text)));
        for (index, text) in finding.help.iter().flat_map(|help| help.lines()).enumerate() {
            lines.push(Line::new(Style::Bold, format!("{indent}{}", if index == 0 { "fix: " } else { "     " })).plain(text));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_comes_with_its_fix() {
        let findings = [
            Diagnostic::error("proxmox/storage", "storage `local` has no content type `import`")
                .detail("it has images, iso")
                .help(Some("allow it:\npvesm set local --content images,iso,import")),
            Diagnostic::warning("proxmox/memory", "pve1 has 4 GiB of memory left"),
        ];
        let text: Vec<String> =
            lines("hypervisor", &["Proxmox VE 9.0.3".to_owned()], &findings).iter().map(|line| line.painted(false)).collect();
        insta::assert_snapshot!(text.join("\n"), @r"
        hypervisor
          ✓ Proxmox VE 9.0.3
          ✗ storage `local` has no content type `import`
              | it has images, iso
              fix: allow it:
                   pvesm set local --content images,iso,import
          ! pve1 has 4 GiB of memory left
        ");
    }
}

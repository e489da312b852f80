//! What a dry run shows: the lines that would change.

use super::Config;

/// The changes between two configurations as a unified diff; empty where nothing changes.
pub fn diff(old: &Config, new: &Config) -> String {
    unified(&old.canonical(), &new.canonical())
}

/// The answer to a dry run: what would have been done, and the changes.
pub fn dry_run(details: &str, changes: &str) -> String {
    let changes = if changes.is_empty() { "No changes." } else { changes };
    format!("Dry run summary:\n{details} (skipped in dry-run).\nConfig diff:\n\n{changes}")
}

/// Lines shown around a change.
const AROUND: usize = 3;
/// Changes up to which the shortest way is looked for; beyond, everything between is replaced.
const FAREST: usize = 1500;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Same,
    Gone,
    Come,
}

/// A unified diff of two texts.
pub(super) fn unified(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let steps = steps(&old, &new);
    if steps.iter().all(|step| *step == Step::Same) {
        return String::new();
    }
    let mut out = "--- a\n+++ b\n".to_owned();
    let changes: Vec<_> = steps.iter().enumerate().filter(|(_, step)| **step != Step::Same).map(|(at, _)| at).collect();
    let mut rest = changes.as_slice();
    while let Some(first) = rest.first() {
        let length = rest.windows(2).position(|pair| pair[1] - pair[0] > 2 * AROUND + 1).map_or(rest.len(), |gap| gap + 1);
        let from = first.saturating_sub(AROUND);
        let to = (rest[length - 1] + AROUND + 1).min(steps.len());
        hunk(&mut out, &steps, from, to, &old, &new);
        rest = &rest[length..];
    }
    out
}

fn hunk(out: &mut String, steps: &[Step], from: usize, to: usize, old: &[&str], new: &[&str]) {
    let count = |range: &[Step], without: Step| range.iter().filter(|step| **step != without).count();
    let (mut left, mut right) = (count(&steps[..from], Step::Come), count(&steps[..from], Step::Gone));
    let place = |start: usize, lines: usize| if lines > 1 { format!("{},{lines}", start + 1) } else { (start + 1).to_string() };
    let range = &steps[from..to];
    let places = [place(left, count(range, Step::Come)), place(right, count(range, Step::Gone))];
    out.extend(["@@ -", places[0].as_str(), " +", places[1].as_str(), " @@\n"]);
    for step in range {
        let (sign, line) = match step {
            Step::Come => ('+', new[right]),
            Step::Gone => ('-', old[left]),
            Step::Same => (' ', old[left]),
        };
        left += usize::from(*step != Step::Come);
        right += usize::from(*step != Step::Gone);
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
}

/// The shortest way from one list of lines to the other, by Myers.
fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let head = old.iter().zip(new).take_while(|(left, right)| left == right).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(left, right)| left == right).count();
    let (old, new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let middle = shortest(old, new).unwrap_or_else(|| [vec![Step::Gone; old.len()], vec![Step::Come; new.len()]].concat());
    [vec![Step::Same; head], middle, vec![Step::Same; tail]].concat()
}

fn shortest(old: &[&str], new: &[&str]) -> Option<Vec<Step>> {
    let most = (old.len() + new.len()).min(FAREST);
    let centre = most + 1;
    // Per diagonal, how far into the old lines one gets with so many changes.
    let mut reach = vec![0_usize; 2 * most + 3];
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for changes in 0..=most {
        trace.push(reach[centre - changes - 1..=centre + changes + 1].to_vec());
        for diagonal in (0..=2 * changes).step_by(2) {
            let at = centre + diagonal - changes;
            let down = diagonal == 0 || diagonal != 2 * changes && reach[at - 1] < reach[at + 1];
            let mut left = if down { reach[at + 1] } else { reach[at - 1] + 1 };
            let mut right = (left + centre).checked_sub(at)?;
            while left < old.len() && right < new.len() && old[left] == new[right] {
                left += 1;
                right += 1;
            }
            reach[at] = left;
            if left >= old.len() && right >= new.len() {
                return Some(back(&trace, old.len(), new.len()));
            }
        }
    }
    None
}

/// The way back from the end.
fn back(trace: &[Vec<usize>], mut left: usize, mut right: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    for (changes, reach) in trace.iter().enumerate().rev() {
        // `reach` begins one diagonal below the lowest of this round.
        let at = |diagonal: usize| reach[diagonal];
        let diagonal = left + changes + 1 - right;
        let down = diagonal == 1 || diagonal != 2 * changes + 1 && at(diagonal - 1) < at(diagonal + 1);
        let (before, from) = if down { (diagonal + 1, at(diagonal + 1)) } else { (diagonal - 1, at(diagonal - 1)) };
        let start = if changes == 0 { (0, 0) } else { (from, from + changes + 1 - before) };
        let after = if changes == 0 {
            (0, 0)
        } else if down {
            (start.0, start.1 + 1)
        } else {
            (start.0 + 1, start.1)
        };
        while left > after.0 && right > after.1 {
            steps.push(Step::Same);
            left -= 1;
            right -= 1;
        }
        if changes > 0 {
            steps.push(if down { Step::Come } else { Step::Gone });
            (left, right) = start;
        }
    }
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use super::super::{Version, load};
    use super::*;

    /// Applies a diff, so that it proves itself.
    fn applied(old: &str, diff: &str) -> String {
        let old: Vec<_> = old.lines().collect();
        let (mut out, mut at) = (Vec::new(), 0);
        for line in diff.lines().skip(2) {
            if let Some(head) = line.strip_prefix("@@ -") {
                let start: usize = head.split([',', ' ']).next().unwrap().parse().unwrap();
                while at + 1 < start {
                    out.push(old[at]);
                    at += 1;
                }
                continue;
            }
            match line.split_at(1) {
                ("+", text) => out.push(text),
                ("-", text) => {
                    assert_eq!(old[at], text);
                    at += 1;
                }
                (_, text) => {
                    assert_eq!(old[at], text);
                    out.push(text);
                    at += 1;
                }
            }
        }
        out.extend(&old[at..]);
        out.into_iter().flat_map(|line| [line, "\n"]).collect()
    }

    #[test]
    fn a_diff_leads_from_one_text_to_the_other() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for _ in 0..300 {
            let mut text = |lines: u64| {
                (0..random(lines))
                    .flat_map(|_| [if random(3) == 0 { "a" } else { ["b", "c", "d"][usize::from(random(2) == 0)] }, "\n"])
                    .collect::<String>()
            };
            let (old, new) = (text(40), text(40));
            let diff = unified(&old, &new);
            if old == new {
                assert_eq!(diff, "");
            } else {
                assert_eq!(applied(&old, &diff), new, "{diff}");
            }
        }
    }

    #[test]
    fn a_dry_run_tells_what_would_change() {
        let read = |text: &str| load(text.as_bytes(), Version::new(1, 11, 5)).unwrap();
        let (old, new) = (read("machine: {type: worker}\n"), read("machine: {type: worker, sysctls: {a: b}} # more\n"));
        assert_eq!(diff(&old, &old), "");
        let changes = diff(&old, &new);
        assert_eq!(
            changes,
            "--- a\n+++ b\n@@ -3,4 +3,6 @@\n     type: worker\n     token: \"\"\n     certSANs: []\n+    sysctls:\n+        a: b\n cluster: null\n"
        );
        assert!(
            dry_run("Applied configuration without a reboot", &changes)
                .starts_with("Dry run summary:\nApplied configuration without a reboot (skipped in dry-run).\nConfig diff:\n\n--- a\n")
        );
        assert!(dry_run("x", "").ends_with("\n\nNo changes."));
    }
}

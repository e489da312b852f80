//! The number of a new machine. Nobody reserves one: it is taken by making the machine, and the next one is tried if somebody was faster.

use emhost_sdk::Failure;

use crate::api::answers::Listed;
use crate::find::described;
use crate::machine::Wanted;

/// Refuses a number that the inventory fixes and somebody else has.
///
/// # Errors
/// Who has it.
pub fn check_fixed(wanted: &Wanted, all: &[Listed], refused: &[u32]) -> Result<(), Failure> {
    let Some(number) = wanted.number else { return Ok(()) };
    let holder = all.iter().find(|listed| listed.vmid == number).map(described);
    let hidden = || refused.contains(&number).then(|| format!("a machine that the credential of slot `pve` cannot see has {number}"));
    let Some(holder) = holder.or_else(hidden) else { return Ok(()) };
    let summary = format!("{} is to be VM {number}, and somebody else has that number: {holder}", wanted.node);
    Err(Failure::conflict("proxmox/number", summary).pointer("/vmid").help("give the node another `vmid`, or leave it out"))
}

/// The number to try. Each node begins at a place of its own, so that nodes which are made at once rarely want the same one.
///
/// # Errors
/// There is none.
pub fn choose(wanted: &Wanted, all: &[Listed], refused: &[u32]) -> Result<u32, Failure> {
    check_fixed(wanted, all, refused)?;
    if let Some(number) = wanted.number {
        return Ok(number);
    }
    let (first, last) = wanted.numbers;
    let begin = first + wanted.turn % (last - first + 1);
    let free = |number: &u32| !refused.contains(number) && !all.iter().any(|listed| listed.vmid == *number);
    (begin..=last).chain(first..begin).find(free).ok_or_else(|| {
        Failure::conflict("proxmox/numbers", format!("no number from {first} to {last} is free for {}", wanted.node))
            .help("widen proxmox.vmid_range in cluster.yaml")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::samples::wanted;

    fn listed(vmid: u32) -> Listed {
        Listed { kind: "lxc".to_owned(), vmid, node: "pve2".to_owned(), name: Some("db".to_owned()), ..Listed::default() }
    }

    #[test]
    fn each_node_begins_at_a_place_of_its_own() {
        let at = |turn| Wanted { turn, numbers: (300, 302), ..wanted() };
        assert_eq!(choose(&at(0), &[], &[]).expect("free"), 300);
        assert_eq!(choose(&at(2), &[], &[]).expect("free"), 302);
        assert_eq!(choose(&at(2), &[listed(302)], &[300]).expect("free"), 301);
        assert_eq!(choose(&at(7), &[listed(301)], &[]).expect("free"), 302);
        let failure = choose(&at(0), &[listed(300), listed(301), listed(302)], &[]).expect_err("none");
        assert_eq!(failure.diagnostics[0].summary, "no number from 300 to 302 is free for dev-cp-1");
    }

    #[test]
    fn a_fixed_number_is_that_or_none() {
        let fixed = Wanted { number: Some(500), ..wanted() };
        assert_eq!(choose(&fixed, &[listed(300)], &[]).expect("free"), 500);
        let failure = choose(&fixed, &[listed(500)], &[]).expect_err("taken");
        assert!(failure.diagnostics[0].summary.ends_with("container 500 (db) on pve2"), "{:?}", failure.diagnostics);
        assert!(choose(&fixed, &[], &[500]).is_err());
    }
}

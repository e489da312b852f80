//! The user of docs/proxmox.md: it is enough for everything, and whatever is taken from it is missed and named.

use emhost::bindings::emhost::plugin::types::{Addressing, Diagnostic, FailureKind, Intent, Severity};
use emhost::inventory::site::SlotConfig;
use emhost::plugins::CallError;
use emhost_sim::{Administrator, Plan, Release};
use emhost_testkit::Kit;
use emhost_tests::plugin;

use super::lab::{Base, Lab, plan, told};

/// The lines that a person runs on a host.
fn documented() -> Vec<Vec<String>> {
    let page = include_str!("../../../docs/proxmox.md");
    let lines = page.lines().filter(|line| line.starts_with("pveum "));
    lines.map(words).collect()
}

/// A line as a shell splits it.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("a word").push(character),
        }
    }
    words
}

/// Does what `pveum` does with such a line; the secret of a token comes back.
async fn run(administrator: &Administrator, words: &[String]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["pveum", "user", "add", user] => administrator.post("/access/users", &[("userid", user)]).await.map(|_| None),
        ["pveum", "role", "add", role, "--privs", privileges] => {
            administrator.post("/access/roles", &[("roleid", role), ("privs", privileges)]).await.map(|_| None)
        }
        ["pveum", "user", "token", "add", user, token, "--privsep", separate] => {
            let made = administrator.post(&format!("/access/users/{user}/token/{token}"), &[("privsep", separate)]).await;
            made.map(|made| Some(format!("{user}!{token}={}", made["value"].as_str().expect("a secret"))))
        }
        ["pveum", "acl", "modify", path, "--roles", roles, "--users", users, "--tokens", tokens] => {
            let form = [("path", path), ("roles", roles), ("users", users), ("tokens", tokens)];
            administrator.put("/access/acl", &form).await.map(|_| None)
        }
        _ => panic!("docs/proxmox.md has a line that this test does not know: {words:?}"),
    }
    .unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// A site with that user, and the plugin with its token.
async fn lab(release: Release) -> Lab {
    lab_of(plan(release)).await
}

async fn lab_of(plan: Plan) -> Lab {
    let mut lab = Lab::new(plan).await;
    let mut token = None;
    for line in documented() {
        token = run(lab.administrator(), &line).await.or(token);
    }
    let access = lab.site.access().clone();
    let cluster = lab.kit.context.cluster.clone();
    let slot = SlotConfig {
        url: Some(access.pve),
        ca: Some("ca.pem".to_owned()),
        credential: Some("pve_token".to_owned()),
        ..SlotConfig::default()
    };
    let kit = Kit::file(plugin("proxmox"))
        .slot("pve", slot)
        .secret("pve_token", token.expect("a line that makes a token").as_bytes())
        .with_file("ca.pem", access.authority.as_bytes());
    lab.kit = kit.cluster(|own| own.clone_from(&cluster)).load();
    lab
}

/// What the check finds, without notes.
async fn found(lab: &Lab) -> Vec<Diagnostic> {
    let found = lab.kit.plugin.check_site(&lab.kit.context).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.diagnostics()));
    found.into_iter().filter(|one| one.severity != Severity::Note).collect()
}

async fn enough(release: Release) {
    let mut lab = lab(release).await;
    assert_eq!(found(&lab).await, []);
    for base in [Base::Image, Base::Installer, Base::Template] {
        lab.make(base).await;
        lab.apply(None, Intent::Present).await;
        lab.apply(None, Intent::Absent).await;
        assert_eq!(lab.machines().await, Vec::<serde_json::Value>::new());
        lab.state = None;
        lab.observe().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_user_can_do_everything() {
    enough(Release::V9).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_user_can_do_everything_on_the_older_release() {
    enough(Release::V8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_from_it_is_missed_and_named() {
    // What this node, which starts from an image, does not need.
    const OTHERS: [(&str, &str); 3] =
        [("EmhostMachines", "VM.Clone"), ("EmhostImages", "Datastore.Allocate"), ("EmhostDisks", "Datastore.Audit")];
    let lab = lab(Release::V9).await;
    let roles: Vec<(String, String)> =
        documented().into_iter().filter(|line| line[1] == "role").map(|line| (line[3].clone(), line[5].clone())).collect();
    let mut missed = 0;
    for (role, privileges) in &roles {
        let path = format!("/access/roles/{role}");
        for privilege in privileges.split(' ') {
            let rest: Vec<&str> = privileges.split(' ').filter(|other| *other != privilege).collect();
            lab.administrator().put(&path, &[("privs", &rest.join(" "))]).await.expect("another role");
            let told = found(&lab).await;
            if OTHERS.contains(&(role, privilege)) {
                assert_eq!(told, [], "{role} without {privilege}");
            } else {
                let one =
                    told.iter().find(|one| one.code == "proxmox/right").unwrap_or_else(|| panic!("{privilege} is not missed: {told:?}"));
                let help = one.help.clone().unwrap_or_default();
                assert!(one.summary.contains(privilege) && help.contains("pveum acl modify ") && help.contains(role.as_str()), "{one:?}");
                missed += 1;
            }
            lab.administrator().put(&path, &[("privs", privileges)]).await.expect("the role as it was");
        }
    }
    assert_eq!(found(&lab).await, []);
    assert!(missed > 12, "only {missed} were missed");
}

/// What a person reads of a failure.
fn read(error: &CallError) -> String {
    let (kind, summary, help) = told(error);
    assert_eq!(kind, FailureKind::Denied, "{summary}");
    format!("{summary} {help}")
}

/// A right that goes missing after the check is named by the step that needs it, and the next run goes on from there.
#[tokio::test(flavor = "multi_thread")]
async fn what_goes_missing_later_is_named_by_whatever_needs_it() {
    // Audits are rights to look: what cannot be seen is asked for by the check, which names them.
    const LOOKING: [&str; 3] = ["VM.Audit", "Datastore.Audit", "Sys.Audit"];
    let mut lab = lab(Release::V9).await;
    let roles: Vec<(String, String)> =
        documented().into_iter().filter(|line| line[1] == "role").map(|line| (line[3].clone(), line[5].clone())).collect();
    let mut silent = Vec::new();
    for (role, privileges) in &roles {
        let path = format!("/access/roles/{role}");
        for privilege in privileges.split(' ').filter(|privilege| !LOOKING.contains(privilege)) {
            let rest: Vec<&str> = privileges.split(' ').filter(|other| *other != privilege).collect();
            let mut named = false;
            for base in [Base::Image, Base::Installer, Base::Template] {
                let mut first_boot = lab.first_boot(base);
                if base == Base::Template {
                    // A clone gets its cloud-init drive when it is there.
                    first_boot.boot.addressing = Addressing::Provisioner;
                }
                for (boot, intent) in [(Some(&first_boot), Intent::Present), (None, Intent::Present), (None, Intent::Absent)] {
                    lab.administrator().put(&path, &[("privs", &rest.join(" "))]).await.expect("another role");
                    if let Err(error) = lab.try_apply(boot, intent).await {
                        let text = read(&error);
                        assert!(text.contains(privilege) && text.contains("pveum acl modify "), "{role} without {privilege}: {text}");
                        named = true;
                    }
                    lab.administrator().put(&path, &[("privs", privileges)]).await.expect("the role as it was");
                    lab.apply(boot, intent).await;
                    lab.observe().await;
                }
                lab.state = None;
                assert_eq!(lab.machines().await, Vec::<serde_json::Value>::new(), "{role} without {privilege}");
                lab.forget_images().await;
            }
            if !named {
                silent.push(format!("{role} {privilege}"));
            }
        }
    }
    assert_eq!(silent, [] as [&str; 0], "in the documented roles, and missed by nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_lacks_something_is_told_so() {
    let mut plan = plan(Release::V9);
    plan.templates.clear();
    for storage in plan.storages.iter_mut().filter(|storage| storage.id == "local") {
        storage.content.retain(|content| content != "import");
    }
    let lab = lab_of(plan).await;
    let told = found(&lab).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].code, "proxmox/content");
    assert!(told[0].help.as_ref().is_some_and(|help| help.contains("--content") && help.contains("import")), "{told:?}");
}

//! `/cluster`: what concerns all hosts, and `/version`.

use std::sync::Arc;

use super::super::endpoint::{Permission, all, get, post, put, vmid};
use super::super::field::{Field, choice, flag, int, list, maybe, number, one, properties, text};
use super::super::machine::KEYBOARDS;
use super::super::property::Format;
use super::super::{Endpoint, formats};
use crate::Release;

/// Every endpoint of the area.
pub(super) fn endpoints(release: Release) -> Vec<Endpoint> {
    let audit = || all("/", &["Sys.Audit"]);
    let log = if release == Release::V8 { Permission::User } else { Permission::Handler };
    let mut create = post("/cluster/config", Permission::Root)
        .needs([("clustername", one(formats::node).longest(15))])
        .takes([("nodeid", int().min(1)), ("votes", int().min(1))])
        .takes(LINKS.map(|name| (name, properties(&link(release)))));
    create.returns_upid = true;
    if release == Release::V9 {
        create = create.takes([("token-coefficient", int().min(0))]);
    }
    vec![
        get("/", Permission::User),
        get("/version", Permission::User),
        get("/cluster", Permission::User),
        get("/cluster/config", audit()),
        create,
        get("/cluster/config/nodes", audit()),
        get("/cluster/log", log).takes([("max", int().min(1))]),
        get("/cluster/nextid", Permission::User).takes([("vmid", vmid())]),
        get("/cluster/options", Permission::User),
        options(release),
        get("/cluster/resources", Permission::User).takes([("type", choice(&["vm", "storage", "node", "sdn"][..]))]),
        get("/cluster/status", audit()),
        get("/cluster/tasks", Permission::User),
    ]
}

const LINKS: [&str; 8] = ["link0", "link1", "link2", "link3", "link4", "link5", "link6", "link7"];

fn link(release: Release) -> Arc<Format> {
    let fields = [("address", one(formats::address).default_key()), ("priority", int().min(0).max(255).optional())];
    Arc::new(Format::new(release, fields))
}

fn options(release: Release) -> Endpoint {
    let languages: &[&str] = &[
        "ar", "ca", "da", "de", "en", "es", "eu", "fa", "fr", "hr", "he", "it", "ja", "ka", "kr", "nb", "nl", "nn", "pl", "pt_BR", "ru",
        "sl", "sv", "tr", "ukr", "zh_CN", "zh_TW",
    ];
    let change = put("/cluster/options", all("/", &["Sys.Modify"])).takes([
        ("bwlimit", super::bwlimit(release)),
        ("consent-text", text().longest(65536)),
        ("console", choice(&["applet", "vv", "html5", "xtermjs"][..])),
        ("crs", scheduling(release)),
        ("delete", list(formats::config_id)),
        ("description", text().longest(65536)),
        ("email_from", maybe(formats::email)),
        ("fencing", choice(&["watchdog", "hardware", "both"][..])),
        ("ha", shutdown(release)),
        ("http_proxy", text().pattern("http://.*")),
        ("keyboard", choice(KEYBOARDS)),
        ("language", choice(languages)),
        ("mac_prefix", one(formats::mac_prefix)),
        ("max_workers", int().min(1)),
        ("migration", migration(release)),
        ("migration_unsecure", flag()),
        ("next-id", all_optional(release, [("lower", int()), ("upper", int())])),
        ("notify", notify(release)),
        ("registered-tags", text().pattern("(?:(?i:[a-z0-9_][a-z0-9_.+-]*);)*(?i:[a-z0-9_][a-z0-9_.+-]*)")),
        ("tag-style", tag_style(release)),
        ("u2f", all_optional(release, [("appid", text()), ("origin", text())])),
        ("user-tag-access", tag_access(release)),
        ("webauthn", webauthn(release)),
    ]);
    if release == Release::V9 { change.takes([("replication", migration(release))]) } else { change }
}

fn all_optional<const N: usize>(release: Release, fields: [(&'static str, Field); N]) -> Field {
    let fields = fields.map(|(name, field)| (name, field.optional()));
    properties(&Arc::new(Format::new(release, fields)))
}

fn scheduling(release: Release) -> Field {
    match release {
        Release::V8 => all_optional(release, [("ha", choice(&["basic", "static"][..])), ("ha-rebalance-on-start", flag())]),
        Release::V9 => {
            let rebalance = |field: Field| field.requires("ha-auto-rebalance");
            let fields = [
                ("ha", choice(&["basic", "static", "dynamic"][..])),
                ("ha-auto-rebalance", flag()),
                ("ha-auto-rebalance-hold-duration", rebalance(number().min(0))),
                ("ha-auto-rebalance-margin", rebalance(number().min(0))),
                ("ha-auto-rebalance-method", rebalance(choice(&["bruteforce", "topsis"][..]))),
                ("ha-auto-rebalance-threshold", rebalance(number().min(0))),
                ("ha-rebalance-on-start", flag()),
            ];
            all_optional(release, fields)
        }
    }
}

fn shutdown(release: Release) -> Field {
    let policies: &[&str] = &["freeze", "failover", "conditional", "migrate"];
    properties(&Arc::new(Format::new(release, [("shutdown_policy", choice(policies))])))
}

fn migration(release: Release) -> Field {
    let fields = [("network", one(formats::cidr).optional()), ("type", choice(&["secure", "insecure"][..]).default_key())];
    properties(&Arc::new(Format::new(release, fields)))
}

fn notify(release: Release) -> Field {
    let when = || choice(&["always", "never"][..]);
    let fields = [
        ("fencing", when()),
        ("package-updates", choice(&["auto", "always", "never"][..])),
        ("replication", when()),
        ("target-fencing", text()),
        ("target-package-updates", text()),
        ("target-replication", text()),
    ];
    all_optional(release, fields)
}

fn tag_style(release: Release) -> Field {
    let colours = concat!(
        "(?:(?i:[a-z0-9_][a-z0-9_.+-]*):[0-9a-fA-F]{6}(?::[0-9a-fA-F]{6})?)",
        "(?:;(?:(?i:[a-z0-9_][a-z0-9_.+-]*):[0-9a-fA-F]{6}(?::[0-9a-fA-F]{6})?))*",
    );
    let fields = [
        ("case-sensitive", flag()),
        ("color-map", text().pattern(colours)),
        ("ordering", choice(&["config", "alphabetical"][..])),
        ("shape", choice(&["full", "circle", "dense", "none"][..])),
    ];
    all_optional(release, fields)
}

fn tag_access(release: Release) -> Field {
    let tags = "(?i:[a-z0-9_][a-z0-9_.+-]*)(?:;(?i:[a-z0-9_][a-z0-9_.+-]*))*";
    let fields = [("user-allow", choice(&["none", "list", "existing", "free"][..])), ("user-allow-list", text().pattern(tags))];
    all_optional(release, fields)
}

fn webauthn(release: Release) -> Field {
    all_optional(release, [("allow-subdomains", flag()), ("id", text()), ("origin", text()), ("rp", text())])
}

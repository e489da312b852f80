//! The cluster's secrets: made once, then only read.

use std::time::{SystemTime, UNIX_EPOCH};

use emhost_sdk::keys::{self, KeyKind};
use emhost_sdk::secrets::{self, Secret};
use emhost_sdk::{Cluster, Failure, Site, reveal};
use emhost_talos_config::{Bundle, Tailscale};

use super::attributes::text;

/// The whole bundle, as `talosctl gen secrets` writes it.
const BUNDLE: &str = "talos_secrets";
/// Its authorities that the host signs with, certificate and key, so that nobody has to be shown them for that.
const AUTHORITIES: [(&str, &str); 2] = [("talos_os_ca", "certs.os"), ("talos_kubernetes_ca", "certs.k8s")];
/// The key of the tailnet where the inventory names no other.
const TAILNET: &str = "headscale_auth_key";

/// Makes what is missing. A bundle that the user put there is taken as it is.
pub(super) fn prepare(site: Site<'_>) -> Result<(), Failure> {
    let bundle = if let Some(kept) = secrets::get(BUNDLE)? {
        read(&kept)?
    } else {
        site.operation.progress("making the secrets of the cluster", None);
        // Whoever was faster has made them.
        read(&secrets::put_if_absent(BUNDLE, new()?.to_yaml().as_bytes())?)?
    };
    for ((name, part), authority) in AUTHORITIES.into_iter().zip([&bundle.os, &bundle.kubernetes]) {
        let wanted = authority.together();
        let kept = revealed(&secrets::put_if_absent(name, wanted.as_bytes())?)?;
        if !kept.split_whitespace().eq(wanted.split_whitespace()) {
            let summary = format!("secret `{name}` is not the authority `{part}` of secret `{BUNDLE}`");
            return Err(Failure::invalid("talos/secrets", summary).help(format!(
                "remove `{name}` from secrets.sops.yaml, so that it is made from `{BUNDLE}` again; if `{BUNDLE}` is the one that was replaced, put the old one back"
            )));
        }
    }
    Ok(())
}

/// The bundle, which `prepare` made.
pub(super) fn bundle() -> Result<Bundle, Failure> {
    let Some(kept) = secrets::get(BUNDLE)? else {
        return Err(Failure::internal("talos/secrets", format!("there is no secret `{BUNDLE}`: it was not prepared")));
    };
    read(&kept)
}

/// How the nodes join a tailnet, if they do.
pub(super) fn tailscale(cluster: &Cluster) -> Result<Option<Tailscale>, Failure> {
    let options = cluster.attributes();
    let (login_server, named) = (text(&options, "tailscale.login_server"), text(&options, "tailscale.auth_key"));
    if login_server.is_none() && named.is_none() {
        return Ok(None);
    }
    let name = named.as_deref().map_or(TAILNET, |named| named.strip_prefix("secret:").unwrap_or(named));
    let Some(key) = secrets::get(name)? else {
        let summary = format!("the nodes are to join a tailnet, and there is no secret `{name}` to join it with");
        return Err(Failure::invalid("talos/tailscale", summary)
            .pointer("cluster.yaml tailscale.auth_key")
            .help(format!("put the key into secrets.sops.yaml as `{name}`, or remove `tailscale` from cluster.yaml")));
    };
    let auth_key = revealed(&key)?.trim().to_owned();
    Ok(Some(Tailscale { auth_key: auth_key.into(), login_server }))
}

fn new() -> Result<Bundle, Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut random = |bytes: &mut [u8]| bytes.copy_from_slice(&wasip2::random::random::get_random_bytes(bytes.len() as u64));
    let service_account = revealed(&keys::generate(KeyKind::Rsa4096)?)?;
    Bundle::new(now, &mut random, &service_account)
        .map_err(|why| Failure::internal("talos/secrets", format!("the secrets of the cluster cannot be made: {why}")))
}

fn read(kept: &Secret) -> Result<Bundle, Failure> {
    Bundle::from_yaml(&revealed(kept)?).map_err(|why| {
        Failure::invalid("talos/secrets", format!("secret `{BUNDLE}` is not a bundle of Talos secrets: {why}"))
            .help(format!("keep the output of `talosctl gen secrets` there as one text; without any `{BUNDLE}`, emhost makes one"))
    })
}

fn revealed(secret: &Secret) -> Result<String, Failure> {
    String::from_utf8(reveal::reveal(secret))
        .map_err(|_| Failure::invalid("talos/secrets", format!("secret `{}` is not text", secret.name())).help("store it again as text"))
}

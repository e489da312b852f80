//! Documents about registries, services and the kernel.

use super::super::Document;
use super::super::values::{self, quoted};
use super::super::yaml::Node;
use super::Findings;

pub(super) fn check(document: &Document, findings: &mut Findings) {
    let root = &document.root;
    let name = document.name.as_deref().unwrap_or_default();
    let text = |key: &str| root.get(key).and_then(Node::text).filter(|text| !text.is_empty());
    match document.kind.as_str() {
        "RegistryMirrorConfig" => {
            findings.problem_if(name.is_empty(), "name must be specified");
            for (index, endpoint) in root.get("endpoints").map(Node::items).unwrap_or_default().iter().enumerate() {
                match url(endpoint, "url") {
                    None => findings.problem(format!("endpoints[{index}].url must be specified")),
                    Some(url) if !["http", "https"].contains(&url.scheme.as_str()) => {
                        findings.problem(format!("endpoints[{index}].url has unsupported scheme: {}", quoted(&url.scheme)));
                    }
                    Some(_) => {}
                }
            }
        }
        "RegistryAuthConfig" => {
            findings.problem_if(name.is_empty(), "name must be specified");
            let (user, token, auth) = (text("username").is_some(), text("identityToken").is_some(), text("auth").is_some());
            findings.problem_if(user && token, "only one of username/password or identityToken authentication can be specified");
            findings.problem_if(
                auth && (user || token),
                "only one of auth, username/password or identityToken authentication can be specified",
            );
        }
        "RegistryTLSConfig" => {
            findings.problem_if(name.is_empty(), "name must be specified");
            let wrong = text("ca").is_some_and(|text| certificates(text) == 0);
            findings.problem_if(wrong, "ca must be a valid PEM-encoded certificate");
            if let Some(identity) = root.get("clientIdentity") {
                let part = |key: &str| identity.get(key).and_then(Node::text).unwrap_or_default();
                findings.problem_if(certificates(part("cert")) == 0, "client identity certificate is invalid: failed to parse PEM block");
                findings.problem_if(!part("key").contains("PRIVATE KEY-----"), "client identity key is invalid: failed to parse PEM block");
            }
        }
        "EventSinkConfig" => {
            if let Err(why) = values::host_port(text("endpoint").unwrap_or_default()) {
                findings.problem(format!("event sink endpoint: {why}"));
            }
        }
        "ExtensionServiceConfig" => findings.problems.extend(extension(root, name)),
        "KmsgLogConfig" => findings.problems.extend(kernel_log(root, name).map(str::to_owned)),
        "SideroLinkConfig" => findings.problems.extend(siderolink(root).map(str::to_owned)),
        "WatchdogTimerConfig" => {
            if text("device").is_none() {
                findings.problem("watchdog device: empty value");
            } else {
                let timeout = text("timeout").and_then(values::duration).unwrap_or(0);
                findings.problem_if(timeout != 0 && timeout < 10_000_000_000, "watchdog timeout: minimum value is 10s");
            }
        }
        "OOMConfig" => memory(root, findings),
        "EnvironmentConfig" => {
            for (key, _) in root.get("variables").map(Node::entries).unwrap_or_default() {
                let key = key.raw().unwrap_or_default();
                let sound = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                    && key.starts_with(|first: char| !first.is_ascii_digit());
                if !sound {
                    findings.problem(format!("invalid environment variable name: {}", quoted(key)));
                }
            }
        }
        "ImageVerificationConfig" => {
            for (index, rule) in root.get("rules").map(Node::items).unwrap_or_default().iter().enumerate() {
                verification(index, rule, findings);
            }
        }
        _ => {}
    }
}

fn url(node: &Node, key: &str) -> Option<values::Url> {
    let text = node.get(key)?.text().filter(|text| !text.is_empty())?;
    values::Url::read(text).ok()
}

/// How many certificates a text of PEM holds.
fn certificates(text: &str) -> usize {
    x509_parser::pem::Pem::iter_from_buffer(text.as_bytes())
        .flatten()
        .filter(|pem| pem.label == "CERTIFICATE" && pem.parse_x509().is_ok())
        .count()
}

fn extension(root: &Node, name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("name is required".to_owned());
    }
    let files = root.get("configFiles").map(Node::items).unwrap_or_default();
    if files.is_empty() && root.get("environment").is_none_or(|all| all.items().is_empty()) {
        return Some(format!("no config files found for extension {}", quoted(name)));
    }
    let lacks = |file: &Node, key: &str| file.get(key).is_none_or(|value| value.raw() == Some(""));
    files.iter().find_map(|file| {
        let what = if lacks(file, "content") {
            "content"
        } else if lacks(file, "mountPath") {
            "mount path"
        } else {
            return None;
        };
        Some(format!("extension {what} is required for extension {}", quoted(name)))
    })
}

fn kernel_log(root: &Node, name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("name is required");
    }
    let Some(url) = url(root, "url") else { return Some("url is required") };
    if !["tcp", "udp"].contains(&url.scheme.as_str()) {
        Some("url scheme must be tcp:// or udp://")
    } else if !matches!(url.path.as_str(), "" | "/") {
        Some("url path must be empty")
    } else if url.port().is_empty() {
        Some("url port is required")
    } else {
        None
    }
}

fn siderolink(root: &Node) -> Option<&'static str> {
    let Some(url) = url(root, "apiUrl") else { return Some("apiUrl is required") };
    if !["https", "grpc"].contains(&url.scheme.as_str()) {
        Some("apiUrl scheme must be https:// or grpc://")
    } else if matches!(url.path.as_str(), "" | "/") {
        None
    } else {
        Some("apiUrl path must be empty")
    }
}

fn memory(root: &Node, findings: &mut Findings) {
    use super::super::cel::{Environment, Expression, Type};
    for (key, what, environment, wanted) in [
        ("triggerExpression", "trigger", Environment::OomTrigger, Type::Bool),
        ("cgroupRankingExpression", "cgroup scoring", Environment::OomRanking, Type::Double),
    ] {
        if let Some(source) = root.get(key).and_then(Node::text).filter(|source| !source.is_empty())
            && let Err(why) = Expression::read(source, environment, &wanted)
        {
            findings.problem(format!("OOM {what} expression is invalid: {why}"));
        }
    }
    let interval = root.get("sampleInterval").and_then(Node::text).and_then(values::duration).unwrap_or(0);
    findings.problem_if(interval < 0, "OOM sample interval must be longer than 0");
}

fn verification(index: usize, rule: &Node, findings: &mut Findings) {
    let empty = |node: &Node, key: &str| node.get(key).is_none_or(|value| value.raw() == Some(""));
    let on = |key: &str| rule.get(key).and_then(Node::truth) == Some(true);
    let (keyless, key) = (rule.get("keyless"), rule.get("publicKey"));
    let verifies = keyless.is_some() || key.is_some();
    let mut problem = |wrong: bool, text: &str| findings.problem_if(wrong, &format!("rule {index}: {text}"));
    problem(empty(rule, "image"), "imagePattern must be specified");
    problem(on("skip") && on("deny"), "skip and deny cannot both be true");
    problem((on("skip") || on("deny")) && verifies, "verifiers cannot be configured if skip or deny is true");
    problem(!on("skip") && !on("deny") && !verifies, "at least one verifier must be configured");
    problem(keyless.is_some() && key.is_some(), "only one of keyless or publicKey verifier can be configured");
    if let Some(keyless) = keyless {
        problem(empty(keyless, "issuer"), "verifier OIDC issuer must be specified");
        problem(empty(keyless, "subject") && empty(keyless, "subjectRegex"), "verifier subject or subjectRegex must be specified");
    }
    if let Some(key) = key {
        problem(empty(key, "certificate"), "verifier certificates must be specified");
    }
}

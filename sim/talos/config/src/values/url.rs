//! URLs, as far as refusals depend on them.

/// A URL in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    pub scheme: String,
    /// With the port.
    pub host: String,
    pub path: String,
}

impl Url {
    /// Reads a URL, relative ones included.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let fail = |why: String| Err(format!("parse {text:?}: {why}"));
        if text.chars().any(|character| character.is_ascii_control()) {
            return fail("net/url: invalid control character in URL".to_owned());
        }
        let bare = text.split('#').next().unwrap_or(text);
        let (scheme, rest) = match scheme(bare) {
            Ok(parts) => parts,
            Err(why) => return fail(why),
        };
        let rest = rest.split('?').next().unwrap_or(rest);
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                // What follows is opaque: no host, no path.
                return Ok(Self { scheme, ..Self::default() });
            }
            if rest.split('/').next().is_some_and(|first| first.contains(':')) {
                return fail("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let (host, path) = match rest.strip_prefix("//") {
            Some(after) if !rest.starts_with("///") || !scheme.is_empty() => after.find('/').map_or((after, ""), |at| after.split_at(at)),
            _ => ("", rest),
        };
        let host = host.rsplit('@').next().unwrap_or(host);
        if let Err(why) = sound_host(host).and_then(|()| sound_escapes(path)) {
            return fail(why);
        }
        Ok(Self { scheme, host: host.to_owned(), path: path.to_owned() })
    }

    /// The host without the port and without brackets.
    pub(crate) fn hostname(&self) -> &str {
        match self.host.strip_prefix('[') {
            Some(inner) => inner.split(']').next().unwrap_or(inner),
            None => self.host.rsplit_once(':').map_or(self.host.as_str(), |(host, _)| host),
        }
    }

    /// The port; empty where none is written.
    pub(crate) fn port(&self) -> &str {
        let after = self.host.rsplit_once(']').map_or(self.host.as_str(), |(_, after)| after);
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }
}

fn scheme(text: &str) -> Result<(String, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at > 0 => return Ok((text[..at].to_ascii_lowercase(), &text[at + 1..])),
            b':' => return Err("missing protocol scheme".to_owned()),
            _ => break,
        }
    }
    Ok((String::new(), text))
}

fn sound_host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(inner) => inner.rsplit_once(']').ok_or_else(|| "missing ']' in host".to_owned())?.1,
        None => host.rfind(':').map_or("", |at| &host[at..]),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    if !port.is_empty() && (!port.starts_with(':') || !digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(format!("invalid port {port:?} after host"));
    }
    match host.chars().find(|character| matches!(character, ' ' | '"' | '\\' | '^' | '`' | '{' | '|' | '}')) {
        Some(wrong) => Err(format!("invalid character {:?} in host name", wrong.to_string())),
        None => sound_escapes(host),
    }
}

fn sound_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.get(at + 1..at + 3).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if !digits {
            let end = text.len().min(at + 3);
            return Err(format!("invalid URL escape {:?}", text.get(at..end).unwrap_or("%")));
        }
    }
    Ok(())
}

/// Whether a text names a host one can connect to.
pub(crate) fn endpoint(text: &str) -> Result<Url, String> {
    let url = Url::read(text)?;
    if url.host.matches(':').count() > 2 && !(url.host.contains('[') && url.host.contains(']')) {
        return Err("IPv6 addresses MUST be enclosed by square brackets".to_owned());
    }
    if url.hostname().is_empty() {
        return Err("hostname must not be blank".to_owned());
    }
    match url.port() {
        "" => Ok(url),
        port => match port.parse::<u32>() {
            Ok(1..=65535) => Ok(url),
            Ok(_) => Err("port number must be between 1 and 65535".to_owned()),
            Err(_) => Err("port number must be numeric".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_fall_into_their_parts() {
        let url = Url::read("https://10.0.0.10:6443/a?b#c").unwrap();
        assert_eq!((url.scheme.as_str(), url.hostname(), url.port(), url.path.as_str()), ("https", "10.0.0.10", "6443", "/a"));
        assert_eq!(Url::read("https://[fd00::1]:6443").unwrap().hostname(), "fd00::1");
        assert_eq!(Url::read("host:6443").unwrap(), Url { scheme: "host".to_owned(), ..Url::default() });
        assert_eq!(Url::read("10.0.0.1:6443"), Err("parse \"10.0.0.1:6443\": first path segment in URL cannot contain colon".to_owned()));
        assert_eq!(Url::read(":x"), Err("parse \":x\": missing protocol scheme".to_owned()));
        assert!(Url::read("https://a:b").is_err() && Url::read("https://a b").is_err() && Url::read("/%zz").is_err());
    }

    #[test]
    fn an_endpoint_names_a_host() {
        assert!(endpoint("https://cluster.example:6443").is_ok());
        assert_eq!(endpoint("https://"), Err("hostname must not be blank".to_owned()));
        assert_eq!(endpoint("https://a:70000"), Err("port number must be between 1 and 65535".to_owned()));
        assert_eq!(endpoint(""), Err("hostname must not be blank".to_owned()));
    }
}

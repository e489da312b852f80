//! Addresses: Talos merges them part by part, so a path or a query stays when the patch has none.

struct Parts<'text> {
    scheme: &'text str,
    user: &'text str,
    host: &'text str,
    path: &'text str,
    query: &'text str,
    fragment: &'text str,
}

impl<'text> Parts<'text> {
    fn of(text: &'text str) -> Self {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (text, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let (authority, path) = if scheme.is_empty() { ("", rest) } else { rest.find('/').map_or((rest, ""), |at| rest.split_at(at)) };
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        Self { scheme, user, host, path, query, fragment }
    }
}

/// An address with the parts that the other one has.
pub(super) fn merge(left: &str, right: &str) -> String {
    let (left, right) = (Parts::of(left), Parts::of(right));
    let pick = |one: &'static str, left: &str, right: &str| {
        let part = if right.is_empty() { left } else { right };
        if part.is_empty() { String::new() } else { one.replace('_', part) }
    };
    [
        pick("_://", left.scheme, right.scheme),
        pick("_@", left.user, right.user),
        pick("_", left.host, right.host),
        pick("_", left.path, right.path),
        pick("?_", left.query, right.query),
        pick("#_", left.fragment, right.fragment),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_the_patch_lacks_stay() {
        assert_eq!(merge("https://a:6443", "https://b:7443"), "https://b:7443");
        assert_eq!(merge("https://a:1/x?jointoken=1", "https://b"), "https://b/x?jointoken=1");
        assert_eq!(merge("grpc://u@a/x", "grpc://b/y?z#f"), "grpc://u@b/y?z#f");
        assert_eq!(merge("https://a:6443", ""), "https://a:6443");
    }
}

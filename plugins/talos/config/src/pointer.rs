//! The place of a value in a configuration, as a JSON pointer.

/// The pointer of a way of keys.
pub(crate) fn pointer(path: &[impl AsRef<str>]) -> String {
    path.iter().flat_map(|part| ["/".to_owned(), part.as_ref().replace('~', "~0").replace('/', "~1")]).collect()
}

//! The cluster as its inventory describes it: the model every plugin reads.

mod model;
pub mod site;

pub use model::{Cluster, Node};

/// What is wrong with a YAML file, and where; whoever shows it says that it is an error.
pub(crate) fn yaml_error(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

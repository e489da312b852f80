//! What a cluster keeps secret, in the form of `talosctl gen secrets`.

mod bundle;
mod text;

pub use bundle::Bundle;
pub use text::Unreadable;
pub(crate) use text::encoded;

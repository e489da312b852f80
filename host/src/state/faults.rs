//! Points at which tests cut a run off, fill the disk or break a rule on purpose.
//!
//! Only with cargo feature `faults`; without it every point is nothing, and the compiler removes it.
//! What should happen is said once per process, in words separated by commas, see [`configure`].

#[cfg(any(test, feature = "faults"))]
mod active;
#[cfg(any(test, feature = "faults"))]
mod shadow;
#[cfg(any(test, feature = "faults"))]
mod spec;

#[cfg(any(test, feature = "faults"))]
pub use active::{Faults, Handle, Stop, broken, configure, current, point};

/// What a disk operation does, as far as its durability is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A folder is made.
    Folder,
    /// An empty file is made.
    Create,
    /// These bytes are added at the end of a file.
    Append(&'a [u8]),
    /// The file is cut to this length.
    Cut(u64),
    /// The file's bytes become durable.
    Sync,
    /// A file gets this name, and whatever had the name is gone.
    Rename(&'a str),
    /// A name goes.
    Remove,
    /// The names in a folder become durable.
    SyncFolder,
}

#[cfg(not(any(test, feature = "faults")))]
pub use inactive::{Handle, broken, current, point};

#[cfg(not(any(test, feature = "faults")))]
mod inactive {
    #![allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same signatures as with faults")]

    use std::io;

    use super::Kind;

    /// No faults.
    #[derive(Debug, Clone, Copy)]
    pub struct Handle;

    /// The faults of this process: none.
    #[inline]
    pub fn current() -> Handle {
        Handle
    }

    /// A point that is nothing in this build.
    ///
    /// # Errors
    /// None.
    #[inline]
    pub fn point(_: &str) -> io::Result<()> {
        Ok(())
    }

    /// Whether the rule is broken on purpose: no.
    #[inline]
    pub fn broken(_: &str) -> bool {
        false
    }

    impl Handle {
        #[inline]
        pub(crate) fn operate<T>(
            self,
            _: &cap_std::fs::Dir,
            kind: Kind<'_>,
            _: &str,
            run: impl FnOnce(usize) -> io::Result<T>,
        ) -> io::Result<T> {
            run(if let Kind::Append(bytes) = kind { bytes.len() } else { 0 })
        }

        #[inline]
        pub(crate) fn broken(self, _: &str) -> bool {
            false
        }

        #[inline]
        pub(crate) fn real(self) -> bool {
            true
        }
    }
}

//! Why what is remembered cannot be used, and what to do about it.

use std::io;

use super::lock::Holder;
use super::model::LAYOUT;
use crate::diagnostic::Diagnostic;

/// Why what is remembered of a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The cluster's folder cannot be opened.
    #[error("cannot open the folder {folder}: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        source: io::Error,
    },
    /// The disk says no.
    #[error("cannot {doing}: {source}")]
    Disk {
        /// What was tried.
        doing: String,
        /// Why it did not work.
        source: io::Error,
    },
    /// Somebody else works on the cluster, or did so from a host that cannot be asked.
    #[error("{}", match .holder {
        Some(holder) if *.here => format!("{holder} is at work on this cluster"),
        Some(holder) => format!("{holder} may be at work on this cluster, from another host"),
        None => "somebody else is at work on this cluster".to_owned(),
    })]
    Locked {
        /// Who, if that is known.
        holder: Option<Box<Holder>>,
        /// Whether it is a living process of this host.
        here: bool,
    },
    /// The file system cannot lock files.
    #[error("the file system of .emhost/lock has no locks, so two runs at once could not be kept apart: {source}")]
    NoLocks {
        /// What the system says.
        source: io::Error,
    },
    /// The state is that of another cluster.
    #[error("this folder holds the state of cluster `{found}`, and cluster.yaml names `{wanted}`")]
    OtherCluster {
        /// The cluster it belongs to.
        found: String,
        /// The cluster that was asked for.
        wanted: String,
    },
    /// A newer emhost wrote the state.
    #[error(".emhost/state.json has layout {layout}, and this emhost {} knows layout {LAYOUT}", env!("CARGO_PKG_VERSION"))]
    Newer {
        /// Its layout.
        layout: u64,
        /// The emhost that wrote it, if it says so.
        emhost: Option<String>,
    },
    /// The state cannot be understood.
    #[error(".emhost/state.json is damaged: {reason}")]
    Damaged {
        /// What is wrong with it.
        reason: String,
        /// The newest backup.
        backup: Option<String>,
    },
    /// The state is gone, while other files show that there was one.
    #[error(".emhost/state.json is gone, and {found} shows that there was one")]
    Gone {
        /// What shows it.
        found: String,
        /// The newest backup.
        backup: Option<String>,
    },
    /// A journal is damaged where it was durable.
    #[error(".emhost/journal/{file} is damaged in line {line}: {reason}")]
    Journal {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
}

impl StateError {
    /// For `map_err`: what was tried when the disk said no.
    pub(super) fn disk(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Disk { doing: doing.into(), source }
    }

    /// The whole story for the person at the terminal.
    pub fn diagnostic(&self) -> Diagnostic {
        let (code, help) = match self {
            Self::Folder { .. } => ("state/folder", None),
            Self::Disk { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                ("state/disk", Some("make room on the disk, then run the same command again: it goes on where it stopped".to_owned()))
            }
            Self::Disk { .. } => ("state/disk", None),
            Self::Locked { here: true, .. } => {
                ("state/locked", Some("wait until it ends, or stop it with Ctrl-C where it runs".to_owned()))
            }
            Self::Locked { holder: Some(holder), .. } => (
                "state/locked",
                Some(format!("see whether it still runs on {}; if it does not, free the cluster with `emhost state unlock`", holder.host)),
            ),
            Self::Locked { holder: None, .. } => ("state/locked", Some("wait until it ends".to_owned())),
            Self::NoLocks { .. } => ("state/no-locks", Some("keep the cluster's folder on a local disk".to_owned())),
            Self::OtherCluster { found, wanted } => (
                "state/other-cluster",
                Some(format!(
                    "a cluster keeps its name for life: write `cluster_name: {found}` again, or give `{wanted}` a folder of its own"
                )),
            ),
            Self::Newer { emhost, .. } => (
                "state/newer",
                Some(match emhost {
                    Some(emhost) => format!("use emhost {emhost}, which wrote it, or a newer one"),
                    None => "use the emhost that wrote it, or a newer one".to_owned(),
                }),
            ),
            Self::Damaged { backup, .. } | Self::Gone { backup, .. } => ("state/damaged", Some(restore(backup.as_deref()))),
            Self::Journal { file, line, .. } => (
                "state/journal",
                Some(format!(
                    "bring the file back from a copy, or go on without this line and those after it; what they said is then \
                     found again by looking at the live systems:\n{}",
                    cut(file, *line)
                )),
            ),
        };
        Diagnostic::error(code, self.to_string()).help(help)
    }
}

fn restore(backup: Option<&str>) -> String {
    match backup {
        Some(backup) => format!(
            "bring back the newest backup; what happened since is read again from .emhost/journal:\n\
             cp .emhost/{backup} .emhost/state.json"
        ),
        None => {
            "there is no backup: bring .emhost back from a copy of your own. Without it emhost does not know its own machines any more; \
                 to begin anew all the same, move the folder away:\nmv .emhost .emhost.old"
                .to_owned()
        }
    }
}

fn cut(file: &str, line: u64) -> String {
    match line {
        0 | 1 => format!("mv .emhost/journal/{file} .emhost/{file}.damaged"),
        _ => format!(
            "cp .emhost/journal/{file} .emhost/{file}.damaged && head -n {} .emhost/{file}.damaged > .emhost/journal/{file}",
            line - 1
        ),
    }
}

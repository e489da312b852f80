//! The commands. Each has a file of its own: its arguments, and one function.

mod plugin;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use emhost::diagnostic::Diagnostic;
use emhost::plugins::{Cache, LoadError, Runtime};
use emhost::redact::Redactor;
use serde_json::json;

use crate::ui::{Ui, Volume};

/// Turns a folder of YAML into a running Talos Linux cluster on Proxmox VE.
///
/// Every phase of the work is done by a sandboxed plugin that a site can swap by one line.
#[derive(Parser)]
#[command(name = "emhost", version, propagate_version = true)]
struct Arguments {
    /// The cluster's folder
    #[arg(short = 'C', value_name = "DIR", default_value = ".", global = true)]
    folder: PathBuf,
    /// Print one JSON object per line
    #[arg(long, global = true)]
    json: bool,
    /// Print errors only
    #[arg(short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Print more
    #[arg(short, global = true)]
    verbose: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true)]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    /// Look at plugins, and say what they may do
    #[command(subcommand)]
    Plugin(plugin::Command),
}

/// How a command ends, as documented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// The input is wrong.
    Input = 3,
    /// Refused: credential, right, grant, lock file.
    Refused = 4,
    /// Stopped by the user.
    Stopped = 5,
    /// A bug of ours.
    Bug = 70,
}

/// A command that did not do what it was asked.
struct Failed {
    exit: Exit,
    diagnostics: Vec<Diagnostic>,
}

impl Failed {
    fn new(exit: Exit, code: &str, summary: impl Into<String>) -> Self {
        // What follows the first line is what to do about it.
        let summary = summary.into();
        let (first, rest) = match summary.split_once('\n') {
            Some((first, rest)) => (first.to_owned(), Some(rest.to_owned())),
            None => (summary, None),
        };
        let mut diagnostic = Diagnostic::error(code, first);
        diagnostic.detail = rest;
        Self { exit, diagnostics: vec![diagnostic] }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        if let Some(first) = self.diagnostics.first_mut() {
            first.help = Some(help.into());
        }
        self
    }
}

impl From<LoadError> for Failed {
    fn from(error: LoadError) -> Self {
        let exit = if matches!(error, LoadError::Engine(_)) { Exit::Bug } else { Exit::Input };
        Self::new(exit, "plugin/load", error.to_string())
    }
}

/// What every command is given.
struct Session<'a> {
    ui: &'a Ui,
    folder: PathBuf,
}

impl Session<'_> {
    /// The sandbox, with compiled code kept between runs where that is possible.
    fn runtime(&self) -> Result<Runtime, Failed> {
        let cache = cache_folder().and_then(|folder| match Cache::open(&folder) {
            Ok(cache) => Some(cache),
            Err(error) => {
                let mut warning = Diagnostic::note("cache/unusable", format!("compiled plugins are not kept: {error}"));
                warning.severity = emhost::diagnostic::Severity::Warning;
                self.ui.diagnostic(&warning);
                None
            }
        });
        Ok(Runtime::new(cache)?)
    }
}

fn cache_folder() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = cache.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))?;
    Some(cache.join("emhost").join("compiled"))
}

/// Runs the command line to its exit code.
pub fn run() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // clap knows whether it is help for standard output or an error.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(Exit::Input as u8) } else { ExitCode::SUCCESS };
        }
    };
    let volume = match (arguments.quiet, arguments.verbose) {
        (true, _) => Volume::Quiet,
        (_, true) => Volume::Verbose,
        _ => Volume::Normal,
    };
    let color = match arguments.color {
        Color::Always => Some(true),
        Color::Never => Some(false),
        Color::Auto => std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()).then_some(false),
    };
    let redactor = Redactor::new();
    for (name, value) in std::env::vars_os() {
        if let Some(name) = name.to_str().and_then(|name| name.strip_prefix("EMHOST_SECRET_")) {
            redactor.learn(&name.to_ascii_lowercase(), value.as_encoded_bytes());
        }
    }
    let ui = Ui::new(volume, arguments.json, color, redactor);
    let command = Session { ui: &ui, folder: arguments.folder };
    let ended = match arguments.command {
        Command::Plugin(which) => plugin::run(&command, which),
    };
    let (exit, ok) = match ended {
        Ok(()) => (0, true),
        Err(failed) => {
            for diagnostic in &failed.diagnostics {
                ui.diagnostic(diagnostic);
            }
            (failed.exit as u8, false)
        }
    };
    ui.event("summary", json!({ "ok": ok, "exit": exit }));
    ExitCode::from(exit)
}

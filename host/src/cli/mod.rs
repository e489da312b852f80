//! The commands. Each has a file of its own: its arguments, and one function.

mod access;
mod apply;
mod completions;
mod destroy;
mod doctor;
mod files;
mod generate;
mod graph;
mod import;
mod init;
mod interrupt;
mod kubeconfig;
mod opening;
mod output;
mod plan;
mod plugin;
mod reservations;
mod schema;
mod sim;
mod state;
mod status;
mod talosconfig;
mod template;
mod validate;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use emhost::diagnostic::Diagnostic;
use emhost::pipeline::apply::Stop;
use emhost::plugins::{Cache, LoadError, Runtime};
use emhost::redact::Redactor;
use serde_json::json;

use self::interrupt::Interrupts;
use crate::ui::{Ui, Volume};

/// Under which the options of every command are listed.
const GLOBAL: &str = "Global options";

/// Turns a folder of YAML into a running Talos Linux cluster on Proxmox VE.
///
/// Every phase of the work is done by a sandboxed plugin that a site can swap by one line.
#[derive(Parser)]
#[command(name = "emhost", version, propagate_version = true)]
struct Arguments {
    /// The cluster's folder
    #[arg(short = 'C', value_name = "DIR", default_value = ".", global = true, help_heading = GLOBAL)]
    folder: PathBuf,
    /// Print one JSON object per line
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    /// Print errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    quiet: bool,
    /// Print more
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    verbose: bool,
    /// When to use colours
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true, help_heading = GLOBAL)]
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
    Init(init::Arguments),
    Validate(validate::Arguments),
    Doctor(doctor::Arguments),
    Schema(schema::Arguments),
    Generate(generate::Arguments),
    Plan(plan::Arguments),
    Apply(apply::Arguments),
    Destroy(destroy::Arguments),
    Status(status::Arguments),
    Output(output::Arguments),
    Graph(graph::Arguments),
    Kubeconfig(kubeconfig::Arguments),
    Talosconfig(talosconfig::Arguments),
    Import(import::Arguments),
    /// Make templates that machines are cloned from
    #[command(subcommand)]
    Template(template::Command),
    Completions(completions::Arguments),
    /// Look at plugins, and say what they may do
    #[command(subcommand)]
    Plugin(plugin::Command),
    /// Look at what is remembered of the cluster
    #[command(subcommand)]
    State(state::Command),
    /// Run a simulated Proxmox VE with Talos nodes on this computer
    #[command(subcommand)]
    Sim(sim::Command),
}

/// How a command ends, as documented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Some unit failed.
    Unit = 1,
    /// Changes are pending.
    Pending = 2,
    /// The input is wrong.
    Input = 3,
    /// Refused: credential, right, grant, lock file.
    Refused = 4,
    /// Stopped by the user.
    Stopped = 5,
    /// Somebody else holds the lock.
    Locked = 6,
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
    tokio: tokio::runtime::Runtime,
    interrupts: Interrupts,
}

impl Session<'_> {
    /// Asks a person; nobody there is `None`. Ctrl-C ends the question and the command.
    fn ask(&self, question: &str) -> Result<Option<bool>, Failed> {
        let (ui, question) = (self.ui.clone(), question.to_owned());
        let mut stop = self.interrupts.claim();
        self.tokio.block_on(async {
            let asked = tokio::task::spawn_blocking(move || ui.ask(&question));
            tokio::select! {
                answer = asked => Ok(answer.ok().flatten()),
                _ = stop.wait_for(|stop| *stop > Stop::No) => {
                    self.ui.line("");
                    Err(plan::stopped("stopped at the question; nothing was changed"))
                }
            }
        })
    }

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
    #[cfg(feature = "faults")]
    if let Some(faults) = std::env::var_os("EMHOST_FAULTS")
        && let Err(error) = emhost::state::faults::configure(&faults.to_string_lossy())
    {
        Ui::new(Volume::Normal, false, Some(false), Redactor::new()).diagnostic(&Diagnostic::error("faults/spec", error));
        return ExitCode::from(Exit::Input as u8);
    }
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
    // Threads wait for the disk as well as compute, so there are more of them than cores.
    let tokio = match tokio::runtime::Builder::new_multi_thread().worker_threads(16).enable_all().build() {
        Ok(tokio) => tokio,
        Err(error) => {
            ui.diagnostic(&Diagnostic::error("host/runtime", format!("cannot start: {error}")));
            return ExitCode::from(Exit::Bug as u8);
        }
    };
    let command = Session { ui: &ui, folder: arguments.folder, tokio, interrupts: Interrupts::listen() };
    let ended = match arguments.command {
        Command::Init(arguments) => init::run(&command, &arguments),
        Command::Validate(arguments) => validate::run(&command, &arguments),
        Command::Doctor(arguments) => doctor::run(&command, &arguments),
        Command::Schema(arguments) => schema::run(&command, &arguments),
        Command::Generate(arguments) => generate::run(&command, &arguments),
        Command::Plan(arguments) => plan::run(&command, &arguments),
        Command::Apply(arguments) => apply::run(&command, &arguments),
        Command::Destroy(arguments) => destroy::run(&command, &arguments),
        Command::Status(arguments) => status::run(&command, &arguments),
        Command::Output(arguments) => output::run(&command, &arguments),
        Command::Graph(arguments) => graph::run(&command, &arguments),
        Command::Kubeconfig(arguments) => kubeconfig::run(&command, &arguments),
        Command::Talosconfig(arguments) => talosconfig::run(&command, &arguments),
        Command::Import(arguments) => import::run(&command, &arguments),
        Command::Template(which) => template::run(&command, &which),
        Command::Completions(arguments) => completions::run(&command, &arguments),
        Command::Plugin(which) => plugin::run(&command, which),
        Command::State(which) => state::run(&command, which),
        Command::Sim(which) => sim::run(&command, &which),
    };
    let (exit, ok) = match ended {
        Ok(()) => (0, true),
        Err(failed) => {
            ui.end_live();
            for diagnostic in &failed.diagnostics {
                ui.diagnostic(diagnostic);
            }
            (failed.exit as u8, false)
        }
    };
    // Nobody waits for a question that was left open.
    command.tokio.shutdown_background();
    ui.event("summary", json!({ "ok": ok, "exit": exit }));
    ExitCode::from(exit)
}

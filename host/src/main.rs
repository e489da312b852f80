//! The command line: parses, calls the library, and shows what came of it.

mod cli;
mod ui;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{Failed, Session};

/// Print a script that completes commands and options in a shell
///
/// For example: `source <(emhost completions bash)`
#[derive(clap::Args)]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[expect(clippy::unnecessary_wraps, reason = "every command has this shape")]
pub fn run(session: &Session<'_>, arguments: &Arguments) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "emhost", &mut script);
    session.ui.document(&String::from_utf8_lossy(&script));
    Ok(())
}

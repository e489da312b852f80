//! Drives the terminal: colours, links, titles, text that runs backwards, from everywhere it is heard.

use emhost_sdk::log::{Level, write};
use emhost_sdk::{Diagnostic, Failure, Unit};

const NASTY: &str = "safe\u{1b}[2J\u{1b}]8;;http://evil\u{7}link\u{1b}]8;;\u{7}\u{202e}daer\u{2066}\u{200b}\r\n+ approved\u{9b}31m";

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    write(Level::Info, NASTY, &[]);
    unit.operation.progress(NASTY, None);
    unit.operation.report(&Diagnostic::note(NASTY, NASTY).detail(NASTY).help(NASTY));
    eprintln!("{NASTY}");
    if unit.operation.settings() == "\"fail\"" {
        return Err(Failure::invalid(NASTY, NASTY).detail(NASTY).help(NASTY).pointer(NASTY));
    }
    Ok(NASTY.to_owned())
}

guests::provisioner!(act);

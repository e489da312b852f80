//! Tells a secret it may read in every way it has: log, progress, report, standard error, panic, failure.

use emhost_sdk::log::{Level, write};
use emhost_sdk::types::Attribute;
use emhost_sdk::{Diagnostic, Failure, Unit, reveal, secrets};

fn act(unit: Unit<'_>) -> Result<String, Failure> {
    let secret = secrets::get("site-token")?.ok_or_else(|| Failure::internal("guest/none", "there is no secret"))?;
    let value = String::from_utf8_lossy(&reveal::reveal(&secret)).into_owned();
    write(Level::Error, &format!("the token is {value}"), &[Attribute { key: value.clone(), value: value.clone() }]);
    unit.operation.progress(&format!("using {value}"), None);
    unit.operation.report(&Diagnostic::warning("guest/told", &value).detail(&value).help(&value));
    eprintln!("stderr has {value}");
    assert!(unit.operation.settings() != "\"panic\"", "the token is {value}");
    Err(Failure::denied(&value, format!("401: token {value} is wrong"))
        .detail(format!("sent {value}"))
        .help(format!("change {value}"))
        .pointer(format!("/{value}")))
}

guests::distro!(act, asks: ["secret:site-token", "reveal:site-token"]);

//! Looks at variables, arguments, the folder it is in and standard input.

use std::io::Read;

use emhost_sdk::{Failure, Unit};

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let variables = std::env::vars_os().count();
    let arguments = std::env::args_os().count();
    let mut input = Vec::new();
    // Closed or empty are equally good.
    let _ = std::io::stdin().take(1024).read_to_end(&mut input);
    let path = std::env::var_os("PATH").is_some();
    Ok(format!("variables: {variables}, PATH: {path}, arguments: {arguments}, input: {}", input.len()))
}

guests::provisioner!(act);

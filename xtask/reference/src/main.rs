//! `cargo xtask docs`: writes `docs/contract.md` out of `wit/`, or with `--check` only compares.

mod render;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = render::render(&root.join("wit"))?;
    let file = root.join("docs/contract.md");
    if std::env::args().nth(1).as_deref() != Some("--check") {
        return Ok(std::fs::write(file, page)?);
    }
    if std::fs::read_to_string(&file).ok().as_deref() == Some(page.as_str()) {
        Ok(())
    } else {
        Err("docs/contract.md is not what wit/ says: run `cargo xtask docs`".into())
    }
}

//! Expressions that find disks, volumes and links: the Common Expression Language, as far as configurations use it.

mod check;
mod environment;
mod evaluate;
mod parse;

pub(crate) use check::Type;
pub(crate) use environment::Environment;
pub(crate) use evaluate::{Facts, Value};

use parse::Expr;

/// A fault at a place of an expression.
#[derive(Debug)]
struct Fault {
    at: usize,
    why: String,
}

impl Fault {
    fn new(at: usize, why: impl Into<String>) -> Self {
        Self { at, why: why.into() }
    }

    /// The place shown below the line it is in.
    fn shown(&self, source: &str) -> String {
        let before = &source[..self.at.min(source.len())];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        let text = source.split('\n').nth(line).unwrap_or_default();
        format!("ERROR: <input>:{}:{}: {}\n | {text}\n | {}^", line + 1, column + 1, self.why, ".".repeat(column))
    }
}

/// An expression that was read and whose types fit.
#[derive(Debug)]
pub(crate) struct Expression(Expr);

impl Expression {
    /// Reads an expression that results in the given type.
    pub(crate) fn read(source: &str, environment: Environment, wanted: &Type) -> Result<Self, String> {
        let expr = parse::parse(source).map_err(|fault| fault.shown(source))?;
        let shown = |faults: Vec<Fault>| faults.iter().map(|fault| fault.shown(source)).collect::<Vec<_>>().join("\n");
        let found = check::check(&expr, environment).map_err(shown)?;
        if found == *wanted { Ok(Self(expr)) } else { Err(format!("expression output type is {found}, expected {wanted}")) }
    }

    /// Whether the expression holds; one that cannot be computed does not.
    pub(crate) fn holds(&self, facts: &dyn Facts) -> bool {
        matches!(evaluate::evaluate(&self.0, facts), Some(Value::Bool(true)))
    }
}

#[cfg(test)]
mod tests;

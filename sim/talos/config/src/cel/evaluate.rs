//! What an expression results in for one disk, volume or link.

use super::super::view::glob;
use super::environment::unit;
use super::parse::{Expr, Kind};

/// A computed value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
    /// A disk, volume or link, by the name it has in expressions.
    Object(String),
}

/// Where values of names come from.
pub(crate) trait Facts {
    /// A name that is no disk, volume or link.
    fn name(&self, name: &str) -> Option<Value>;
    /// A field of the disk, volume or link.
    fn field(&self, object: &str, field: &str) -> Option<Value>;
}

/// Computes; nothing where that fails, as by an index out of range.
pub(super) fn evaluate(expr: &Expr, facts: &dyn Facts) -> Option<Value> {
    Evaluation { facts, bound: Vec::new() }.of(expr)
}

struct Evaluation<'a> {
    facts: &'a dyn Facts,
    bound: Vec<(String, Value)>,
}

impl Evaluation<'_> {
    fn of(&mut self, expr: &Expr) -> Option<Value> {
        Some(match &expr.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Int(value) => Value::Int(*value),
            Kind::Uint(value) => Value::Uint(*value),
            Kind::Double(value) => Value::Double(*value),
            Kind::Text(value) => Value::Text(value.clone()),
            Kind::Bytes(value) => Value::Bytes(value.clone()),
            Kind::Name(name) => {
                let bound = self.bound.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                let object = || matches!(name.as_str(), "disk" | "volume" | "link").then(|| Value::Object(name.clone()));
                return bound.or_else(object).or_else(|| self.facts.name(name)).or_else(|| unit(name).map(Value::Uint));
            }
            Kind::Field(object, name) => match self.of(object)? {
                Value::Object(object) => return self.facts.field(&object, name),
                Value::Map(entries) => {
                    return entries.into_iter().find(|(key, _)| *key == Value::Text(name.clone())).map(|(_, value)| value);
                }
                _ => return None,
            },
            Kind::Index(object, index) => match (self.of(object)?, self.of(index)?) {
                (Value::List(items), Value::Int(index)) => items.get(usize::try_from(index).ok()?)?.clone(),
                (Value::Map(entries), index) => entries.into_iter().find(|(key, _)| *key == index)?.1,
                _ => return None,
            },
            Kind::List(items) => Value::List(items.iter().map(|item| self.of(item)).collect::<Option<_>>()?),
            Kind::Map(entries) => {
                Value::Map(entries.iter().map(|(key, value)| Some((self.of(key)?, self.of(value)?))).collect::<Option<_>>()?)
            }
            Kind::Operator(name, operands) => return self.operator(name, operands),
            Kind::Call(target, name, arguments) => return self.call(target.as_deref(), name, arguments),
        })
    }

    fn operator(&mut self, name: &str, operands: &[Expr]) -> Option<Value> {
        match (name, operands) {
            ("_?_:_", [condition, then, otherwise]) => match self.of(condition)? {
                Value::Bool(true) => self.of(then),
                _ => self.of(otherwise),
            },
            // One side that decides is enough, even if the other cannot be computed.
            ("_||_" | "_&&_", [left, right]) => {
                let decides = Value::Bool(name == "_||_");
                let (left, right) = (self.of(left), self.of(right));
                if left.as_ref() == Some(&decides) || right.as_ref() == Some(&decides) { Some(decides) } else { left.and(right) }
            }
            ("!_", [inner]) => match self.of(inner)? {
                Value::Bool(value) => Some(Value::Bool(!value)),
                _ => None,
            },
            ("-_", [inner]) => match self.of(inner)? {
                Value::Int(value) => Some(Value::Int(value.checked_neg()?)),
                Value::Double(value) => Some(Value::Double(-value)),
                _ => None,
            },
            (_, [left, right]) => binary(name, self.of(left)?, self.of(right)?),
            _ => None,
        }
    }

    fn call(&mut self, target: Option<&Expr>, name: &str, arguments: &[Expr]) -> Option<Value> {
        match (target, name, arguments) {
            (None, "has", [argument]) => return Some(Value::Bool(self.of(argument).is_some_and(|value| !empty(&value)))),
            (Some(target), "all" | "exists" | "exists_one" | "filter" | "map", [variable, body]) => {
                let Kind::Name(variable) = &variable.kind else { return None };
                let items = match self.of(target)? {
                    Value::List(items) => items,
                    Value::Map(entries) => entries.into_iter().map(|(key, _)| key).collect(),
                    _ => return None,
                };
                let mut results = Vec::new();
                for item in items {
                    self.bound.push((variable.clone(), item.clone()));
                    let result = self.of(body);
                    self.bound.pop();
                    results.push((item, result?));
                }
                let holding = results.iter().filter(|(_, result)| *result == Value::Bool(true)).count();
                return Some(match name {
                    "all" => Value::Bool(holding == results.len()),
                    "exists" => Value::Bool(holding > 0),
                    "exists_one" => Value::Bool(holding == 1),
                    "filter" => {
                        Value::List(results.into_iter().filter(|(_, result)| *result == Value::Bool(true)).map(|(item, _)| item).collect())
                    }
                    _ => Value::List(results.into_iter().map(|(_, result)| result).collect()),
                });
            }
            _ => {}
        }
        let mut values = target.map(|target| self.of(target)).into_iter().collect::<Option<Vec<_>>>()?;
        values.extend(arguments.iter().map(|argument| self.of(argument)).collect::<Option<Vec<_>>>()?);
        function(name, &values)
    }
}

fn empty(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Null | Value::Bool(false) | Value::Int(0) | Value::Uint(0) => true,
        _ => false,
    }
}

fn binary(name: &str, left: Value, right: Value) -> Option<Value> {
    use Value::{Bool, Double, Int, List, Map, Text, Uint};
    let compared = |left: &Value, right: &Value| match (left, right) {
        (Int(left), Int(right)) => left.partial_cmp(right),
        (Uint(left), Uint(right)) => left.partial_cmp(right),
        (Double(left), Double(right)) => left.partial_cmp(right),
        (Text(left), Text(right)) => left.partial_cmp(right),
        (Value::Bytes(left), Value::Bytes(right)) => left.partial_cmp(right),
        (Bool(left), Bool(right)) => left.partial_cmp(right),
        _ => None,
    };
    Some(match name {
        "_==_" => Bool(left == right),
        "_!=_" => Bool(left != right),
        "_<_" => Bool(compared(&left, &right)?.is_lt()),
        "_<=_" => Bool(compared(&left, &right)?.is_le()),
        "_>_" => Bool(compared(&left, &right)?.is_gt()),
        "_>=_" => Bool(compared(&left, &right)?.is_ge()),
        "@in" => match right {
            List(items) => Bool(items.contains(&left)),
            Map(entries) => Bool(entries.iter().any(|(key, _)| *key == left)),
            _ => return None,
        },
        _ => match (name, left, right) {
            ("_+_", Text(left), Text(right)) => Text(left + &right),
            ("_+_", List(mut left), List(right)) => {
                left.extend(right);
                List(left)
            }
            ("_+_", Int(left), Int(right)) => Int(left.checked_add(right)?),
            ("_-_", Int(left), Int(right)) => Int(left.checked_sub(right)?),
            ("_*_", Int(left), Int(right)) => Int(left.checked_mul(right)?),
            ("_/_", Int(left), Int(right)) => Int(left.checked_div(right)?),
            ("_%_", Int(left), Int(right)) => Int(left.checked_rem(right)?),
            ("_+_", Uint(left), Uint(right)) => Uint(left.checked_add(right)?),
            ("_-_", Uint(left), Uint(right)) => Uint(left.checked_sub(right)?),
            ("_*_", Uint(left), Uint(right)) => Uint(left.checked_mul(right)?),
            ("_/_", Uint(left), Uint(right)) => Uint(left.checked_div(right)?),
            ("_%_", Uint(left), Uint(right)) => Uint(left.checked_rem(right)?),
            ("_+_", Double(left), Double(right)) => Double(left + right),
            ("_-_", Double(left), Double(right)) => Double(left - right),
            ("_*_", Double(left), Double(right)) => Double(left * right),
            ("_/_", Double(left), Double(right)) => Double(left / right),
            _ => return None,
        },
    })
}

#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "conversions of numbers are what these functions are for"
)]
fn function(name: &str, values: &[Value]) -> Option<Value> {
    use Value::{Bool, Bytes, Double, Int, List, Text, Uint};
    Some(match (name, values) {
        ("glob", [Text(pattern), Text(text)]) => Bool(glob(pattern, text)),
        ("mac", [Bytes(address)]) => Text(address.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")),
        ("startsWith", [Text(text), Text(start)]) => Bool(text.starts_with(start.as_str())),
        ("endsWith", [Text(text), Text(end)]) => Bool(text.ends_with(end.as_str())),
        ("contains", [Text(text), Text(part)]) => Bool(text.contains(part.as_str())),
        ("matches", [Text(text), Text(pattern)]) => Bool(regex::Regex::new(pattern).ok()?.is_match(text)),
        ("size", [Text(text)]) => Int(i64::try_from(text.chars().count()).ok()?),
        ("size", [Bytes(bytes)]) => Int(i64::try_from(bytes.len()).ok()?),
        ("size", [List(items)]) => Int(i64::try_from(items.len()).ok()?),
        ("dyn", [value]) => value.clone(),
        ("int", [Int(value)]) => Int(*value),
        ("int", [Uint(value)]) => Int(i64::try_from(*value).ok()?),
        ("int", [Double(value)]) => Int(*value as i64),
        ("int", [Text(text)]) => Int(text.parse().ok()?),
        ("uint", [Uint(value)]) => Uint(*value),
        ("uint", [Int(value)]) => Uint(u64::try_from(*value).ok()?),
        ("uint", [Double(value)]) => Uint(*value as u64),
        ("uint", [Text(text)]) => Uint(text.parse().ok()?),
        ("double", [Int(value)]) => Double(*value as f64),
        ("double", [Uint(value)]) => Double(*value as f64),
        ("double", [Text(text)]) => Double(text.parse().ok()?),
        ("string", [Text(text)]) => Text(text.clone()),
        ("string", [Int(value)]) => Text(value.to_string()),
        ("string", [Uint(value)]) => Text(value.to_string()),
        ("string", [Bool(value)]) => Text(value.to_string()),
        ("bool", [Text(text)]) => Bool(text.parse().ok()?),
        ("double", [Double(_)]) | ("bool", [Bool(_)]) | ("bytes", [Bytes(_)]) => values[0].clone(),
        ("bytes", [Text(text)]) => Bytes(text.clone().into_bytes()),
        _ => return None,
    })
}

//! Whether the types of an expression fit.

use std::fmt;

use super::Fault;
use super::environment::{Environment, field};
use super::parse::{Expr, Kind};

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Optional(Box<Type>),
    Object(&'static str),
    /// Known only when computed.
    Any,
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool => out.write_str("bool"),
            Self::Int => out.write_str("int"),
            Self::Uint => out.write_str("uint"),
            Self::Double => out.write_str("double"),
            Self::Text => out.write_str("string"),
            Self::Bytes => out.write_str("bytes"),
            Self::Duration => out.write_str("google.protobuf.Duration"),
            Self::List(element) => write!(out, "list({element})"),
            Self::Map(key, value) => write!(out, "map({key}, {value})"),
            Self::Optional(inner) => write!(out, "optional_type({inner})"),
            Self::Object("disk") => out.write_str("talos.resource.definitions.block.DiskSpec"),
            Self::Object("volume") => out.write_str("talos.resource.definitions.block.DiscoveredVolumeSpec"),
            Self::Object(_) => out.write_str("talos.resource.definitions.network.LinkStatusSpec"),
            Self::Any => out.write_str("dyn"),
        }
    }
}

impl Type {
    fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _)
            | (_, Self::Any)
            | (Self::Null, Self::Object(_) | Self::Duration)
            | (Self::Object(_) | Self::Duration, Self::Null) => true,
            (Self::List(one), Self::List(other)) | (Self::Optional(one), Self::Optional(other)) => one.fits(other),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => key.fits(other_key) && value.fits(other_value),
            _ => self == other,
        }
    }

    fn ordered(&self) -> bool {
        matches!(self, Self::Bool | Self::Int | Self::Uint | Self::Double | Self::Text | Self::Bytes | Self::Duration | Self::Any)
    }
}

/// The type of an expression, or everything about it that does not fit.
pub(super) fn check(expr: &Expr, environment: Environment) -> Result<Type, Vec<Fault>> {
    let mut checker = Checker { environment, bound: Vec::new(), faults: Vec::new() };
    let found = checker.of(expr);
    checker.faults.sort_by_key(|fault| fault.at);
    if checker.faults.is_empty() { Ok(found) } else { Err(checker.faults) }
}

struct Checker {
    environment: Environment,
    /// Names that macros such as `exists` bring.
    bound: Vec<(String, Type)>,
    faults: Vec<Fault>,
}

impl Checker {
    /// The type; what does not fit is noted, and fits everything from there on.
    fn of(&mut self, expr: &Expr) -> Type {
        self.fitting(expr).unwrap_or_else(|fault| {
            self.faults.push(fault);
            Type::Any
        })
    }

    fn all(&mut self, expressions: &[Expr]) -> Vec<Type> {
        expressions.iter().map(|expr| self.of(expr)).collect()
    }

    fn fitting(&mut self, expr: &Expr) -> Result<Type, Fault> {
        match &expr.kind {
            Kind::Null => Ok(Type::Null),
            Kind::Bool(_) => Ok(Type::Bool),
            Kind::Int(_) => Ok(Type::Int),
            Kind::Uint(_) => Ok(Type::Uint),
            Kind::Double(_) => Ok(Type::Double),
            Kind::Text(_) => Ok(Type::Text),
            Kind::Bytes(_) => Ok(Type::Bytes),
            Kind::Name(name) => {
                let bound = self.bound.iter().rev().find(|(known, _)| known == name).map(|(_, kind)| kind.clone());
                bound.or_else(|| self.environment.name(name)).ok_or_else(|| undeclared(expr.at, name))
            }
            Kind::Field(object, name) => match self.of(object) {
                Type::Object(kind) => field(kind, name).ok_or_else(|| Fault::new(expr.at, format!("undefined field '{name}'"))),
                Type::Map(_, value) => Ok(*value),
                Type::Any => Ok(Type::Any),
                other => Err(Fault::new(expr.at, format!("type '{other}' does not support field selection"))),
            },
            Kind::Index(object, index) => {
                let (object, index) = (self.of(object), self.of(index));
                match &object {
                    Type::List(element) if index.fits(&Type::Int) => Ok((**element).clone()),
                    Type::Map(key, value) if index.fits(key) => Ok((**value).clone()),
                    Type::Any => Ok(Type::Any),
                    _ => Err(no_overload(expr.at, "_[_]", &[object, index])),
                }
            }
            Kind::List(items) => Ok(Type::List(Box::new(joined(self.all(items))))),
            Kind::Map(entries) => {
                let mut keys = Vec::new();
                let mut values = Vec::new();
                for (key, value) in entries {
                    keys.push(self.of(key));
                    values.push(self.of(value));
                }
                Ok(Type::Map(Box::new(joined(keys)), Box::new(joined(values))))
            }
            Kind::Operator(name, operands) => self.operator(expr.at, name, operands),
            Kind::Call(target, name, arguments) => self.call(expr.at, target.as_deref(), name, arguments),
        }
    }

    fn operator(&mut self, at: usize, name: &'static str, operands: &[Expr]) -> Result<Type, Fault> {
        let types = self.all(operands);
        let result = match (name, types.as_slice()) {
            ("_?_:_", [condition, then, otherwise]) if condition.fits(&Type::Bool) && then.fits(otherwise) => {
                Some(if *then == Type::Any { otherwise.clone() } else { then.clone() })
            }
            ("_||_" | "_&&_", [left, right]) if left.fits(&Type::Bool) && right.fits(&Type::Bool) => Some(Type::Bool),
            ("!_", [inner]) if inner.fits(&Type::Bool) => Some(Type::Bool),
            ("-_", [inner @ (Type::Int | Type::Double | Type::Any)]) => Some(inner.clone()),
            ("_==_" | "_!=_", [left, right]) if left.fits(right) => Some(Type::Bool),
            ("_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) if left.fits(right) && left.ordered() && right.ordered() => Some(Type::Bool),
            ("@in", [element, Type::List(inner) | Type::Map(inner, _)]) if element.fits(inner) => Some(Type::Bool),
            ("@in", [_, Type::Any]) => Some(Type::Bool),
            (_, [left, right]) if left.fits(right) => {
                let kind = if *left == Type::Any { right } else { left };
                let allowed: &[Type] = match name {
                    "_+_" => &[Type::Int, Type::Uint, Type::Double, Type::Text, Type::Bytes, Type::Duration, Type::Any],
                    "_-_" => &[Type::Int, Type::Uint, Type::Double, Type::Duration, Type::Any],
                    "_*_" | "_/_" => &[Type::Int, Type::Uint, Type::Double, Type::Any],
                    "_%_" => &[Type::Int, Type::Uint, Type::Any],
                    _ => &[],
                };
                (allowed.contains(kind) || name == "_+_" && matches!(kind, Type::List(_))).then(|| kind.clone())
            }
            _ => None,
        };
        result.ok_or_else(|| no_overload(at, name, &types))
    }

    fn call(&mut self, at: usize, target: Option<&Expr>, name: &str, arguments: &[Expr]) -> Result<Type, Fault> {
        if let Some(result) = self.macros(at, target, name, arguments) {
            return result;
        }
        let target = target.map(|target| self.of(target));
        let types = self.all(arguments);
        let method = |kinds: &[Type], result: Type| {
            (types.len() == kinds.len() && types.iter().zip(kinds).all(|(found, wanted)| found.fits(wanted))).then_some(result)
        };
        let sized = |kind: &Type| matches!(kind, Type::Text | Type::Bytes | Type::List(_) | Type::Map(..) | Type::Any);
        let result = match (&target, name) {
            (Some(Type::Text | Type::Any), "startsWith" | "endsWith" | "contains" | "matches") => method(&[Type::Text], Type::Bool),
            (Some(kind), "size") if sized(kind) => method(&[], Type::Int),
            (Some(Type::Optional(_)), "hasValue") => method(&[], Type::Bool),
            (Some(Type::Optional(inner)), "value") => method(&[], (**inner).clone()),
            (Some(Type::Optional(inner)), "orValue") => method(&[(**inner).clone()], (**inner).clone()),
            (Some(Type::Duration), "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds") => method(&[], Type::Int),
            (None, "matches") => method(&[Type::Text, Type::Text], Type::Bool),
            (None, "size") if types.len() == 1 && sized(&types[0]) => Some(Type::Int),
            (None, "duration") => method(&[Type::Text], Type::Duration),
            (None, "dyn") if types.len() == 1 => Some(Type::Any),
            (None, "int" | "uint" | "double" | "string" | "bool" | "bytes") if types.len() == 1 => conversion(name, &types[0]),
            (None, _) => match self.environment.function(name) {
                Some((kinds, result)) => method(&kinds, result),
                None => return Err(undeclared(at, name)),
            },
            (
                Some(_),
                "startsWith" | "endsWith" | "contains" | "matches" | "size" | "hasValue" | "value" | "orValue" | "getHours" | "getMinutes"
                | "getSeconds" | "getMilliseconds",
            ) => None,
            (Some(_), _) => return Err(undeclared(at, name)),
        };
        result.ok_or_else(|| {
            let shown = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
            let to = target.as_ref().map_or_else(|| format!("({})", shown(&types)), |target| format!("{target}.({})", shown(&types)));
            Fault::new(at, format!("found no matching overload for '{name}' applied to '{to}'"))
        })
    }

    /// What looks like a call and binds a name.
    fn macros(&mut self, at: usize, target: Option<&Expr>, name: &str, arguments: &[Expr]) -> Option<Result<Type, Fault>> {
        match (target, name, arguments) {
            (None, "has", [argument]) => Some(match &argument.kind {
                Kind::Field(..) => {
                    self.of(argument);
                    Ok(Type::Bool)
                }
                _ => Err(Fault::new(at, "invalid argument to has() macro")),
            }),
            (Some(target), "all" | "exists" | "exists_one" | "filter" | "map", [variable, body]) => {
                let Kind::Name(variable) = &variable.kind else { return Some(Err(Fault::new(at, "argument must be a simple name"))) };
                Some(self.comprehension(at, target, name, variable, body))
            }
            _ => None,
        }
    }

    fn comprehension(&mut self, at: usize, target: &Expr, name: &str, variable: &str, body: &Expr) -> Result<Type, Fault> {
        let range = self.of(target);
        let element = match &range {
            Type::List(element) | Type::Map(element, _) => (**element).clone(),
            Type::Any => Type::Any,
            other => {
                return Err(Fault::new(
                    at,
                    format!("expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"),
                ));
            }
        };
        self.bound.push((variable.to_owned(), element));
        let inner = self.of(body);
        self.bound.pop();
        match name {
            "map" => Ok(Type::List(Box::new(inner))),
            _ if !inner.fits(&Type::Bool) => Err(no_overload(at, "_&&_", &[Type::Bool, inner])),
            "filter" => Ok(range),
            _ => Ok(Type::Bool),
        }
    }
}

fn conversion(name: &str, from: &Type) -> Option<Type> {
    let (result, takes): (Type, &[Type]) = match name {
        "int" => (Type::Int, &[Type::Int, Type::Uint, Type::Double, Type::Text, Type::Duration]),
        "uint" => (Type::Uint, &[Type::Int, Type::Uint, Type::Double, Type::Text]),
        "double" => (Type::Double, &[Type::Int, Type::Uint, Type::Double, Type::Text]),
        "string" => (Type::Text, &[Type::Int, Type::Uint, Type::Double, Type::Text, Type::Bool, Type::Bytes, Type::Duration]),
        "bool" => (Type::Bool, &[Type::Bool, Type::Text]),
        _ => (Type::Bytes, &[Type::Bytes, Type::Text]),
    };
    (*from == Type::Any || takes.contains(from)).then_some(result)
}

/// The type of elements; mixed ones are known only when computed.
fn joined(types: Vec<Type>) -> Type {
    let mut types = types.into_iter();
    let Some(first) = types.next() else { return Type::Any };
    if types.all(|other| other == first) { first } else { Type::Any }
}

fn undeclared(at: usize, name: &str) -> Fault {
    Fault::new(at, format!("undeclared reference to '{name}' (in container '')"))
}

fn no_overload(at: usize, name: &str, types: &[Type]) -> Fault {
    let shown = types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ");
    Fault::new(at, format!("found no matching overload for '{name}' applied to '({shown})'"))
}

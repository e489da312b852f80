//! What a single value may be: of a parameter, or of a key in a property string.

use std::borrow::Cow;
use std::sync::Arc;

use super::property::Format;
use crate::Release;

/// The type of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    #[default]
    Text,
    /// Digits with an optional sign.
    Integer,
    /// As Perl writes numbers.
    Number,
    /// `0` or `1`; in JSON `true` and `false` too.
    Flag,
    /// An array.
    List,
    /// Only another name for a key.
    Alias,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Alias => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Flag => "boolean",
            Self::List => "array",
        }
    }
}

/// Tells whether a text is well formed, or what is wrong with it (without the newline that ends every such text).
pub type Check = fn(Release, &str) -> Result<(), String>;

/// What a text must look like.
#[derive(Debug, Clone)]
pub enum Shape {
    /// One thing.
    One(Check),
    /// A list of them, which may be empty.
    List(Check),
    /// One thing, or nothing.
    Maybe(Check),
    /// `key=value,…`.
    Properties(Arc<Format>),
}

/// What a single value may be.
#[derive(Debug, Clone, Default)]
pub struct Field {
    pub(super) kind: Kind,
    pub(super) optional: bool,
    pub(super) shape: Option<Shape>,
    pub(super) pattern: Option<&'static str>,
    pub(super) choices: Option<Cow<'static, [&'static str]>>,
    pub(super) min: Option<i64>,
    pub(super) max: Option<i64>,
    pub(super) shortest: Option<usize>,
    pub(super) longest: Option<usize>,
    pub(super) requires: Option<&'static str>,
    pub(super) default_key: bool,
    pub(super) disk_size: bool,
    pub(super) alias: Option<&'static str>,
    pub(super) key_alias: Option<&'static str>,
    pub(super) items: Option<Box<Field>>,
}

fn of(kind: Kind) -> Field {
    Field { kind, ..Field::default() }
}

/// Text of any form.
pub(super) fn text() -> Field {
    of(Kind::Text)
}

/// An integer.
pub(super) fn int() -> Field {
    of(Kind::Integer)
}

/// A number.
pub(super) fn number() -> Field {
    of(Kind::Number)
}

/// A boolean.
pub(super) fn flag() -> Field {
    of(Kind::Flag)
}

/// Text that is one of a few.
pub(super) fn choice(choices: impl Into<Cow<'static, [&'static str]>>) -> Field {
    text().choices(choices)
}

/// An array.
pub(super) fn array(items: Field) -> Field {
    Field { items: Some(Box::new(items)), ..of(Kind::List) }
}

/// Text of a certain form.
pub(super) fn one(check: Check) -> Field {
    Field { shape: Some(Shape::One(check)), ..text() }
}

/// A size of a disk, printed with the largest unit that is exact.
pub(super) fn size() -> Field {
    Field { disk_size: true, ..one(super::formats::disk_size) }
}

/// A list in one text.
pub(super) fn list(check: Check) -> Field {
    Field { shape: Some(Shape::List(check)), ..text() }
}

/// Text of a certain form, or nothing.
pub(super) fn maybe(check: Check) -> Field {
    Field { shape: Some(Shape::Maybe(check)), ..text() }
}

/// A property string.
pub(super) fn properties(format: &Arc<Format>) -> Field {
    Field { shape: Some(Shape::Properties(Arc::clone(format))), ..text() }
}

/// Another name for a key; the name itself becomes the value of `key_alias`.
pub(super) fn alias(of_key: &'static str, key_alias: Option<&'static str>) -> Field {
    Field { alias: Some(of_key), key_alias, ..of(Kind::Alias) }
}

impl Field {
    pub(super) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    pub(super) fn pattern(self, pattern: &'static str) -> Self {
        Self { pattern: Some(pattern), ..self }
    }

    pub(super) fn choices(self, choices: impl Into<Cow<'static, [&'static str]>>) -> Self {
        Self { choices: Some(choices.into()), ..self }
    }

    pub(super) fn shape(self, check: Check) -> Self {
        Self { shape: Some(Shape::One(check)), ..self }
    }

    pub(super) fn min(self, min: i64) -> Self {
        Self { min: Some(min), ..self }
    }

    pub(super) fn max(self, max: i64) -> Self {
        Self { max: Some(max), ..self }
    }

    pub(super) fn shortest(self, letters: usize) -> Self {
        Self { shortest: Some(letters), ..self }
    }

    pub(super) fn longest(self, letters: usize) -> Self {
        Self { longest: Some(letters), ..self }
    }

    pub(super) fn requires(self, other: &'static str) -> Self {
        Self { requires: Some(other), ..self }
    }

    pub(super) fn default_key(self) -> Self {
        Self { default_key: true, ..self }
    }

    /// The type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether it may be absent.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// The form, if any.
    pub fn form(&self) -> Option<&Shape> {
        self.shape.as_ref()
    }
}

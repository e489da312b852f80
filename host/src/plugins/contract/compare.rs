//! Two sets of types side by side, and how a person is told where they differ.

use std::borrow::Cow;
use std::collections::HashMap;

use wasmparser::PrimitiveValType;
use wasmparser::component_types::{ComponentAnyTypeId, ComponentEntityType, ComponentFuncType, ComponentValType};
use wit_parser::{Function, Type};

use super::component::{Component, Extern, items};
use super::ours::{Contract, OURS};
use super::{CONTRACT, LIFECYCLE, Role, clean};

/// How many differences are kept.
const MAX_DIFFERENCES: usize = 100;

/// One layer of a type, in a form that a component's types and ours share: a word, and what belongs
/// to it. `result<_, failure>` is `result` with two parts, a record has one per field.
pub(super) struct Layer<'a, T> {
    word: Cow<'static, str>,
    /// Of a record, variant, enum or flags.
    name: Option<&'a str>,
    parts: Vec<(Cow<'a, str>, Option<T>)>,
}

impl<'a, T> Layer<'a, T> {
    pub(super) fn primitive(primitive: PrimitiveValType) -> Self {
        Self::unlabelled(primitive.to_string(), [])
    }

    pub(super) fn unlabelled(word: impl Into<Cow<'static, str>>, parts: impl IntoIterator<Item = Option<T>>) -> Self {
        Self { word: word.into(), name: None, parts: parts.into_iter().map(|part| ("".into(), part)).collect() }
    }

    pub(super) fn labelled(word: &'static str, name: Option<&'a str>, parts: impl Iterator<Item = (&'a str, Option<T>)>) -> Self {
        Self { word: word.into(), name, parts: parts.map(|(label, part)| (label.into(), part)).collect() }
    }

    pub(super) fn resource(word: &'static str, resource: Cow<'a, str>) -> Self {
        Self { word: word.into(), name: None, parts: vec![(resource, None)] }
    }

    /// What a part of it is called, if the labels of its parts mean something.
    fn part_word(&self) -> Option<&'static str> {
        match &*self.word {
            "record" => Some("field"),
            "variant" | "enum" => Some("case"),
            "flags" => Some("flag"),
            _ => None,
        }
    }
}

/// Either side of the comparison.
pub(super) trait Side {
    type Type: Copy;

    fn layer(&self, ty: Self::Type) -> Layer<'_, Self::Type>;

    /// As WIT writes it, as far as a line of text goes.
    fn describe(&self, ty: Option<Self::Type>, depth: u32) -> String {
        let Some(ty) = ty else {
            return "_".to_owned();
        };
        let layer = self.layer(ty);
        if let Some(name) = layer.name {
            return name.to_owned();
        }
        if layer.parts.is_empty() {
            return layer.word.into_owned();
        }
        if depth == 0 {
            return format!("{}<…>", layer.word);
        }
        let part = |(label, ty): &(Cow<'_, str>, Option<Self::Type>)| match &**label {
            "" => self.describe(*ty, depth - 1),
            label => label.to_owned(),
        };
        let parts: Vec<_> = layer.parts.iter().take(8).map(part).collect();
        format!("{}<{}>", layer.word, parts.join(", "))
    }
}

/// Walks a component's functions and ours side by side. Where their types differ it stops going
/// down, so it never takes more steps than our own contract has.
pub(super) struct Comparison<'a> {
    theirs: &'a Component,
    ours: &'a Contract,
    found: Vec<String>,
}

impl<'a> Comparison<'a> {
    pub(super) fn of(component: &'a Component) -> Vec<String> {
        let mut comparison = Self { theirs: component, ours: &OURS, found: Vec::new() };
        for import in &component.imports {
            comparison.import(import);
        }
        for export in &component.exports {
            comparison.export(export);
        }
        comparison.found
    }

    fn report(&mut self, line: String) {
        if self.found.len() < MAX_DIFFERENCES && !self.found.contains(&line) {
            self.found.push(line);
        }
    }

    fn import(&mut self, import: &Extern) {
        let Some(name) = import.our_name() else {
            return;
        };
        let shown = clean(name);
        let Some(interface) = self.ours.interface(name) else {
            return self.report(format!("{shown}: not an interface of contract {CONTRACT}"));
        };
        if is_exported_by_plugins(name) {
            return self.report(format!("{shown}: is for plugins to export, not to import"));
        }
        for (item, entity) in items(&self.theirs.types, import) {
            let place = place(name, item);
            match (entity.ty, interface.functions.get(item)) {
                (ComponentEntityType::Func(id), Some(ours)) => {
                    let theirs = &self.theirs.types[id];
                    self.function(&place, theirs, ours);
                }
                (ComponentEntityType::Type { created: ComponentAnyTypeId::Resource(_), .. }, _) if !interface.types.contains_key(item) => {
                    self.report(format!("{place}: not a resource of contract {CONTRACT}"));
                }
                (ComponentEntityType::Type { .. }, _) => {}
                _ => self.report(format!("{place}: not a function of contract {CONTRACT}")),
            }
        }
    }

    fn export(&mut self, export: &Extern) {
        let Some(name) = export.ours() else { return };
        let shown = clean(&name.interface);
        let Some(interface) = self.ours.interface(&name.interface) else {
            // An ability of a newer contract: this host never asks for it.
            if name.version.as_ref() <= Some(&self.ours.version) {
                self.report(format!("{shown}: not an interface of contract {CONTRACT}"));
            }
            return;
        };
        if !is_exported_by_plugins(&name.interface) {
            return self.report(format!("{shown}: is the host's, a plugin cannot export it"));
        }
        let exported: HashMap<_, _> = items(&self.theirs.types, export).collect();
        for (item, ours) in &interface.functions {
            match exported.get(item.as_str()).map(|entity| entity.ty) {
                Some(ComponentEntityType::Func(id)) => {
                    let theirs = &self.theirs.types[id];
                    self.function(&place(&name.interface, item), theirs, ours);
                }
                _ => self.report(format!("{shown}: does not export `{item}`")),
            }
        }
    }

    fn function(&mut self, place: &str, theirs: &ComponentFuncType, ours: &Function) {
        if theirs.async_ != ours.kind.is_async() {
            let word = |is_async| if is_async { "async" } else { "not async" };
            let (is, says) = (word(theirs.async_), word(ours.kind.is_async()));
            self.report(format!("{place}: is {is}, contract {CONTRACT} says {says}"));
        }
        let params = theirs.params.iter();
        let their_params: Vec<_> = params.map(|(n, ty)| (n.as_str().into(), Some(*ty))).collect();
        let params = ours.params.iter();
        let our_params: Vec<_> = params.map(|p| (p.name.as_str().into(), Some(p.ty))).collect();
        self.parts(place, "parameter", &their_params, &our_params);
        if !self.fits(theirs.result, ours.result) {
            let (returns, says) = self.both(theirs.result, ours.result);
            self.report(format!("{place}: returns {returns}, contract {CONTRACT} says {says}"));
        }
    }

    /// Fields, cases, flags or parameters, by name.
    fn parts(
        &mut self,
        place: &str,
        word: &str,
        theirs: &[(Cow<'_, str>, Option<ComponentValType>)],
        ours: &[(Cow<'_, str>, Option<Type>)],
    ) {
        for (label, _) in theirs {
            if !ours.iter().any(|(other, _)| label == other) {
                let label = clean(label);
                self.report(format!("{place}: has a {word} `{label}` that contract {CONTRACT} does not know"));
            }
        }
        for (label, our_type) in ours {
            let Some((_, their_type)) = theirs.iter().find(|(other, _)| label == other) else {
                self.report(format!("{place}: lacks the {word} `{label}`"));
                continue;
            };
            if !self.fits(*their_type, *our_type) {
                let (is, says) = self.both(*their_type, *our_type);
                self.report(format!("{place}: {word} `{label}` is {is}, contract {CONTRACT} says {says}"));
            }
        }
        let theirs: Vec<_> = theirs.iter().map(|(label, _)| label).collect();
        let ours: Vec<_> = ours.iter().map(|(label, _)| label).collect();
        let in_both = ours.iter().filter(|label| theirs.contains(label)).count();
        if theirs != ours && in_both == ours.len() && in_both == theirs.len() {
            self.report(format!("{place}: has its {word}s in another order"));
        }
    }

    /// Whether the two are the same, or differ in a named type that is reported under its own name.
    fn fits(&mut self, theirs: Option<ComponentValType>, ours: Option<Type>) -> bool {
        let (theirs, ours) = match (theirs, ours) {
            (Some(theirs), Some(ours)) => (theirs, ours),
            (theirs, ours) => return theirs.is_none() && ours.is_none(),
        };
        let (their_side, our_side) = (self.theirs, self.ours);
        let (their, our) = (their_side.layer(theirs), our_side.layer(ours));
        if their.word != our.word {
            return false;
        }
        let Some(word) = our.part_word() else {
            let mut fit = their.parts.len() == our.parts.len();
            for ((label, theirs), (other, ours)) in their.parts.iter().zip(&our.parts) {
                fit &= label == other && self.fits(*theirs, *ours);
            }
            return fit;
        };
        let place = match ours {
            Type::Id(id) => our_side.place(id),
            _ => String::new(),
        };
        if their.name == our.name {
            self.parts(&place, word, &their.parts, &our.parts);
            return true;
        }
        // Another name with the same content is as good. With other content, it is another type.
        let found = std::mem::take(&mut self.found);
        self.parts(&place, word, &their.parts, &our.parts);
        std::mem::replace(&mut self.found, found).is_empty()
    }

    fn both(&self, theirs: Option<ComponentValType>, ours: Option<Type>) -> (String, String) {
        let (mut is, mut says) = (self.theirs.describe(theirs, 4), self.ours.describe(ours, 4));
        if is == says {
            let word = |word: Option<Cow<'_, str>>| word.unwrap_or_default().into_owned();
            is = format!("{} {is}", word(theirs.map(|ty| self.theirs.layer(ty).word)));
            says = format!("{} {says}", word(ours.map(|ty| self.ours.layer(ty).word)));
        }
        let quoted = |text: &str| match text {
            "_" => "nothing".to_owned(),
            text => format!("`{}`", clean(text)),
        };
        (quoted(&is), quoted(&says))
    }
}

/// Roles and `lifecycle`; every other interface of the package is the host's.
fn is_exported_by_plugins(interface: &str) -> bool {
    interface == LIFECYCLE || interface.parse::<Role>().is_ok()
}

/// `[method]operation.report` of `operations` is `operations.operation.report`.
fn place(interface: &str, item: &str) -> String {
    let item = item.split_once(']').map_or(item, |(_, item)| item);
    clean(&format!("{interface}.{item}"))
}

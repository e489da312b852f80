//! A component as its validator sees it: what it imports and exports, and what the types in it are
//! called.

use std::borrow::Cow;
use std::collections::HashMap;

use semver::Version;
use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentDefinedType, ComponentDefinedTypeId, ComponentEntityType, ComponentItem, ComponentValType, ResourceId,
};
use wasmparser::names::{ComponentName, ComponentNameKind};
use wasmparser::types::Types;
use wasmparser::{BinaryReaderError, Parser, Payload, ValidPayload, Validator, WasmFeatures};

use super::compare::{Layer, Side};
use super::{ContractError, PACKAGE, clean, not_component};

/// Packages of WASI 0.2 that the host knows. Knowing is not granting.
const WASI: [&str; 7] = ["cli", "clocks", "filesystem", "http", "io", "random", "sockets"];

/// How deep components may lie in each other, and how deep types may. The parser recurses over the
/// latter without a limit of its own.
pub(super) const MAX_NESTING: usize = 64;
pub(super) const MAX_TYPE_NESTING: usize = 100;

/// One thing a component imports or exports.
pub(super) struct Extern {
    /// As printed: with its whole version.
    pub(super) name: String,
    interface: Option<InterfaceName>,
    item: ComponentItem,
}

/// `package/interface@version`, taken apart.
pub(super) struct InterfaceName {
    package: String,
    pub(super) interface: String,
    pub(super) version: Option<Version>,
}

impl Extern {
    fn new(name: &str, item: &ComponentItem) -> Self {
        let interface =
            InterfaceName::parse(name, item.version_suffix.as_deref()).filter(|_| matches!(item.ty, ComponentEntityType::Instance(_)));
        Self { name: clean(&format!("{name}{}", item.version_suffix.as_deref().unwrap_or_default())), interface, item: item.clone() }
    }

    /// The interface of our own package it is, if it is one.
    pub(super) fn ours(&self) -> Option<&InterfaceName> {
        self.interface.as_ref().filter(|i| i.package == PACKAGE)
    }

    pub(super) fn our_name(&self) -> Option<&str> {
        self.ours().map(|name| name.interface.as_str())
    }

    pub(super) fn is_wasi(&self) -> bool {
        self.interface.as_ref().is_some_and(|name| {
            let known = name.package.strip_prefix("wasi:").is_some_and(|package| WASI.contains(&package));
            let version = name.version.as_ref();
            known && version.is_some_and(|v| (v.major, v.minor) == (0, 2) && v.pre.is_empty())
        })
    }
}

impl InterfaceName {
    fn parse(name: &str, version_suffix: Option<&str>) -> Option<Self> {
        let name = ComponentName::new(name, 0).ok()?;
        let ComponentNameKind::Interface(name) = name.kind() else {
            return None;
        };
        Some(Self {
            package: format!("{}:{}", name.namespace(), name.package()),
            interface: name.projection().to_string(),
            version: name.version(version_suffix).ok()?,
        })
    }
}

/// Validates a component, its function bodies apart: those the engine validates when it compiles.
pub(super) fn read(bytes: &[u8]) -> Result<Component, ContractError> {
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let mut nesting = 0_usize;
    let mut last = None;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(damaged)?;
        match &payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                nesting += 1;
                if nesting > MAX_NESTING {
                    return Err(not_component("its components nest too deeply"));
                }
            }
            Payload::End(_) if nesting > 0 => nesting -= 1,
            Payload::ComponentTypeSection(section) => {
                let section = bytes.get(section.range()).unwrap_or_default();
                if type_nesting(section) > MAX_TYPE_NESTING {
                    return Err(not_component("its types nest too deeply"));
                }
            }
            Payload::ComponentImportSection(section) if nesting == 0 => {
                for import in section.clone() {
                    imports.push(import.map_err(damaged)?.name.name);
                }
            }
            Payload::ComponentExportSection(section) if nesting == 0 => {
                for export in section.clone() {
                    exports.push(export.map_err(damaged)?.name.name);
                }
            }
            _ => {}
        }
        if let ValidPayload::End(types) = validator.payload(&payload).map_err(damaged)? {
            last = Some(types);
        }
    }
    let types = last.ok_or_else(|| not_component("it ends too early"))?;
    Ok(Component::new(types, &imports, &exports))
}

/// No less than how deep the types of this section lie in each other. A type that declares others is
/// opened by 0x41 or 0x42, and in another one 0x01 comes before it, so there are at most as many
/// levels as such pairs. Other data may look the same and only makes the answer larger.
fn type_nesting(section: &[u8]) -> usize {
    section.windows(2).filter(|pair| matches!(pair, [0x01, 0x41 | 0x42])).count()
}

/// A validated component.
pub(super) struct Component {
    pub(super) types: Types,
    pub(super) imports: Vec<Extern>,
    pub(super) exports: Vec<Extern>,
    names: Names,
}

impl Component {
    fn new(types: Types, imports: &[&str], exports: &[&str]) -> Self {
        let imports: Vec<_> = imports.iter().filter_map(|name| Some(Extern::new(name, types.component_item_for_import(name)?))).collect();
        let exports: Vec<_> = exports.iter().filter_map(|name| Some(Extern::new(name, types.component_item_for_export(name)?))).collect();
        let names = Names::learn(&types, imports.iter().chain(&exports));
        Self { types, imports, exports, names }
    }
}

/// What the types of a component are called. They have no names of their own there, only those under
/// which instances export them: the first such place defines a type, all others use it.
struct Names {
    /// Records, variants, enums and flags, for example `action`.
    defined: HashMap<ComponentAnyTypeId, String>,
    /// Resources, for example `operations.operation`.
    resources: HashMap<ResourceId, String>,
}

impl Names {
    fn learn<'a>(types: &Types, externs: impl Iterator<Item = &'a Extern>) -> Self {
        let mut names = Self { defined: HashMap::new(), resources: HashMap::new() };
        for item in externs {
            let owner = item.our_name().unwrap_or(&item.name);
            for (name, item) in items(types, item) {
                match item.ty {
                    ComponentEntityType::Type { created: ComponentAnyTypeId::Resource(resource), .. } => {
                        let resource = names.resources.entry(resource.resource());
                        resource.or_insert_with(|| format!("{owner}.{name}"));
                    }
                    ComponentEntityType::Type { referenced, created } => {
                        let name = names.of(types, referenced).unwrap_or(name).to_owned();
                        names.defined.insert(created, name);
                    }
                    _ => {}
                }
            }
        }
        names
    }

    fn of(&self, types: &Types, id: ComponentAnyTypeId) -> Option<&str> {
        // Names only serve messages, so a chain longer than any compiler makes may end nameless.
        std::iter::successors(Some(id), |id| types.peel_alias(*id)).take(32).find_map(|id| self.defined.get(&id)).map(String::as_str)
    }
}

/// What an imported or exported instance holds.
pub(super) fn items<'a>(types: &'a Types, instance: &Extern) -> impl Iterator<Item = (&'a str, &'a ComponentItem)> + use<'a> {
    let exports = match instance.item.ty {
        ComponentEntityType::Instance(id) => Some(&types[id].exports),
        _ => None,
    };
    let exports = exports.into_iter().flatten();
    exports.map(|(name, item)| (name.as_str(), item))
}

impl Side for Component {
    type Type = ComponentValType;

    fn layer(&self, ty: ComponentValType) -> Layer<'_, ComponentValType> {
        let id: ComponentDefinedTypeId = match ty {
            ComponentValType::Primitive(primitive) => return Layer::primitive(primitive),
            ComponentValType::Type(id) => id,
        };
        let name = self.names.of(&self.types, id.into());
        let resource = |id: ResourceId| {
            let name = self.names.resources.get(&id);
            Cow::Borrowed(name.map_or("its own resource", String::as_str))
        };
        match &self.types[id] {
            ComponentDefinedType::Primitive(primitive) => Layer::primitive(*primitive),
            ComponentDefinedType::Record(record) => {
                let fields = record.fields.iter();
                Layer::labelled("record", name, fields.map(|(n, t)| (n.as_str(), Some(*t))))
            }
            ComponentDefinedType::Variant(variant) => {
                let cases = variant.cases.iter();
                Layer::labelled("variant", name, cases.map(|(n, case)| (n.as_str(), case.ty)))
            }
            ComponentDefinedType::Enum(cases) => Layer::labelled("enum", name, cases.iter().map(|n| (n.as_str(), None))),
            ComponentDefinedType::Flags(flags) => Layer::labelled("flags", name, flags.iter().map(|n| (n.as_str(), None))),
            ComponentDefinedType::Own(id) => Layer::resource("own", resource(id.resource())),
            ComponentDefinedType::Borrow(id) => Layer::resource("borrow", resource(id.resource())),
            ComponentDefinedType::List { element, .. } => Layer::unlabelled("list", [Some(*element)]),
            ComponentDefinedType::Option { ty, .. } => Layer::unlabelled("option", [Some(*ty)]),
            ComponentDefinedType::Result { ok, err, .. } => Layer::unlabelled("result", [*ok, *err]),
            ComponentDefinedType::Tuple(tuple) => Layer::unlabelled("tuple", tuple.types.iter().copied().map(Some)),
            ComponentDefinedType::Map { key, value, .. } => Layer::unlabelled("map", [Some(*key), Some(*value)]),
            ComponentDefinedType::FixedLengthList { element, length, .. } => {
                Layer::unlabelled(format!("list of {length}"), [Some(*element)])
            }
            ComponentDefinedType::Future { ty, .. } => Layer::unlabelled("future", [*ty]),
            ComponentDefinedType::Stream { ty, .. } => Layer::unlabelled("stream", [*ty]),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn damaged(error: BinaryReaderError) -> ContractError {
    not_component(error.message())
}

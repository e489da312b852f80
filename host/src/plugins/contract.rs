//! Which contract a component was built for, and whether this host can speak it.
//!
//! A component states the types of all it imports and exports. They are compared with ours before
//! anything is compiled, because the engine finds a difference late and cannot name it: "expected
//! record of 4 fields, found 5" at the first call.
//!
//! The types are read with the validator the engine itself trusts, not with
//! `wit_component::decode`: that one recurses over packages, so a valid component of 150 bytes whose
//! packages use each other overflows the stack, which nothing can catch.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use semver::Version;
use serde::{Deserialize, Serialize};
use wasmparser::component_types::{
    ComponentAnyTypeId, ComponentDefinedType, ComponentDefinedTypeId, ComponentEntityType,
    ComponentFuncType, ComponentItem, ComponentValType, ResourceId,
};
use wasmparser::names::{ComponentName, ComponentNameKind};
use wasmparser::types::Types;
use wasmparser::{
    BinaryReaderError, Parser, Payload, PrimitiveValType, ValidPayload, Validator, WasmFeatures,
};
use wit_parser::{
    Function, Handle, Interface, PackageId, Resolve, SourceMap, Type, TypeDefKind, TypeId,
    TypeOwner,
};

use super::manifest::{clean, version_text};

/// The package that holds the contract.
pub const PACKAGE: &str = "emhost:plugin";

/// The version of the contract this host speaks.
pub const CONTRACT: &str = "0.1.0";

/// The largest component that is looked at.
pub const MAX_SIZE: usize = 256 * 1024 * 1024;

/// What every plugin exports beside its roles.
const LIFECYCLE: &str = "lifecycle";

/// Packages of WASI 0.2 that the host knows. Knowing is not granting.
const WASI: [&str; 7] = [
    "cli",
    "clocks",
    "filesystem",
    "http",
    "io",
    "random",
    "sockets",
];

/// How deep components may lie in each other, and how deep types may. The parser recurses over the
/// latter without a limit of its own.
const MAX_NESTING: usize = 64;
const MAX_TYPE_NESTING: usize = 512;

/// How many differences are kept, and how many are printed.
const MAX_DIFFERENCES: usize = 100;
const SHOWN: usize = 5;

/// What a plugin can be to the host: one exported interface each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Renders machine configuration.
    Configurator,
    /// Decides what machines boot from.
    BootSource,
    /// Finds accelerators.
    Gpu,
    /// Makes machines exist.
    Provisioner,
    /// Drives the operating system.
    Distro,
    /// Saves and brings back the cluster's own data.
    DistroBackup,
    /// Renders what runs in the cluster.
    Addon,
}

impl Role {
    /// Every role, in the order of the flow.
    pub const ALL: [Self; 7] = [
        Self::Configurator,
        Self::BootSource,
        Self::Gpu,
        Self::Provisioner,
        Self::Distro,
        Self::DistroBackup,
        Self::Addon,
    ];

    /// The name of the role, which is that of its interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configurator => "configurator",
            Self::BootSource => "boot-source",
            Self::Gpu => "gpu",
            Self::Provisioner => "provisioner",
            Self::Distro => "distro",
            Self::DistroBackup => "distro-backup",
            Self::Addon => "addon",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is not the name of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a role: use {}", clean(.0), role_names())]
pub struct UnknownRole(String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

fn role_names() -> String {
    Role::ALL.map(Role::as_str).join(", ")
}

/// What a component fills and what it wants, as far as its types tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// The roles it fills; at least one.
    pub roles: Vec<Role>,
    /// The contract it was built for: compatible with [`CONTRACT`], perhaps newer.
    #[serde(serialize_with = "version_text")]
    pub contract: Version,
    /// Full names of all imported interfaces, sorted.
    pub imports: Vec<String>,
    /// Full names of everything it exports, sorted.
    pub exports: Vec<String>,
}

/// Why this host cannot run a component. Reads on from the name of the plugin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// Larger than anything sensible.
    #[error("is {size} bytes large, more than the {MAX_SIZE} that are read")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// A module that was not made into a component.
    #[error(
        "is a core WebAssembly module, not a component: build it for wasm32-wasip2, or wrap it \
         with `wasm-tools component new`"
    )]
    CoreModule,
    /// Machine code, which is never accepted from outside.
    #[error(
        "is precompiled machine code, which emhost only loads from its own cache: give it the \
         .wasm component"
    )]
    Precompiled,
    /// Something else, or damaged.
    #[error("is not a WebAssembly component ({reason})")]
    NotComponent {
        /// What the parser found.
        reason: String,
    },
    /// Built for a contract that is not compatible.
    #[error("{}", version_message(.built_for))]
    Version {
        /// The contract it was built for.
        built_for: Version,
    },
    /// Built for something that calls itself our package but has no version.
    #[error(
        "uses `{interface}` without a version: build it against the WIT of {PACKAGE}@{CONTRACT}"
    )]
    Unversioned {
        /// The interface.
        interface: String,
    },
    /// Wants interfaces that nobody here provides.
    #[error("imports {}, which emhost does not provide", shown(.0))]
    Foreign(
        /// Their names.
        Vec<String>,
    ),
    /// Exports no role.
    #[error("fills no role: export at least one of {}{}", role_names(), newer(.unknown))]
    NoRole {
        /// Interfaces of a newer contract that it exports.
        unknown: Vec<String>,
    },
    /// Exports a role, but not what every plugin exports.
    #[error(
        "does not export `{LIFECYCLE}`: build it against one of the worlds of {PACKAGE}, for \
         example `{}-plugin`", .role
    )]
    NoLifecycle {
        /// A role it does export.
        role: Role,
    },
    /// Functions or types are not those of the contract.
    #[error("does not fit contract {CONTRACT}:\n  {}", few(.0, "\n  "))]
    Types(
        /// One line each, for example ``types.action: lacks the field `reason` ``.
        Vec<String>,
    ),
}

/// Reads from a component which roles it fills, and makes sure that it and this host understand
/// each other.
///
/// # Errors
/// When the bytes are not a component, when it fills no role, or when it was built for something
/// this host does not provide.
pub fn check(component: &[u8]) -> Result<Shape, ContractError> {
    if component.len() > MAX_SIZE {
        return Err(ContractError::TooLarge {
            size: component.len(),
        });
    }
    if component.starts_with(b"\x7fELF") {
        return Err(ContractError::Precompiled);
    }
    if Parser::is_core_wasm(component) {
        return Err(ContractError::CoreModule);
    }
    if !Parser::is_component(component) {
        let reason = match component {
            [] => "it is empty",
            _ => "its first bytes are not those of one",
        };
        return Err(not_component(reason));
    }
    // The last net. The parser is fuzzed and no input is known to make it panic, but the bytes come
    // from strangers and one of them must not take down a run that is busy with something else.
    std::panic::catch_unwind(|| read(component)?.shape())
        .unwrap_or_else(|_| Err(not_component("the parser failed on it")))
}

/// Our half of the comparison. Only interfaces: the worlds would need all of WASI to parse.
macro_rules! interfaces {
    ($($name:literal)*) => {
        [$((
            concat!($name, ".wit"),
            include_str!(concat!("../../../wit/", $name, ".wit")),
        )),*]
    };
}

const WIT: [(&str, &str); 17] = interfaces![
    "addon" "archives" "boot-source" "configurator" "distro" "distro-backup" "gpu" "grpc"
    "inventory" "keys" "lifecycle" "log" "operations" "provisioner" "reveal" "secrets" "types"
];

static OURS: LazyLock<Contract> = LazyLock::new(Contract::parse);

struct Contract {
    version: Version,
    resolve: Resolve,
    package: PackageId,
}

impl Contract {
    #[expect(
        clippy::expect_used,
        reason = "the text is compiled in and a test parses it: no input can make this fail"
    )]
    fn parse() -> Self {
        let mut sources = SourceMap::new();
        for (path, text) in WIT {
            sources.push_str(path, text);
        }
        let group = sources.parse().map_err(|(_, error)| error);
        let mut resolve = Resolve::new();
        let package = resolve
            .push_group(group.expect("our own WIT parses"))
            .expect("our own WIT resolves");
        let version = Version::parse(CONTRACT).expect("our own version is one");
        Self {
            version,
            resolve,
            package,
        }
    }

    fn interface(&self, name: &str) -> Option<&Interface> {
        let package = self.resolve.packages.get(self.package)?;
        let id = package.interfaces.get(name)?;
        self.resolve.interfaces.get(*id)
    }
}

/// One thing a component imports or exports.
struct Extern {
    /// As printed: with its whole version.
    name: String,
    interface: Option<InterfaceName>,
    item: ComponentItem,
}

/// `package/interface@version`, taken apart.
struct InterfaceName {
    package: String,
    interface: String,
    version: Option<Version>,
}

impl Extern {
    fn new(name: &str, item: &ComponentItem) -> Self {
        let interface = InterfaceName::parse(name, item.version_suffix.as_deref())
            .filter(|_| matches!(item.ty, ComponentEntityType::Instance(_)));
        Self {
            name: clean(&format!(
                "{name}{}",
                item.version_suffix.as_deref().unwrap_or_default()
            )),
            interface,
            item: item.clone(),
        }
    }

    /// The interface of our own package it is, if it is one.
    fn ours(&self) -> Option<&InterfaceName> {
        self.interface.as_ref().filter(|i| i.package == PACKAGE)
    }

    fn our_name(&self) -> Option<&str> {
        self.ours().map(|name| name.interface.as_str())
    }

    fn is_wasi(&self) -> bool {
        self.interface.as_ref().is_some_and(|name| {
            let known = name
                .package
                .strip_prefix("wasi:")
                .is_some_and(|package| WASI.contains(&package));
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
fn read(bytes: &[u8]) -> Result<Component, ContractError> {
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
    section
        .windows(2)
        .filter(|pair| matches!(pair, [0x01, 0x41 | 0x42]))
        .count()
}

/// A validated component.
struct Component {
    types: Types,
    imports: Vec<Extern>,
    exports: Vec<Extern>,
    names: Names,
}

impl Component {
    fn new(types: Types, imports: &[&str], exports: &[&str]) -> Self {
        let imports: Vec<_> = imports
            .iter()
            .filter_map(|name| Some(Extern::new(name, types.component_item_for_import(name)?)))
            .collect();
        let exports: Vec<_> = exports
            .iter()
            .filter_map(|name| Some(Extern::new(name, types.component_item_for_export(name)?)))
            .collect();
        let names = Names::learn(&types, imports.iter().chain(&exports));
        Self {
            types,
            imports,
            exports,
            names,
        }
    }

    fn shape(&self) -> Result<Shape, ContractError> {
        let contract = self.contract()?;
        let exported: BTreeSet<&str> = self.exports.iter().filter_map(Extern::our_name).collect();
        let roles: BTreeSet<Role> = exported
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
        let (Some(role), Some(contract)) = (roles.first(), contract) else {
            let unknown = exported
                .iter()
                .filter(|name| OURS.interface(name).is_none());
            return Err(ContractError::NoRole {
                unknown: unknown.map(|name| clean(name)).collect(),
            });
        };
        if !exported.contains(LIFECYCLE) {
            return Err(ContractError::NoLifecycle { role: *role });
        }
        let foreign: Vec<_> = self
            .imports
            .iter()
            .filter(|import| import.our_name().is_none() && !import.is_wasi())
            .map(|import| import.name.clone())
            .collect();
        if !foreign.is_empty() {
            return Err(ContractError::Foreign(foreign));
        }
        let differences = Comparison::of(self);
        if !differences.is_empty() {
            return Err(ContractError::Types(differences));
        }
        Ok(Shape {
            roles: roles.into_iter().collect(),
            contract: contract.clone(),
            imports: sorted_names(&self.imports),
            exports: sorted_names(&self.exports),
        })
    }

    /// The newest contract any part of it was built for, if all parts are compatible with ours.
    fn contract(&self) -> Result<Option<&Version>, ContractError> {
        let mut newest = None;
        for item in self.imports.iter().chain(&self.exports) {
            let Some(ours) = item.ours() else { continue };
            let version = ours
                .version
                .as_ref()
                .ok_or_else(|| ContractError::Unversioned {
                    interface: item.name.clone(),
                })?;
            if track(version) != track(&OURS.version) {
                return Err(ContractError::Version {
                    built_for: version.clone(),
                });
            }
            newest = newest.max(Some(version));
        }
        Ok(newest)
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
        let mut names = Self {
            defined: HashMap::new(),
            resources: HashMap::new(),
        };
        for item in externs {
            let owner = item.our_name().unwrap_or(&item.name);
            for (name, item) in items(types, item) {
                match item.ty {
                    ComponentEntityType::Type {
                        created: ComponentAnyTypeId::Resource(resource),
                        ..
                    } => {
                        let resource = names.resources.entry(resource.resource());
                        resource.or_insert_with(|| format!("{owner}.{name}"));
                    }
                    ComponentEntityType::Type {
                        referenced,
                        created,
                    } => {
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
        std::iter::successors(Some(id), |id| types.peel_alias(*id))
            .take(32)
            .find_map(|id| self.defined.get(&id))
            .map(String::as_str)
    }
}

/// What an imported or exported instance holds.
fn items<'a>(
    types: &'a Types,
    instance: &Extern,
) -> impl Iterator<Item = (&'a str, &'a ComponentItem)> + use<'a> {
    let exports = match instance.item.ty {
        ComponentEntityType::Instance(id) => Some(&types[id].exports),
        _ => None,
    };
    let exports = exports.into_iter().flatten();
    exports.map(|(name, item)| (name.as_str(), item))
}

/// One layer of a type, in a form that a component's types and ours share: a word, and what belongs
/// to it. `result<_, failure>` is `result` with two parts, a record has one per field.
struct Layer<'a, T> {
    word: Cow<'static, str>,
    /// Of a record, variant, enum or flags.
    name: Option<&'a str>,
    parts: Vec<(Cow<'a, str>, Option<T>)>,
}

impl<'a, T> Layer<'a, T> {
    fn primitive(primitive: PrimitiveValType) -> Self {
        Self::unlabelled(primitive.to_string(), [])
    }

    fn unlabelled(
        word: impl Into<Cow<'static, str>>,
        parts: impl IntoIterator<Item = Option<T>>,
    ) -> Self {
        Self {
            word: word.into(),
            name: None,
            parts: parts.into_iter().map(|part| ("".into(), part)).collect(),
        }
    }

    fn labelled(
        word: &'static str,
        name: Option<&'a str>,
        parts: impl Iterator<Item = (&'a str, Option<T>)>,
    ) -> Self {
        Self {
            word: word.into(),
            name,
            parts: parts.map(|(label, part)| (label.into(), part)).collect(),
        }
    }

    fn resource(word: &'static str, resource: Cow<'a, str>) -> Self {
        Self {
            word: word.into(),
            name: None,
            parts: vec![(resource, None)],
        }
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
trait Side {
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
                Layer::labelled(
                    "variant",
                    name,
                    cases.map(|(n, case)| (n.as_str(), case.ty)),
                )
            }
            ComponentDefinedType::Enum(cases) => {
                Layer::labelled("enum", name, cases.iter().map(|n| (n.as_str(), None)))
            }
            ComponentDefinedType::Flags(flags) => {
                Layer::labelled("flags", name, flags.iter().map(|n| (n.as_str(), None)))
            }
            ComponentDefinedType::Own(id) => Layer::resource("own", resource(id.resource())),
            ComponentDefinedType::Borrow(id) => Layer::resource("borrow", resource(id.resource())),
            ComponentDefinedType::List { element, .. } => {
                Layer::unlabelled("list", [Some(*element)])
            }
            ComponentDefinedType::Option { ty, .. } => Layer::unlabelled("option", [Some(*ty)]),
            ComponentDefinedType::Result { ok, err, .. } => {
                Layer::unlabelled("result", [*ok, *err])
            }
            ComponentDefinedType::Tuple(tuple) => {
                Layer::unlabelled("tuple", tuple.types.iter().copied().map(Some))
            }
            ComponentDefinedType::Map { key, value, .. } => {
                Layer::unlabelled("map", [Some(*key), Some(*value)])
            }
            ComponentDefinedType::FixedLengthList {
                element, length, ..
            } => Layer::unlabelled(format!("list of {length}"), [Some(*element)]),
            ComponentDefinedType::Future { ty, .. } => Layer::unlabelled("future", [*ty]),
            ComponentDefinedType::Stream { ty, .. } => Layer::unlabelled("stream", [*ty]),
        }
    }
}

impl Contract {
    /// Where a named type is defined, for example `types.action`.
    fn place(&self, id: TypeId) -> String {
        let Some(def) = self.resolve.types.get(id) else {
            return String::new();
        };
        if let TypeDefKind::Type(Type::Id(used)) = def.kind {
            return self.place(used);
        }
        let owner = match def.owner {
            TypeOwner::Interface(id) => self.resolve.interfaces.get(id),
            TypeOwner::World(_) | TypeOwner::None => None,
        };
        let owner = owner.and_then(|interface| interface.name.as_deref());
        let name = def.name.as_deref();
        format!("{}.{}", owner.unwrap_or_default(), name.unwrap_or_default())
    }
}

impl Side for Contract {
    type Type = Type;

    fn layer(&self, ty: Type) -> Layer<'_, Type> {
        let primitive = match ty {
            Type::Id(id) => {
                return match self.resolve.types.get(id) {
                    Some(def) => self.defined(def.name.as_deref(), &def.kind),
                    None => Layer::unlabelled("unknown", []),
                };
            }
            Type::Bool => PrimitiveValType::Bool,
            Type::U8 => PrimitiveValType::U8,
            Type::U16 => PrimitiveValType::U16,
            Type::U32 => PrimitiveValType::U32,
            Type::U64 => PrimitiveValType::U64,
            Type::S8 => PrimitiveValType::S8,
            Type::S16 => PrimitiveValType::S16,
            Type::S32 => PrimitiveValType::S32,
            Type::S64 => PrimitiveValType::S64,
            Type::F32 => PrimitiveValType::F32,
            Type::F64 => PrimitiveValType::F64,
            Type::Char => PrimitiveValType::Char,
            Type::String => PrimitiveValType::String,
            Type::ErrorContext => PrimitiveValType::ErrorContext,
        };
        Layer::primitive(primitive)
    }
}

impl Contract {
    fn defined<'a>(&'a self, name: Option<&'a str>, kind: &'a TypeDefKind) -> Layer<'a, Type> {
        match kind {
            TypeDefKind::Type(ty) => self.layer(*ty),
            TypeDefKind::Record(record) => {
                let fields = record.fields.iter();
                Layer::labelled(
                    "record",
                    name,
                    fields.map(|f| (f.name.as_str(), Some(f.ty))),
                )
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter();
                Layer::labelled("variant", name, cases.map(|c| (c.name.as_str(), c.ty)))
            }
            TypeDefKind::Enum(cases) => {
                let cases = cases.cases.iter();
                Layer::labelled("enum", name, cases.map(|c| (c.name.as_str(), None)))
            }
            TypeDefKind::Flags(flags) => {
                let flags = flags.flags.iter();
                Layer::labelled("flags", name, flags.map(|f| (f.name.as_str(), None)))
            }
            TypeDefKind::Handle(Handle::Own(id)) => Layer::resource("own", self.place(*id).into()),
            TypeDefKind::Handle(Handle::Borrow(id)) => {
                Layer::resource("borrow", self.place(*id).into())
            }
            TypeDefKind::List(ty) => Layer::unlabelled("list", [Some(*ty)]),
            TypeDefKind::Option(ty) => Layer::unlabelled("option", [Some(*ty)]),
            TypeDefKind::Result(result) => Layer::unlabelled("result", [result.ok, result.err]),
            TypeDefKind::Tuple(tuple) => {
                Layer::unlabelled("tuple", tuple.types.iter().copied().map(Some))
            }
            TypeDefKind::Map(key, value) => Layer::unlabelled("map", [Some(*key), Some(*value)]),
            TypeDefKind::FixedLengthList(ty, length) => {
                Layer::unlabelled(format!("list of {length}"), [Some(*ty)])
            }
            TypeDefKind::Future(ty) => Layer::unlabelled("future", [*ty]),
            TypeDefKind::Stream(ty) => Layer::unlabelled("stream", [*ty]),
            TypeDefKind::Resource | TypeDefKind::Unknown => Layer::unlabelled(kind.as_str(), []),
        }
    }
}

/// Walks a component's functions and ours side by side. Where their types differ it stops going
/// down, so it never takes more steps than our own contract has.
struct Comparison<'a> {
    theirs: &'a Component,
    ours: &'a Contract,
    found: Vec<String>,
}

impl<'a> Comparison<'a> {
    fn of(component: &'a Component) -> Vec<String> {
        let mut comparison = Self {
            theirs: component,
            ours: &OURS,
            found: Vec::new(),
        };
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
                (
                    ComponentEntityType::Type {
                        created: ComponentAnyTypeId::Resource(_),
                        ..
                    },
                    _,
                ) if !interface.types.contains_key(item) => {
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
        let their_params: Vec<_> = params
            .map(|(n, ty)| (n.as_str().into(), Some(*ty)))
            .collect();
        let params = ours.params.iter();
        let our_params: Vec<_> = params
            .map(|p| (p.name.as_str().into(), Some(p.ty)))
            .collect();
        self.parts(place, "parameter", &their_params, &our_params);
        if !self.fits(theirs.result, ours.result) {
            let (returns, says) = self.both(theirs.result, ours.result);
            self.report(format!(
                "{place}: returns {returns}, contract {CONTRACT} says {says}"
            ));
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
                self.report(format!(
                    "{place}: has a {word} `{label}` that contract {CONTRACT} does not know"
                ));
            }
        }
        for (label, our_type) in ours {
            let Some((_, their_type)) = theirs.iter().find(|(other, _)| label == other) else {
                self.report(format!("{place}: lacks the {word} `{label}`"));
                continue;
            };
            if !self.fits(*their_type, *our_type) {
                let (is, says) = self.both(*their_type, *our_type);
                self.report(format!(
                    "{place}: {word} `{label}` is {is}, contract {CONTRACT} says {says}"
                ));
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

/// The part of a version that has to be the same for two contracts to be compatible.
fn track(version: &Version) -> String {
    match version {
        v if !v.pre.is_empty() => v.to_string(),
        Version {
            major: 0, minor, ..
        } => format!("0.{minor}"),
        v => v.major.to_string(),
    }
}

fn sorted_names(externs: &[Extern]) -> Vec<String> {
    let names: BTreeSet<_> = externs.iter().map(|item| item.name.clone()).collect();
    names.into_iter().collect()
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn damaged(error: BinaryReaderError) -> ContractError {
    not_component(error.message())
}

fn not_component(reason: &str) -> ContractError {
    ContractError::NotComponent {
        reason: clean(reason),
    }
}

fn version_message(built_for: &Version) -> String {
    format!(
        "built for contract {}, this emhost speaks {CONTRACT}: rebuild the plugin against contract \
         {}, or use an emhost that speaks {}",
        clean(&built_for.to_string()),
        track(&OURS.version),
        clean(&track(built_for)),
    )
}

fn newer(unknown: &[String]) -> String {
    match unknown {
        [] => String::new(),
        _ => format!(
            " (it exports {}, unknown to contract {CONTRACT})",
            shown(unknown)
        ),
    }
}

/// The first few of a list, in one line.
fn shown(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    few(&quoted, ", ")
}

fn few(list: &[String], separator: &str) -> String {
    let (shown, rest) = list.split_at(list.len().min(SHOWN));
    let mut text = shown.join(separator);
    if !rest.is_empty() {
        text.push_str(&format!("{separator}and {} more", rest.len()));
    }
    text
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
    use wit_parser::{ManglingAndAbi, WorldId};

    use super::super::manifest::tests::section;
    use super::*;

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    /// A world of every function the host has, and one role.
    const WORLD: &str = "world test { import log; import operations; import inventory; \
         import secrets; import reveal; import keys; import grpc; import archives; \
         export lifecycle; export provisioner; }";

    /// A component of the world `test` in `world`, against the contract as `edit` leaves it.
    pub fn component(world: &str, edit: impl Fn(&str) -> String) -> Vec<u8> {
        let package = edit("package emhost:plugin@0.1.0;");
        let mut sources = SourceMap::new();
        for (path, text) in WIT {
            sources.push_str(path, edit(text));
        }
        sources.push_str("test.wit", format!("{package}\n{world}"));
        let mut resolve = Resolve::new();
        let package = resolve.push_group(sources.parse().unwrap()).unwrap();
        let world = resolve.packages[package].worlds["test"];
        encode(&resolve, world)
    }

    fn encode(resolve: &Resolve, world: WorldId) -> Vec<u8> {
        let mut module = dummy_module(resolve, world, ManglingAndAbi::Standard32);
        embed_component_metadata(&mut module, resolve, world, StringEncoding::UTF8).unwrap();
        let encoder = ComponentEncoder::default().module(&module).unwrap();
        encoder.validate(true).encode().unwrap()
    }

    pub fn plugin() -> Vec<u8> {
        component(WORLD, str::to_owned)
    }

    /// The message for a plugin whose author replaced a text in one place of the contract.
    #[track_caller]
    fn refusal(from: &str, to: &str) -> String {
        assert_eq!(
            WIT.iter()
                .map(|(_, text)| text.matches(from).count())
                .sum::<usize>(),
            1
        );
        let component = component(WORLD, |text| text.replace(from, to));
        check(&component).unwrap_err().to_string()
    }

    fn at_version(version: &str, world: &str, edit: impl Fn(&str) -> String) -> Vec<u8> {
        let package = format!("package emhost:plugin@{version};");
        let edit = |text: &str| edit(&text.replace("@since(version = 0.1.0)", ""));
        component(world, |text| {
            edit(&text.replace("package emhost:plugin@0.1.0;", &package))
        })
    }

    fn wit_folder() -> (Resolve, PackageId) {
        let mut resolve = Resolve::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
        let (package, _) = resolve.push_dir(folder).unwrap();
        (resolve, package)
    }

    #[test]
    fn what_is_compiled_in_is_the_contract() {
        let (resolve, package) = wit_folder();
        let package = &resolve.packages[package];
        assert_eq!(package.name.to_string(), format!("{PACKAGE}@{CONTRACT}"));

        let ours = &OURS.resolve.packages[OURS.package];
        assert_eq!(ours.name, package.name);
        let sorted = |names: Vec<&String>| names.into_iter().cloned().collect::<BTreeSet<_>>();
        assert_eq!(
            sorted(ours.interfaces.keys().collect()),
            sorted(package.interfaces.keys().collect()),
        );

        let host = &resolve.worlds[package.worlds["host"]];
        let names = |keys: Vec<_>| -> BTreeSet<String> {
            keys.into_iter()
                .map(|key| resolve.name_world_key(key))
                .collect()
        };
        let exported = names(host.exports.keys().collect());
        let expected = Role::ALL.map(Role::as_str).into_iter().chain([LIFECYCLE]);
        let full = |name: &str| format!("{PACKAGE}/{name}@{CONTRACT}");
        assert_eq!(exported, expected.map(full).collect());
        assert!(names(host.imports.keys().collect()).is_disjoint(&exported));
    }

    #[test]
    fn every_world_for_authors_makes_a_plugin() {
        let (resolve, package) = wit_folder();
        let worlds = &resolve.packages[package].worlds;
        for role in Role::ALL {
            let shape = check(&encode(&resolve, worlds[&format!("{role}-plugin")])).unwrap();
            assert!(shape.roles.contains(&role), "{role}: {:?}", shape.roles);
            assert_eq!(shape.contract, OURS.version);
        }
    }

    #[test]
    fn a_plugin_of_this_contract() {
        let world = WORLD.replace("export provisioner", "export gpu; export boot-source");
        let shape = check(&component(&world, str::to_owned)).unwrap();
        assert_eq!(shape.roles, [Role::BootSource, Role::Gpu]);
        assert_eq!(shape.contract, Version::new(0, 1, 0));
        assert_eq!(
            shape.exports,
            ["boot-source", "gpu", "lifecycle"].map(|i| format!("emhost:plugin/{i}@0.1.0"))
        );
        assert!(
            shape
                .imports
                .contains(&"emhost:plugin/secrets@0.1.0".to_owned())
        );
        assert!(shape.imports.is_sorted());
    }

    #[test]
    fn versions() {
        for fine in ["0.1.0", "0.1.1", "0.1.99"] {
            let shape = check(&at_version(fine, WORLD, str::to_owned)).unwrap();
            assert_eq!(shape.contract.to_string(), fine);
        }
        assert_eq!(
            check(&at_version("0.2.0", WORLD, str::to_owned))
                .unwrap_err()
                .to_string(),
            "built for contract 0.2.0, this emhost speaks 0.1.0: rebuild the plugin against \
             contract 0.1, or use an emhost that speaks 0.2"
        );
        for other in ["0.0.9", "1.0.0", "1.1.0", "0.1.0-rc.1"] {
            let error = check(&at_version(other, WORLD, str::to_owned)).unwrap_err();
            assert!(matches!(error, ContractError::Version { .. }), "{error}");
        }
        let unversioned = |text: &str| {
            text.replace("@0.1.0;", ";")
                .replace("@since(version = 0.1.0)", "")
        };
        assert_eq!(
            check(&component(WORLD, unversioned))
                .unwrap_err()
                .to_string(),
            "uses `emhost:plugin/types` without a version: build it against the WIT of \
             emhost:plugin@0.1.0"
        );
    }

    /// Both directions of time: the plugin has less than we do, or more.
    #[test]
    fn functions_come_and_go() {
        // Older than `settings`: it never calls what it does not know.
        let older = component(WORLD, |text| text.replace("settings: func() -> json;", ""));
        check(&older).unwrap();

        let newer = |text: &str| {
            let text = text.replace("enabled: func", "flush: func(); enabled: func");
            text.replace(
                "id: func() -> string;\n    /// The plugin's",
                "foo: func();\n    /// ",
            )
        };
        assert_eq!(
            check(&at_version("0.1.5", WORLD, newer))
                .unwrap_err()
                .to_string(),
            "does not fit contract 0.1.0:\n\
             \x20 log.flush: not a function of contract 0.1.0\n\
             \x20 operations.operation.foo: not a function of contract 0.1.0"
        );

        let exports_more = |text: &str| {
            text.replace(
                "  /// Every machine that carries",
                "  extra: func();\n  /// ",
            )
        };
        check(&at_version("0.1.5", WORLD, exports_more)).unwrap();
        assert_eq!(
            refusal("  owned: func(\n", "  owning: func(\n"),
            "does not fit contract 0.1.0:\n  provisioner: does not export `owned`"
        );
    }

    #[test]
    fn interfaces_come_and_go() {
        let world = |items: &str| {
            let world = WORLD.replace("world test {", &format!("world test {{ {items}"));
            format!("interface storage {{ grow: func(); }} {world}")
        };
        let unknown = "does not fit contract 0.1.0:\n  \
             storage: not an interface of contract 0.1.0";
        let imports = at_version("0.1.5", &world("import storage;"), str::to_owned);
        assert_eq!(check(&imports).unwrap_err().to_string(), unknown);
        let exports = component(&world("export storage;"), str::to_owned);
        assert_eq!(check(&exports).unwrap_err().to_string(), unknown);
        // A newer plugin may be able to do more than this host will ever ask for.
        let exports = at_version("0.1.5", &world("export storage;"), str::to_owned);
        check(&exports).unwrap();

        let imports = component(&WORLD.replace("import log", "import gpu"), str::to_owned);
        assert_eq!(
            check(&imports).unwrap_err().to_string(),
            "does not fit contract 0.1.0:\n  gpu: is for plugins to export, not to import"
        );
        let exports = component(&WORLD.replace("import log", "export log"), str::to_owned);
        assert_eq!(
            check(&exports).unwrap_err().to_string(),
            "does not fit contract 0.1.0:\n  log: is the host's, a plugin cannot export it"
        );
    }

    #[test]
    fn types_that_differ() {
        let action = "    reason: string,\n    fields: list<field-change>,";
        assert_eq!(
            refusal(action, "    risk: u8,\n    fields: list<field-change>,"),
            "does not fit contract 0.1.0:\n\
             \x20 types.action: has a field `risk` that contract 0.1.0 does not know\n\
             \x20 types.action: lacks the field `reason`"
        );
        assert_eq!(
            refusal(
                action,
                "    fields: list<field-change>,\n    reason: string,"
            ),
            "does not fit contract 0.1.0:\n  types.action: has its fields in another order"
        );
        assert_eq!(
            refusal("retry-after-ms: option<u32>", "retry-after-ms: option<u64>"),
            "does not fit contract 0.1.0:\n  types.failure: field `retry-after-ms` is \
             `option<u64>`, contract 0.1.0 says `option<u32>`"
        );
        assert_eq!(
            refusal("    data-loss,\n", "    data-loss,\n    outage,\n"),
            "does not fit contract 0.1.0:\n  types.disruption: has a case `outage` that contract \
             0.1.0 does not know"
        );
        assert_eq!(
            refusal("    done(option<state>),", "    done,"),
            "does not fit contract 0.1.0:\n  types.step: case `done` is nothing, contract 0.1.0 \
             says `option<state>`"
        );
        assert_eq!(
            refusal("  enum change {", "  flags change {"),
            "does not fit contract 0.1.0:\n  types.action: field `change` is `flags change`, \
             contract 0.1.0 says `enum change`"
        );
    }

    #[test]
    fn functions_that_differ() {
        assert_eq!(
            refusal(
                "upgrade-state: func(old: state)",
                "upgrade-state: func(old: list<u8>)"
            ),
            "does not fit contract 0.1.0:\n  lifecycle.upgrade-state: parameter `old` is \
             `list<u8>`, contract 0.1.0 says `state`"
        );
        assert_eq!(
            refusal(
                "validate: func(settings: json)",
                "validate: func(config: json, strict: bool)"
            ),
            "does not fit contract 0.1.0:\n\
             \x20 lifecycle.validate: has a parameter `config` that contract 0.1.0 does not know\n\
             \x20 lifecycle.validate: has a parameter `strict` that contract 0.1.0 does not know\n\
             \x20 lifecycle.validate: lacks the parameter `settings`"
        );
        assert_eq!(
            refusal(
                "ephemeral: func(value: list<u8>) -> secret",
                "ephemeral: func(value: list<u8>)"
            ),
            "does not fit contract 0.1.0:\n  secrets.ephemeral: returns nothing, contract 0.1.0 \
             says `own<secrets.secret>`"
        );
        assert_eq!(
            refusal(
                "reveal: func(secret: borrow<secret>)",
                "reveal: func(secret: secret)"
            ),
            "does not fit contract 0.1.0:\n  reveal.reveal: parameter `secret` is \
             `own<secrets.secret>`, contract 0.1.0 says `borrow<secrets.secret>`"
        );
        let resource = WORLD.replace("import log", "import mine");
        let resource = component(
            &format!("interface mine {{ resource secret; }} {resource}"),
            |text| {
                text.replace(
                    "interface reveal {\n  use secrets",
                    "interface reveal {\n  use mine",
                )
            },
        );
        assert_eq!(
            check(&resource).unwrap_err().to_string(),
            "does not fit contract 0.1.0:\n\
             \x20 mine: not an interface of contract 0.1.0\n\
             \x20 reveal.reveal: parameter `secret` is `borrow<mine.secret>`, contract 0.1.0 says \
             `borrow<secrets.secret>`"
        );
    }

    /// Names of types are for people; only what is in them matters.
    #[test]
    fn a_type_by_another_name() {
        let renamed = |text: &str| {
            text.replace("field-change", "field-edit")
                .replace("json", "doc")
        };
        check(&component(WORLD, renamed)).unwrap();
        let changed = |text: &str| {
            renamed(text).replace("sensitive: bool,\n  }\n\n  record", "}\n\n  record")
        };
        assert_eq!(
            check(&component(WORLD, changed)).unwrap_err().to_string(),
            "does not fit contract 0.1.0:\n  types.action: field `fields` is `list<field-edit>`, \
             contract 0.1.0 says `list<field-change>`"
        );
    }

    #[test]
    fn long_lists_are_cut() {
        let cases: Vec<_> = (0..300).map(|n| format!("case{n}")).collect();
        let message = refusal("    data-loss,\n", &cases.join(","));
        assert_eq!(message.lines().count(), 2 + SHOWN);
        assert!(message.ends_with("  and 95 more"), "{message}");
    }

    #[test]
    fn imports_from_elsewhere() {
        let with = |package: &str, import: &str| {
            let world = WORLD.replace("world test {", &format!("world test {{ import {import};"));
            let component = component(&format!("{world}\n{package}"), str::to_owned);
            check(&component)
        };
        let foreign = with(
            "package acme:foo@1.0.0 { interface bar { f: func(); } }",
            "acme:foo/bar@1.0.0",
        );
        assert_eq!(
            foreign.unwrap_err().to_string(),
            "imports `acme:foo/bar@1.0.0`, which emhost does not provide"
        );
        let function = with("", "ask: func()");
        assert_eq!(
            function.unwrap_err().to_string(),
            "imports `ask`, which emhost does not provide"
        );
        for (package, known) in [
            ("wasi:io@0.2.6", true),
            ("wasi:http@0.2.0", true),
            ("wasi:http@0.3.0", false),
            ("wasi:http@0.2.0-rc", false),
            ("wasi:http", false),
            ("wasi:keyvalue@0.2.0", false),
            ("wasi-http:http@0.2.0", false),
        ] {
            let (name, version) = package.split_once('@').unwrap_or((package, ""));
            let at = if version.is_empty() { "" } else { "@" };
            let definition = format!("package {package} {{ interface i {{ f: func(); }} }}");
            let result = with(&definition, &format!("{name}/i{at}{version}"));
            assert_eq!(result.is_ok(), known, "{package}");
        }
    }

    #[test]
    fn components_that_are_no_plugins() {
        let no_role = component(
            "world test { import log; export lifecycle; }",
            str::to_owned,
        );
        assert_eq!(
            check(&no_role).unwrap_err().to_string(),
            "fills no role: export at least one of configurator, boot-source, gpu, provisioner, \
             distro, distro-backup, addon"
        );
        let newer = "interface storage { grow: func(); } \
             world test { export lifecycle; export storage; }";
        assert!(
            check(&at_version("0.1.5", newer, str::to_owned))
                .unwrap_err()
                .to_string()
                .ends_with("addon (it exports `storage`, unknown to contract 0.1.0)")
        );
        let unrelated = component("world test { export run: func(); }", str::to_owned);
        assert!(matches!(
            check(&unrelated),
            Err(ContractError::NoRole { .. })
        ));
        let no_lifecycle = component("world test { export boot-source; }", str::to_owned);
        assert_eq!(
            check(&no_lifecycle).unwrap_err().to_string(),
            "does not export `lifecycle`: build it against one of the worlds of emhost:plugin, \
             for example `boot-source-plugin`"
        );
    }

    #[test]
    fn files_that_are_no_components() {
        let message = |bytes: &[u8]| check(bytes).unwrap_err().to_string();
        assert_eq!(message(b""), "is not a WebAssembly component (it is empty)");
        assert_eq!(
            message(b"#!/bin/sh"),
            "is not a WebAssembly component (its first bytes are not those of one)"
        );
        assert!(message(b"\0asm\x01\0\0\0").starts_with("is a core WebAssembly module, not a"));
        assert!(message(b"\x7fELF\x02\x01\x01").starts_with("is precompiled machine code"));
        assert_eq!(
            message(&vec![0; MAX_SIZE + 1]),
            "is 268435457 bytes large, more than the 268435456 that are read"
        );
    }

    #[test]
    fn every_truncation_is_refused() {
        let plugin = plugin();
        for length in (0..plugin.len()).step_by(23).chain([plugin.len() - 1]) {
            assert!(check(&plugin[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn no_flipped_bit_makes_the_parser_panic() {
        let plugin = plugin();
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..500 {
            let mut damaged = plugin.clone();
            for _ in 0..3 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let bit = usize::try_from(random % (damaged.len() as u64 * 8)).unwrap();
                damaged[bit / 8] ^= 1 << (bit % 8);
            }
            if let Err(error) = check(&damaged) {
                assert!(
                    !error.to_string().contains("the parser failed"),
                    "{random:x}"
                );
            }
        }
    }

    /// Types in types, without end: the parser would overflow the stack, which is not an error that
    /// anybody can catch.
    #[test]
    fn types_nested_too_deeply() {
        let nested = |levels: usize| {
            let types = [&[1], [0x42, 1, 1].repeat(levels).as_slice(), &[0x73]].concat();
            let component = [COMPONENT, &section(7, &types)].concat();
            check(&component).unwrap_err().to_string()
        };
        assert!(nested(MAX_TYPE_NESTING).starts_with("fills no role"));
        for levels in [MAX_TYPE_NESTING + 2, 1_000_000] {
            assert_eq!(
                nested(levels),
                "is not a WebAssembly component (its types nest too deeply)"
            );
        }
    }

    /// `wasi:io` and `wasi:http` use each other's types. `wit_component::decode` recurses on it
    /// until the stack overflows.
    #[test]
    fn packages_that_use_each_other() {
        let component = b"\0asm\x0d\0\x01\0\x07\x09\x01B\x01\x04\0\x01t\x03\x01\x0a\x14\x01\0\
            \x0fwasi:io/a@0.2.0\x05\0\x06\x06\x01\x03\0\0\x01t\x07\x1f\x01B\x05\x02\x03\x02\x01\x01\
            \x04\0\x01t\x03\0\0\x01i\x01\x01r\x01\x01x\x02\x04\0\x01r\x03\0\x03\x0a\x16\x01\0\
            \x11wasi:http/a@0.2.0\x05\x02\x06\x06\x01\x03\0\x01\x01r\x07\x0f\x01B\x02\x02\x03\x02\
            \x01\x03\x04\0\x01r\x03\0\0\x0a\x14\x01\0\x0fwasi:io/b@0.2.0\x05\x04";
        assert!(matches!(
            check(component),
            Err(ContractError::NoRole { .. })
        ));
    }

    #[test]
    fn components_nested_too_deeply() {
        let mut component = COMPONENT.to_vec();
        for _ in 0..=MAX_NESTING {
            component = [COMPONENT, &section(4, &component)].concat();
        }
        assert_eq!(
            check(&component).unwrap_err().to_string(),
            "is not a WebAssembly component (its components nest too deeply)"
        );
    }

    #[test]
    fn roles_as_words() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
        }
        assert!(Role::ALL.is_sorted());
        assert_eq!(
            "boot\u{1b}".parse::<Role>().unwrap_err().to_string(),
            "`boot\\u{1b}` is not a role: use configurator, boot-source, gpu, provisioner, \
             distro, distro-backup, addon"
        );
    }
}

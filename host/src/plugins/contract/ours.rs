//! Our half of the comparison: the contract that is compiled into this host.

use std::sync::LazyLock;

use semver::Version;
use wasmparser::PrimitiveValType;
use wit_parser::{Handle, Interface, PackageId, Resolve, SourceMap, Type, TypeDefKind, TypeId, TypeOwner};

use super::CONTRACT;
use super::compare::{Layer, Side};

/// Only interfaces: the worlds would need all of WASI to parse.
macro_rules! interfaces {
    ($($name:literal)*) => {
        [$((
            concat!($name, ".wit"),
            include_str!(concat!("../../../../wit/", $name, ".wit")),
        )),*]
    };
}

pub(super) const WIT: [(&str, &str); 17] = interfaces![
    "addon" "archives" "boot-source" "configurator" "distro" "distro-backup" "gpu" "grpc"
    "inventory" "keys" "lifecycle" "log" "operations" "provisioner" "reveal" "secrets" "types"
];

pub(super) static OURS: LazyLock<Contract> = LazyLock::new(Contract::parse);

pub(super) struct Contract {
    pub(super) version: Version,
    pub(super) resolve: Resolve,
    pub(super) package: PackageId,
}

impl Contract {
    #[expect(clippy::expect_used, reason = "the text is compiled in and a test parses it: no input can make this fail")]
    fn parse() -> Self {
        let mut sources = SourceMap::new();
        for (path, text) in WIT {
            sources.push_str(path, text);
        }
        let group = sources.parse().map_err(|(_, error)| error);
        let mut resolve = Resolve::new();
        let package = resolve.push_group(group.expect("our own WIT parses")).expect("our own WIT resolves");
        let version = Version::parse(CONTRACT).expect("our own version is one");
        Self { version, resolve, package }
    }

    pub(super) fn interface(&self, name: &str) -> Option<&Interface> {
        let package = self.resolve.packages.get(self.package)?;
        let id = package.interfaces.get(name)?;
        self.resolve.interfaces.get(*id)
    }
}

impl Contract {
    /// Where a named type is defined, for example `types.action`.
    pub(super) fn place(&self, id: TypeId) -> String {
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
                Layer::labelled("record", name, fields.map(|f| (f.name.as_str(), Some(f.ty))))
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
            TypeDefKind::Handle(Handle::Borrow(id)) => Layer::resource("borrow", self.place(*id).into()),
            TypeDefKind::List(ty) => Layer::unlabelled("list", [Some(*ty)]),
            TypeDefKind::Option(ty) => Layer::unlabelled("option", [Some(*ty)]),
            TypeDefKind::Result(result) => Layer::unlabelled("result", [result.ok, result.err]),
            TypeDefKind::Tuple(tuple) => Layer::unlabelled("tuple", tuple.types.iter().copied().map(Some)),
            TypeDefKind::Map(key, value) => Layer::unlabelled("map", [Some(*key), Some(*value)]),
            TypeDefKind::FixedLengthList(ty, length) => Layer::unlabelled(format!("list of {length}"), [Some(*ty)]),
            TypeDefKind::Future(ty) => Layer::unlabelled("future", [*ty]),
            TypeDefKind::Stream(ty) => Layer::unlabelled("stream", [*ty]),
            TypeDefKind::Resource | TypeDefKind::Unknown => Layer::unlabelled(kind.as_str(), []),
        }
    }
}

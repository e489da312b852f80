//! Writes the contract reference for plugin authors, `docs/contract.md`, from
//! the folder `wit/`.
//!
//! Works on the package as written, not as resolved: the table of worlds then
//! says `include` where the source does, and WASI stays a name. Whether the
//! package resolves is for the bindings to find out.

use std::error::Error;
use std::fmt::{self, Write};
use std::fs;
use std::path::Path;

use wit_parser::{
    AstItem, Docs, Function, FunctionKind, Handle, Interface, InterfaceId, SourceMap, Stability, Type, TypeDef, TypeDefKind, TypeId,
    TypeOwner, UnresolvedPackage, World, WorldKey,
};

/// Interfaces in the order in which they are best read. One that is not named
/// here comes last in its part.
const ORDER: [&str; 17] = [
    "types",
    "operations",
    "inventory",
    "log",
    "secrets",
    "reveal",
    "keys",
    "grpc",
    "archives",
    "lifecycle",
    "configurator",
    "boot-source",
    "gpu",
    "provisioner",
    "distro",
    "distro-backup",
    "addon",
];

/// Signatures longer than this are broken into one line per parameter.
const WIDTH: usize = 90;

/// The reference page for the package in `wit_dir`, which is linked as `../wit`.
///
/// # Errors
///
/// When a file cannot be read or is not WIT.
pub fn render(wit_dir: &Path) -> Result<String, Box<dyn Error + Send + Sync>> {
    let entries = fs::read_dir(wit_dir).map_err(|error| format!("{}: {error}", wit_dir.display()))?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wit"));
    paths.sort();
    let mut sources = SourceMap::default();
    for path in paths {
        sources.push_file(&path)?;
    }
    let package = sources.parse().map_err(|(sources, error)| error.render(&sources))?.main;
    let mut page = Page { package: &package, text: String::new() };
    page.write()?;
    Ok(page.text)
}

/// The parts of the page after the worlds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Vocabulary,
    Host,
    Plugin,
}

impl Part {
    fn heading(self) -> &'static str {
        match self {
            Self::Vocabulary => "Shared vocabulary",
            Self::Host => "What the host offers",
            Self::Plugin => "What plugins fill",
        }
    }
}

/// A piece of a type as WIT spells it.
enum Piece {
    Text(String),
    Named(TypeId),
}

struct Page<'a> {
    package: &'a UnresolvedPackage,
    text: String,
}

impl Page<'_> {
    fn write(&mut self) -> fmt::Result {
        let package = self.package;
        writeln!(self.text, "# The plugin contract\n")?;
        writeln!(
            self.text,
            "Package `{}`, generated from [`wit/`](../wit) by `cargo xtask docs`; do not edit.\n\
             The rules that every interface follows are at the top of\n\
             [`wit/worlds.wit`](../wit/worlds.wit).",
            package.name
        )?;
        self.worlds()?;

        let mut interfaces = Vec::new();
        for (id, interface) in &package.interfaces {
            // Only our own interfaces have a name in an unresolved package.
            if let Some(name) = &interface.name {
                let order = ORDER.iter().position(|known| known == name);
                let order = order.unwrap_or(ORDER.len());
                interfaces.push((self.part(id, interface), order, name, interface));
            }
        }
        interfaces.sort_by_key(|(part, order, name, _)| (*part, *order, *name));
        let mut current = None;
        for (part, _, name, interface) in interfaces {
            if current.replace(part) != Some(part) {
                writeln!(self.text, "\n## {}", part.heading())?;
            }
            self.interface(name, interface)?;
        }
        Ok(())
    }

    fn part(&self, id: InterfaceId, interface: &Interface) -> Part {
        let mut worlds = self.package.worlds.iter();
        if worlds.any(|(_, world)| world.exports.contains_key(&WorldKey::Interface(id))) {
            Part::Plugin
        } else if interface.functions.is_empty() {
            Part::Vocabulary
        } else {
            Part::Host
        }
    }

    fn worlds(&mut self) -> fmt::Result {
        let mut worlds: Vec<_> = self.package.worlds.iter().map(|(_, world)| world).collect();
        worlds.retain(|world| !world.name.is_empty());
        worlds.sort_by_key(|world| world.span.start());
        writeln!(self.text, "\n## Worlds\n")?;
        writeln!(self.text, "| world | what it is for | imports | exports |")?;
        writeln!(self.text, "|---|---|---|---|")?;
        for world in worlds {
            let name = &world.name;
            let purpose = cell(first_sentence(&flowed(&world.docs)));
            let imports = self.items(world, |world| world.imports.keys().collect()).join(", ");
            let exports = self.items(world, |world| world.exports.keys().collect()).join(", ");
            writeln!(self.text, "| <a id=\"world.{name}\"></a>`{name}` | {purpose} | {imports} | {exports} |")?;
        }
        Ok(())
    }

    /// Imports or exports of a world, those of the worlds it includes by a link.
    fn items(&self, world: &World, side: fn(&World) -> Vec<&WorldKey>) -> Vec<String> {
        let mut items = Vec::new();
        for include in &world.includes {
            let included = &self.package.worlds[include.id];
            let name = &included.name;
            if name.is_empty() {
                items.push(format!("those of `{}`", self.foreign(AstItem::World(include.id))));
            } else if !self.items(included, side).is_empty() {
                items.push(format!("those of [`{name}`](#world.{name})"));
            }
        }
        for key in side(world) {
            items.push(match key {
                WorldKey::Name(name) => format!("`{name}`"),
                WorldKey::Interface(id) => match &self.package.interfaces[*id].name {
                    Some(name) => format!("[`{name}`](#interface.{name})"),
                    None => format!("`{}`", self.foreign(AstItem::Interface(*id))),
                },
            });
        }
        items
    }

    /// The full name of an interface or world of another package.
    fn foreign(&self, item: AstItem) -> String {
        for (package, items) in &self.package.foreign_deps {
            for (name, (candidate, _)) in items {
                if *candidate == item {
                    return package.interface_id(name);
                }
            }
        }
        String::from("unknown")
    }

    fn interface(&mut self, name: &str, interface: &Interface) -> fmt::Result {
        writeln!(self.text, "\n### <a id=\"interface.{name}\"></a>interface `{name}`")?;
        self.docs(&interface.docs)?;
        self.stability(&interface.stability)?;

        let mut types: Vec<_> = interface.types.values().copied().collect();
        types.retain(|id| self.definition(*id) == *id);
        types.sort_by_key(|id| self.package.types[*id].span.start());
        for id in types {
            self.named_type(name, id, interface)?;
        }
        for function in interface.functions.values() {
            if function.kind.resource().is_none() {
                let plain = function.item_name();
                writeln!(self.text, "\n#### <a id=\"{name}.{plain}\"></a>function `{plain}`")?;
                self.function(function)?;
            }
        }
        Ok(())
    }

    fn named_type(&mut self, scope: &str, id: TypeId, interface: &Interface) -> fmt::Result {
        let definition = &self.package.types[id];
        let name = definition.name.as_deref().unwrap_or_default();
        let kind = match definition.kind {
            TypeDefKind::Record(_) | TypeDefKind::Enum(_) | TypeDefKind::Flags(_) | TypeDefKind::Variant(_) | TypeDefKind::Resource => {
                definition.kind.as_str()
            }
            _ => "type",
        };
        writeln!(self.text, "\n#### <a id=\"{scope}.{name}\"></a>{kind} `{name}`")?;
        self.docs(&definition.docs)?;
        self.stability(&definition.stability)?;
        match &definition.kind {
            TypeDefKind::Record(record) => {
                let fields = record.fields.iter();
                let fields = fields.map(|field| (field.name.as_str(), &field.ty, &field.docs));
                self.table("field", &fields.collect::<Vec<_>>())
            }
            TypeDefKind::Enum(cases) => {
                let cases = cases.cases.iter();
                self.list(&cases.map(|case| (&case.name, None, &case.docs)).collect::<Vec<_>>())
            }
            TypeDefKind::Flags(flags) => {
                let flags = flags.flags.iter();
                self.list(&flags.map(|flag| (&flag.name, None, &flag.docs)).collect::<Vec<_>>())
            }
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter();
                let cases = cases.map(|case| (&case.name, case.ty.as_ref(), &case.docs));
                self.list(&cases.collect::<Vec<_>>())
            }
            TypeDefKind::Resource => self.methods(scope, name, id, interface),
            _ => writeln!(self.text, "\nAnother name for {}.", self.linked(&self.spell_kind(definition))),
        }
    }

    /// Methods that take and refuse nothing as a table, the others in full.
    fn methods(&mut self, scope: &str, resource: &str, id: TypeId, interface: &Interface) -> fmt::Result {
        let methods = interface.functions.values();
        let methods = methods.filter(|function| function.kind.resource() == Some(id));
        let (getters, others): (Vec<_>, Vec<_>) = methods.partition(|method| self.getter(method).is_some());
        let rows: Vec<_> = getters.iter().filter_map(|method| Some((method.item_name(), self.getter(method)?, &method.docs))).collect();
        if !rows.is_empty() {
            self.table("getter", &rows)?;
        }
        for method in others {
            let name = method.item_name();
            writeln!(self.text, "\n##### <a id=\"{scope}.{resource}.{name}\"></a>method `{resource}.{name}`")?;
            self.function(method)?;
        }
        Ok(())
    }

    /// What a method returns that does nothing but return it.
    fn getter<'f>(&self, function: &'f Function) -> Option<&'f Type> {
        let returned = function.result.as_ref()?;
        let bare = matches!(function.kind, FunctionKind::Method(_)) && function.params.len() == 1;
        (bare && !self.fallible(returned) && function.stability.is_unknown()).then_some(returned)
    }

    fn fallible(&self, ty: &Type) -> bool {
        match ty {
            Type::Id(id) => matches!(self.package.types[*id].kind, TypeDefKind::Result(_)),
            _ => false,
        }
    }

    fn function(&mut self, function: &Function) -> fmt::Result {
        let receiver = matches!(function.kind, FunctionKind::Method(_) | FunctionKind::AsyncMethod(_));
        let parameters = &function.params[usize::from(receiver)..];
        let keyword = match function.kind {
            FunctionKind::Freestanding | FunctionKind::Method(_) => ": func",
            FunctionKind::AsyncFreestanding | FunctionKind::AsyncMethod(_) => ": async func",
            FunctionKind::Static(_) => ": static func",
            FunctionKind::AsyncStatic(_) => ": static async func",
            FunctionKind::Constructor(_) => "",
        };
        // WIT does not say that a constructor returns what it constructs.
        let stated = |ty: &Type| !keyword.is_empty() || self.fallible(ty);
        let result = function.result.filter(stated);
        let mut links = Vec::new();
        let mut typed = |ty: &Type| {
            let pieces = self.spell(ty);
            for piece in &pieces {
                if let Piece::Named(id) = piece {
                    let link = self.link(*id);
                    if !links.contains(&link) {
                        links.push(link);
                    }
                }
            }
            self.plain(&pieces)
        };
        let parameters = parameters.iter().map(|parameter| format!("{}: {}", parameter.name, typed(&parameter.ty)));
        let parameters: Vec<_> = parameters.collect();
        let result = result.map_or_else(String::new, |ty| format!(" -> {}", typed(&ty)));
        let name = function.item_name();
        let mut signature = format!("{name}{keyword}({}){result};", parameters.join(", "));
        if signature.len() > WIDTH {
            signature = format!("{name}{keyword}(\n  {},\n){result};", parameters.join(",\n  "));
        }
        writeln!(self.text, "\n```wit\n{signature}\n```")?;
        self.docs(&function.docs)?;
        self.stability(&function.stability)?;
        if !links.is_empty() {
            writeln!(self.text, "\nTypes: {}.", links.join(", "))?;
        }
        Ok(())
    }

    fn docs(&mut self, docs: &Docs) -> fmt::Result {
        match &docs.contents {
            Some(contents) => writeln!(self.text, "\n{}", contents.trim()),
            None => Ok(()),
        }
    }

    fn stability(&mut self, stability: &Stability) -> fmt::Result {
        let deprecated = match stability {
            Stability::Unknown => return Ok(()),
            Stability::Stable { since, deprecated } => {
                write!(self.text, "\nSince {since}")?;
                deprecated
            }
            Stability::Unstable { feature, deprecated } => {
                write!(self.text, "\nUnstable, behind the feature `{feature}`")?;
                deprecated
            }
        };
        match deprecated {
            Some(version) => writeln!(self.text, "; deprecated since {version}."),
            None => writeln!(self.text, "."),
        }
    }

    /// Rows of a name, its type and its meaning, if any row has one.
    fn table(&mut self, what: &str, rows: &[(&str, &Type, &Docs)]) -> fmt::Result {
        let explained = rows.iter().any(|(_, _, docs)| !docs.is_empty());
        let (head, line) = if explained { (" meaning |", "---|") } else { ("", "") };
        writeln!(self.text, "\n| {what} | type |{head}\n|---|---|{line}")?;
        for (name, ty, docs) in rows {
            let ty = self.linked(&self.spell(ty));
            write!(self.text, "| `{name}` | {ty} |")?;
            if explained {
                write!(self.text, " {} |", cell(&flowed(docs)))?;
            }
            writeln!(self.text)?;
        }
        Ok(())
    }

    /// Cases with their payloads and meanings, on one line if they have none.
    fn list(&mut self, cases: &[(&String, Option<&Type>, &Docs)]) -> fmt::Result {
        if cases.iter().all(|(_, ty, docs)| ty.is_none() && docs.is_empty()) {
            let names: Vec<_> = cases.iter().map(|(name, _, _)| format!("`{name}`")).collect();
            return writeln!(self.text, "\n{}.", names.join(", "));
        }
        writeln!(self.text)?;
        for (name, ty, docs) in cases {
            write!(self.text, "- `{name}`")?;
            if let Some(ty) = ty {
                write!(self.text, " ({})", self.linked(&self.spell(ty)))?;
            }
            match flowed(docs).as_str() {
                "" => writeln!(self.text)?,
                docs => writeln!(self.text, ": {docs}")?,
            }
        }
        Ok(())
    }

    /// The type that a name stands for once `use` is followed.
    fn definition(&self, id: TypeId) -> TypeId {
        let used = &self.package.types[id];
        match used.kind {
            TypeDefKind::Type(Type::Id(next)) if self.package.types[next].owner != used.owner => self.definition(next),
            _ => id,
        }
    }

    fn plain(&self, pieces: &[Piece]) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Named(id) => self.package.types[*id].name.clone().unwrap_or_default(),
        };
        pieces.iter().map(piece).collect()
    }

    /// For prose: names link to where they are defined.
    fn linked(&self, pieces: &[Piece]) -> String {
        if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            return format!("`{}`", self.plain(pieces));
        }
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.replace('<', r"\<").replace('_', r"\_"),
            Piece::Named(id) => self.link(*id),
        };
        pieces.iter().map(piece).collect()
    }

    fn link(&self, id: TypeId) -> String {
        let local = self.package.types[id].name.as_deref().unwrap_or_default();
        let definition = &self.package.types[self.definition(id)];
        let name = definition.name.as_deref().unwrap_or_default();
        match definition.owner {
            TypeOwner::Interface(owner) => match &self.package.interfaces[owner].name {
                Some(scope) => format!("[`{local}`](#{scope}.{name})"),
                None => format!("`{local}`"),
            },
            _ => format!("`{local}`"),
        }
    }

    fn spell(&self, ty: &Type) -> Vec<Piece> {
        let word = match ty {
            Type::Id(id) => {
                let definition = &self.package.types[*id];
                return match definition.name {
                    Some(_) => vec![Piece::Named(*id)],
                    None => self.spell_kind(definition),
                };
            }
            Type::Bool => "bool",
            Type::U8 => "u8",
            Type::U16 => "u16",
            Type::U32 => "u32",
            Type::U64 => "u64",
            Type::S8 => "s8",
            Type::S16 => "s16",
            Type::S32 => "s32",
            Type::S64 => "s64",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::Char => "char",
            Type::String => "string",
            Type::ErrorContext => "error-context",
        };
        vec![Piece::Text(word.to_owned())]
    }

    /// A type that is written where it is used, or behind an alias.
    fn spell_kind(&self, definition: &TypeDef) -> Vec<Piece> {
        let optional = |ty: &Option<Type>| ty.iter().map(|ty| self.spell(ty)).collect();
        let named = |id| vec![Piece::Named(id)];
        let text = |text: String| vec![Piece::Text(text)];
        let (name, arguments) = match &definition.kind {
            TypeDefKind::Type(ty) => return self.spell(ty),
            TypeDefKind::Handle(Handle::Own(id)) => return named(*id),
            TypeDefKind::Handle(Handle::Borrow(id)) => ("borrow", vec![named(*id)]),
            TypeDefKind::Tuple(tuple) => ("tuple", tuple.types.iter().map(|ty| self.spell(ty)).collect()),
            TypeDefKind::Option(ty) => ("option", vec![self.spell(ty)]),
            TypeDefKind::Result(result) => {
                let arguments = match (&result.ok, &result.err) {
                    (None, Some(error)) => vec![text("_".to_owned()), self.spell(error)],
                    (ok, error) => ok.iter().chain(error).map(|ty| self.spell(ty)).collect(),
                };
                ("result", arguments)
            }
            TypeDefKind::List(ty) => ("list", vec![self.spell(ty)]),
            TypeDefKind::FixedLengthList(ty, length) => ("list", vec![self.spell(ty), text(length.to_string())]),
            TypeDefKind::Map(key, value) => ("map", vec![self.spell(key), self.spell(value)]),
            TypeDefKind::Future(ty) => ("future", optional(ty)),
            TypeDefKind::Stream(ty) => ("stream", optional(ty)),
            // These have a name and are spelt by it.
            TypeDefKind::Record(_)
            | TypeDefKind::Resource
            | TypeDefKind::Flags(_)
            | TypeDefKind::Variant(_)
            | TypeDefKind::Enum(_)
            | TypeDefKind::Unknown => return text(definition.kind.as_str().to_owned()),
        };
        let mut pieces = text(name.to_owned());
        let count = arguments.len();
        for (position, argument) in arguments.into_iter().enumerate() {
            pieces.extend(text(if position == 0 { "<" } else { ", " }.to_owned()));
            pieces.extend(argument);
            if position + 1 == count {
                pieces.extend(text(">".to_owned()));
            }
        }
        pieces
    }
}

/// Doc text on one line.
fn flowed(docs: &Docs) -> String {
    let contents = docs.contents.as_deref().unwrap_or_default();
    contents.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// Text for a cell of a table, where a bar would begin the next.
fn cell(text: &str) -> String {
    text.replace('|', r"\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renders files written to a folder of this test's own.
    fn rendered(test: &str, files: &[(&str, &str)]) -> Result<String, String> {
        let folder = std::env::temp_dir().join(format!("emhost-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        let page = render(&folder).map_err(|error| error.to_string());
        fs::remove_dir_all(&folder).unwrap();
        page
    }

    const WORLDS: &str = "\
// Rules.
package test:plugin@0.2.0;

/// What all share. More of it.
world base {
  import store;
  export role;
}

/// A role.
world role-plugin {
  include base;
  import wasi:http/outgoing-handler@0.2.12;
}
";

    const TYPES: &str = "\
package test:plugin@0.2.0;

/// Words.
@since(version = 0.1.0)
interface types {
  /// A JSON text.
  type json = string;
  type pairs = list<tuple<json, u32>>;

  record failure {
    /// Either
    /// a | b.
    kind: kind,
    more: option<failure-detail>,
    note: option<string>,
  }

  enum kind { a, b }

  /// Why.
  variant failure-detail {
    /// Nobody knows.
    unknown,
    text(string),
    data(json),
  }

  flags rights {
    /// May look.
    read,
    write,
  }
}
";

    const STORE: &str = "\
package test:plugin@0.2.0;

interface store {
  use types.{failure, json as text};

  /// A thing kept.
  resource item {
    constructor(body: text);
    name: func() -> string;
    /// Its text.
    body: func() -> text;
    remove: func() -> result<_, failure>;
    find: static func(name: string, within-the-last-seconds: option<u32>, at-most: u32) -> result<option<item>, failure>;
  }
}
";

    const ROLE: &str = "\
package test:plugin@0.2.0;

interface role {
  use store.{item};

  @since(version = 0.2.0)
  @deprecated(version = 0.2.0)
  run: func(item: borrow<item>, bytes: list<u8>);
}
";

    const PAGE: &str = r#"# The plugin contract

Package `test:plugin@0.2.0`, generated from [`wit/`](../wit) by `cargo xtask docs`; do not edit.
The rules that every interface follows are at the top of
[`wit/worlds.wit`](../wit/worlds.wit).

## Worlds

| world | what it is for | imports | exports |
|---|---|---|---|
| <a id="world.base"></a>`base` | What all share. | [`store`](#interface.store) | [`role`](#interface.role) |
| <a id="world.role-plugin"></a>`role-plugin` | A role. | those of [`base`](#world.base), `wasi:http/outgoing-handler@0.2.12` | those of [`base`](#world.base) |

## Shared vocabulary

### <a id="interface.types"></a>interface `types`

Words.

Since 0.1.0.

#### <a id="types.json"></a>type `json`

A JSON text.

Another name for `string`.

#### <a id="types.pairs"></a>type `pairs`

Another name for list\<tuple\<[`json`](#types.json), u32>>.

#### <a id="types.failure"></a>record `failure`

| field | type | meaning |
|---|---|---|
| `kind` | [`kind`](#types.kind) | Either a \| b. |
| `more` | option\<[`failure-detail`](#types.failure-detail)> |  |
| `note` | `option<string>` |  |

#### <a id="types.kind"></a>enum `kind`

`a`, `b`.

#### <a id="types.failure-detail"></a>variant `failure-detail`

Why.

- `unknown`: Nobody knows.
- `text` (`string`)
- `data` ([`json`](#types.json))

#### <a id="types.rights"></a>flags `rights`

- `read`: May look.
- `write`

## What the host offers

### <a id="interface.store"></a>interface `store`

#### <a id="store.item"></a>resource `item`

A thing kept.

| getter | type | meaning |
|---|---|---|
| `name` | `string` |  |
| `body` | [`text`](#types.json) | Its text. |

##### <a id="store.item.constructor"></a>method `item.constructor`

```wit
constructor(body: text);
```

Types: [`text`](#types.json).

##### <a id="store.item.remove"></a>method `item.remove`

```wit
remove: func() -> result<_, failure>;
```

Types: [`failure`](#types.failure).

##### <a id="store.item.find"></a>method `item.find`

```wit
find: static func(
  name: string,
  within-the-last-seconds: option<u32>,
  at-most: u32,
) -> result<option<item>, failure>;
```

Types: [`item`](#store.item), [`failure`](#types.failure).

## What plugins fill

### <a id="interface.role"></a>interface `role`

#### <a id="role.run"></a>function `run`

```wit
run: func(item: borrow<item>, bytes: list<u8>);
```

Since 0.2.0; deprecated since 0.2.0.

Types: [`item`](#store.item).
"#;

    #[test]
    fn a_package_becomes_a_page() {
        let files = [("worlds.wit", WORLDS), ("types.wit", TYPES), ("store.wit", STORE), ("role.wit", ROLE)];
        let page = rendered("page", &files).unwrap();
        assert_eq!(page, PAGE);
        for link in page.split("](#").skip(1) {
            let (anchor, _) = link.split_once(')').unwrap();
            assert!(page.contains(&format!("<a id=\"{anchor}\">")), "no anchor {anchor}");
        }
    }

    #[test]
    fn a_broken_file_is_named() {
        let error = rendered("broken", &[("broken.wit", "package test:plugin;\ninterface {}\n")]).unwrap_err();
        assert!(error.contains("broken.wit:2:11"), "{error}");
    }
}

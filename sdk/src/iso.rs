//! Writes a small ISO 9660 volume in memory: the `cidata` and `metal-iso` media
//! that hand a machine its first configuration.
//!
//! The volume carries every name three times. The primary tree has upper case
//! 8.3 identifiers, which every reader must accept, each with the real name
//! beside it as a Rock Ridge entry, which Linux reads. The Joliet tree, which
//! Windows reads, has the real names again in UCS-2. All three lead to the same
//! bytes. Nothing in the volume depends on the time or on the machine that
//! writes it: the same input gives the same bytes.
//!
//! Section numbers refer to ECMA-119, which is the text of ISO 9660.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::fmt;

const SECTOR: usize = 2048;
/// Sectors that do not belong to the file system (6.2.1).
const SYSTEM_AREA: usize = 16;
/// Primary, Joliet, and the terminator (6.7.1), one sector each.
const DESCRIPTORS: usize = 3;
/// Empty sectors at the end, as many as mkisofs adds: drivers read ahead, and
/// some report an error for the last file if that leads past the end.
const PADDING: usize = 150;
/// The whole volume stays below 4 GiB, so every length fits its 32-bit field.
const MAX_SECTORS: u32 = u32::MAX / 2048;
/// Folders are numbered with 16 bits (9.4.4).
const MAX_ENTRIES: usize = 0xFFFF;
/// Levels of the hierarchy, the root being the first (6.8.2.1).
const MAX_DEPTH: usize = 8;
/// Characters of a Joliet volume label, which is 32 bytes of UCS-2.
const MAX_LABEL: usize = 16;
/// Linux drops what would make a Rock Ridge name longer (`fs/isofs/rock.c`).
const MAX_NAME: usize = 253;
/// A directory record says its length in one byte and has an even one (9.1).
const MAX_RECORD: usize = 254;
/// Bytes of a name in one `NM` entry, whose length is one byte, header included.
const MAX_NM: usize = 250;
/// Bytes of the `CE` entry, which points into the continuation area.
const CE: usize = 28;
/// The flag of directory records that stand for a folder (9.1.6).
const FOLDER: u8 = 2;

/// Media hold secrets, so only the administrator of the machine reads them.
const FILE_MODE: u32 = 0o100_400;
const FOLDER_MODE: u32 = 0o040_500;

/// 2000-01-01 00:00:00 UTC as directory records (9.1.5) and as volume
/// descriptors (8.4.26.1) spell it.
const RECORD_TIME: [u8; 7] = [100, 1, 1, 0, 0, 0, 0];
const VOLUME_TIME: &[u8; 17] = b"2000010100000000\0";
const NO_TIME: &[u8; 17] = b"0000000000000000\0";

/// Why a volume cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IsoError {
    /// The label cannot be recorded so that it is found again as given.
    Label {
        /// The label.
        label: String,
        /// What is wrong with it, as the end of a sentence.
        problem: &'static str,
    },
    /// A path cannot be recorded.
    Path {
        /// The path.
        path: String,
        /// What is wrong with it, as the end of a sentence.
        problem: &'static str,
    },
    /// Two files have this path, or one file is the folder of another.
    Duplicate {
        /// The path that came second.
        path: String,
    },
    /// More than 65535 files and folders.
    TooMany,
    /// The volume would not stay below 4 GiB, or below the memory there is.
    TooLarge,
}

impl fmt::Display for IsoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label { label, problem } => write!(f, "volume label {label:?} {problem}"),
            Self::Path { path, problem } => write!(f, "path {path:?} {problem}"),
            Self::Duplicate { path } => write!(f, "path {path:?} is taken by another file"),
            Self::TooMany => write!(f, "a volume holds at most {MAX_ENTRIES} files and folders"),
            Self::TooLarge => f.write_str("the volume would be larger than 4 GiB or than memory"),
        }
    }
}

impl Error for IsoError {}

/// The bytes of a volume named `label` with `files`, each a path such as
/// `user-data` or `openstack/latest/user_data` and its content.
///
/// # Errors
///
/// When the label or a path cannot be recorded exactly, when two paths collide,
/// and when there is too much of anything; see [`IsoError`].
pub fn volume(label: &str, files: &[(&str, &[u8])]) -> Result<Vec<u8>, IsoError> {
    check_label(label)?;
    let tree = tree(files)?;
    let trees = [Hierarchy::new(&tree, Names::Primary)?, Hierarchy::new(&tree, Names::Joliet)?];

    let mut sectors = Sectors(0);
    sectors.take((SYSTEM_AREA + DESCRIPTORS) * SECTOR)?;
    let mut places = Vec::new();
    for tree in &trees {
        places.push(tree.place(&mut sectors)?);
    }
    let contents = files.iter().map(|(_, bytes)| sectors.take(bytes.len()));
    let contents = contents.collect::<Result<Vec<_>, _>>()?;
    sectors.take(PADDING * SECTOR)?;

    let mut image = Image::new(&sectors)?;
    image.pad(SYSTEM_AREA);
    for (tree, places) in trees.iter().zip(&places) {
        image.add(&descriptor(tree.names, label, &sectors, places));
    }
    image.add(b"\xFFCD001\x01");
    for (tree, places) in trees.iter().zip(&places) {
        tree.write(places, &contents, &mut image)?;
    }
    for (_, bytes) in files {
        image.add(bytes);
    }
    image.pad(PADDING);
    Ok(image.0)
}

fn check_label(label: &str) -> Result<(), IsoError> {
    let problem = if label.is_empty() {
        "is empty"
    } else if label.contains(|c: char| c != ' ' && !c.is_ascii_graphic()) {
        "is not printable ASCII"
    } else if label.ends_with(' ') {
        "ends with a space, which readers cut off"
    } else if label.len() > MAX_LABEL {
        "is longer than 16 characters"
    } else {
        return Ok(());
    };
    Err(IsoError::Label { label: label.to_owned(), problem })
}

fn check_path(path: &str) -> Result<(), IsoError> {
    let problem = if path.is_empty() {
        "is empty"
    } else if path.starts_with('/') {
        "is not relative to the root of the volume"
    } else if path.contains('\0') {
        "contains a NUL character"
    } else if path.split('/').any(str::is_empty) {
        "has an empty component"
    } else if path.split('/').any(|name| name == "." || name == "..") {
        "has `.` or `..` as a component"
    } else if path.split('/').any(|name| name.len() > MAX_NAME) {
        "has a component longer than 253 bytes"
    } else if path.split('/').count() > MAX_DEPTH {
        "is nested deeper than 8 levels"
    } else {
        return Ok(());
    };
    Err(IsoError::Path { path: path.to_owned(), problem })
}

/// The names of one folder and what they stand for.
type Tree<'a> = BTreeMap<&'a str, Node<'a>>;

enum Node<'a> {
    /// The position in the caller's list.
    File(usize),
    Folder(Tree<'a>),
}

fn tree<'a>(files: &[(&'a str, &[u8])]) -> Result<Tree<'a>, IsoError> {
    let mut root = Tree::new();
    let mut entries = 0;
    for (file, (path, _)) in files.iter().enumerate() {
        check_path(path)?;
        let duplicate = || IsoError::Duplicate { path: (*path).to_owned() };
        let mut at = &mut root;
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let last = names.peek().is_none();
            let node = match at.entry(name) {
                Entry::Occupied(_) if last => return Err(duplicate()),
                Entry::Occupied(taken) => taken.into_mut(),
                Entry::Vacant(free) => {
                    entries += 1;
                    free.insert(if last { Node::File(file) } else { Node::Folder(Tree::new()) })
                }
            };
            match node {
                Node::Folder(inner) => at = inner,
                Node::File(_) if last => break,
                Node::File(_) => return Err(duplicate()),
            }
        }
    }
    if entries > MAX_ENTRIES { Err(IsoError::TooMany) } else { Ok(root) }
}

/// The two ways names are recorded in directories.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Upper case 8.3 in ASCII, the real name in Rock Ridge entries.
    Primary,
    /// Up to 64 characters of UCS-2.
    Joliet,
}

/// Name and extension. These pairs order as the records of a directory must
/// (9.3), because no character in them is below the space that pads them.
type Identifier = (String, String);

impl Names {
    /// The closest identifier to `name` that is not `taken`.
    fn identify<V>(self, name: &str, folder: bool, taken: &BTreeMap<Identifier, V>, clashes: &mut u32) -> Identifier {
        let (stem, extension) = self.split(name, folder);
        let (room, extension) = match self {
            Self::Primary => (8, cut(&extension, 3)),
            Self::Joliet if extension.is_empty() => (64, extension),
            Self::Joliet => {
                let extension = cut(&extension, 16);
                (63 - extension.chars().count(), extension)
            }
        };
        let mut identifier = (cut(&stem, room), extension);
        while taken.contains_key(&identifier) {
            *clashes += 1;
            let number = clashes.to_string();
            identifier.0 = cut(&stem, room - number.len()) + &number;
        }
        identifier
    }

    fn split(self, name: &str, folder: bool) -> Identifier {
        let name: String = name.chars().map(|c| self.allowed(c)).collect();
        // Readers of both trees cut off dots at the end.
        let kept = name.trim_end_matches('.');
        let name = format!("{kept}{}", "_".repeat(name.len() - kept.len()));
        match (self, name.rsplit_once('.')) {
            (Self::Joliet, Some((stem, extension))) if !stem.is_empty() => (stem.to_owned(), extension.to_owned()),
            (Self::Joliet, _) => (name, String::new()),
            (Self::Primary, Some((stem, extension))) if !stem.is_empty() && !folder => (stem.replace('.', "_"), extension.to_owned()),
            (Self::Primary, _) => (name.replace('.', "_"), String::new()),
        }
    }

    fn allowed(self, c: char) -> char {
        match self {
            Self::Primary if c.is_ascii_alphanumeric() || c == '.' => c.to_ascii_uppercase(),
            Self::Joliet if !c.is_control() && c.len_utf16() == 1 && !r"*/:;?\".contains(c) => c,
            _ => '_',
        }
    }

    /// The identifier as directory records and path tables hold it.
    fn record(self, (stem, extension): &Identifier, folder: bool) -> Vec<u8> {
        let bare = extension.is_empty() && (folder || self == Self::Joliet);
        let dot = if bare { "" } else { "." };
        let version = if folder { "" } else { ";1" };
        self.encode(&format!("{stem}{dot}{extension}{version}"))
    }

    fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Primary => text.into(),
            Self::Joliet => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }

    /// A text field of a volume descriptor.
    fn field(self, text: &str, width: usize) -> Vec<u8> {
        let blank = self.encode(" ");
        let mut field = self.encode(text);
        while field.len() + blank.len() <= width {
            field.extend(&blank);
        }
        field.resize(width, 0);
        field
    }
}

fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// One of the two directory trees, its folders in the order of the path table.
struct Hierarchy {
    names: Names,
    folders: Vec<Folder>,
    /// Rock Ridge entries that found no room in their directory record.
    continuation: Vec<u8>,
}

struct Folder {
    identifier: Vec<u8>,
    parent: usize,
    records: Vec<Record>,
}

struct Record {
    identifier: Vec<u8>,
    target: Target,
    entries: Vec<u8>,
    /// Sector and offset in the continuation area, and length there.
    continued: Option<[u32; 3]>,
}

#[derive(Clone, Copy)]
enum Target {
    /// The position in the caller's list.
    File(usize),
    /// The position in [`Hierarchy::folders`].
    Folder(usize),
}

/// Where the parts of a hierarchy are.
struct Places {
    little: Extent,
    big: Extent,
    folders: Vec<Extent>,
    continuation: Extent,
}

impl Hierarchy {
    /// Goes breadth first, which is the order of the path table (6.9.1).
    fn new(root: &Tree, names: Names) -> Result<Self, IsoError> {
        let mut folders = Vec::new();
        let mut continuation = Vec::new();
        let mut waiting = VecDeque::from([(root, root, vec![0], 0)]);
        while let Some((tree, above, identifier, parent)) = waiting.pop_front() {
            let number = folders.len();
            let mut own = Record::new(vec![0], Target::Folder(number));
            let mut up = Record::new(vec![1], Target::Folder(parent));
            if names == Names::Primary {
                own.entries = attributes(FOLDER_MODE, links(tree));
                up.entries = attributes(FOLDER_MODE, links(above));
                if number == 0 {
                    own.entries.splice(..0, entry(*b"SP", &[0xBE, 0xEF, 0]));
                    own.extend(&rock_ridge(), &mut continuation)?;
                }
            }
            let mut records = vec![own, up];
            for (identifier, (name, node)) in identified(tree, names) {
                let (mode, links, target) = match node {
                    Node::File(file) => (FILE_MODE, 1, Target::File(*file)),
                    Node::Folder(inner) => {
                        let identifier = names.record(&identifier, true);
                        waiting.push_back((inner, tree, identifier, number));
                        let number = number + waiting.len();
                        (FOLDER_MODE, links(inner), Target::Folder(number))
                    }
                };
                let folder = matches!(target, Target::Folder(_));
                let mut record = Record::new(names.record(&identifier, folder), target);
                if names == Names::Primary {
                    record.entries = attributes(mode, links);
                    record.extend(&alternate_name(name), &mut continuation)?;
                }
                records.push(record);
            }
            folders.push(Folder { identifier, parent, records });
        }
        Ok(Self { names, folders, continuation })
    }

    /// The continuation comes after the folders and before the files because
    /// libarchive, which reads front to back, refuses it elsewhere.
    fn place(&self, sectors: &mut Sectors) -> Result<Places, IsoError> {
        let record = |folder: &Folder| 8 + folder.identifier.len().next_multiple_of(2);
        let table = self.folders.iter().map(record).sum();
        let (little, big) = (sectors.take(table)?, sectors.take(table)?);
        let folders = self.folders.iter().map(|folder| sectors.take(folder.length()));
        Ok(Places { little, big, folders: folders.collect::<Result<_, _>>()?, continuation: sectors.take(self.continuation.len())? })
    }

    /// Adds the parts in the order in which [`Self::place`] placed them.
    fn write(&self, places: &Places, files: &[Extent], image: &mut Image) -> Result<(), IsoError> {
        image.add(&self.path_table(places, u32::to_le_bytes, u16::to_le_bytes)?);
        image.add(&self.path_table(places, u32::to_be_bytes, u16::to_be_bytes)?);
        for folder in &self.folders {
            image.add(&folder.write(places, files));
        }
        image.add(&self.continuation);
        Ok(())
    }

    /// The path table (9.4) in one of its two byte orders.
    fn path_table(&self, places: &Places, long: fn(u32) -> [u8; 4], short: fn(u16) -> [u8; 2]) -> Result<Vec<u8>, IsoError> {
        let mut table = Vec::new();
        for (folder, place) in self.folders.iter().zip(&places.folders) {
            let parent = u16::try_from(folder.parent + 1).map_err(|_| IsoError::TooMany)?;
            table.extend([byte(folder.identifier.len()), 0]);
            table.extend(long(place.sector));
            table.extend(short(parent));
            table.extend(&folder.identifier);
            table.resize(table.len().next_multiple_of(2), 0);
        }
        Ok(table)
    }
}

/// The entries of a folder under unique identifiers, in the order of those.
fn identified<'t, 'a>(tree: &'t Tree<'a>, names: Names) -> BTreeMap<Identifier, (&'a str, &'t Node<'a>)> {
    let mut entries = BTreeMap::new();
    let mut clashes = 0;
    for (name, node) in tree {
        let folder = matches!(node, Node::Folder(_));
        let identifier = names.identify(name, folder, &entries, &mut clashes);
        entries.insert(identifier, (*name, node));
    }
    entries
}

impl Folder {
    /// Records do not cross the border of a sector (6.8.1).
    fn length(&self) -> usize {
        let end = self.records.iter().fold(0, |at, record| start(at, record.length()) + record.length());
        end.next_multiple_of(SECTOR)
    }

    fn write(&self, places: &Places, files: &[Extent]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in &self.records {
            let (flags, extent) = match record.target {
                Target::File(file) => (0, files[file]),
                Target::Folder(folder) => (FOLDER, places.folders[folder]),
            };
            bytes.resize(start(bytes.len(), record.length()), 0);
            bytes.extend(record.write(flags, extent, places.continuation.sector));
        }
        bytes
    }
}

/// Where `length` bytes begin that follow `at` and stay within one sector.
fn start(at: usize, length: usize) -> usize {
    if at % SECTOR + length > SECTOR { at.next_multiple_of(SECTOR) } else { at }
}

impl Record {
    fn new(identifier: Vec<u8>, target: Target) -> Self {
        Self { identifier, target, entries: Vec::new(), continued: None }
    }

    fn length(&self) -> usize {
        let pointer = self.continued.map_or(0, |_| CE);
        let entries = (self.entries.len() + pointer).next_multiple_of(2);
        (33 + self.identifier.len()).next_multiple_of(2) + entries
    }

    /// Adds Rock Ridge entries, to the record if they fit and else to the
    /// `continuation`, where Linux wants them within one sector.
    fn extend(&mut self, entries: &[u8], continuation: &mut Vec<u8>) -> Result<(), IsoError> {
        if self.length() + entries.len() <= MAX_RECORD {
            self.entries.extend(entries);
            return Ok(());
        }
        let at = start(continuation.len(), entries.len());
        continuation.resize(at, 0);
        continuation.extend(entries);
        self.continued = Some([number(at / SECTOR)?, number(at % SECTOR)?, number(entries.len())?]);
        Ok(())
    }

    /// The directory record (9.1).
    fn write(&self, flags: u8, extent: Extent, continuation: u32) -> Vec<u8> {
        let mut bytes = vec![byte(self.length()), 0];
        bytes.extend(both(extent.sector));
        bytes.extend(both(extent.length));
        bytes.extend(RECORD_TIME);
        bytes.extend([flags, 0, 0]);
        bytes.extend(both_short(1));
        bytes.push(byte(self.identifier.len()));
        bytes.extend(&self.identifier);
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        bytes.extend(&self.entries);
        if let Some([sector, offset, length]) = self.continued {
            let place = [both(continuation + sector), both(offset), both(length)];
            bytes.extend(entry(*b"CE", &place.concat()));
        }
        bytes.resize(bytes.len().next_multiple_of(2), 0);
        bytes
    }
}

/// A System Use Sharing Protocol entry, the frame of everything Rock Ridge.
fn entry(signature: [u8; 2], body: &[u8]) -> Vec<u8> {
    let mut bytes = signature.to_vec();
    bytes.extend([byte(4 + body.len()), 1]);
    bytes.extend(body);
    bytes
}

/// `PX`: POSIX mode and links, owned by root.
fn attributes(mode: u32, links: u32) -> Vec<u8> {
    entry(*b"PX", &[both(mode), both(links), both(0), both(0)].concat())
}

/// A folder is named by its parent, by itself and by the folders in it.
fn links(tree: &Tree) -> u32 {
    tree.values().fold(2, |links, node| links + u32::from(matches!(node, Node::Folder(_))))
}

/// `NM`: the real name, in as many entries as it takes.
fn alternate_name(name: &str) -> Vec<u8> {
    let mut parts = name.as_bytes().chunks(MAX_NM).peekable();
    let mut bytes = Vec::new();
    while let Some(part) = parts.next() {
        let more = u8::from(parts.peek().is_some());
        bytes.extend(entry(*b"NM", &[&[more], part].concat()));
    }
    bytes
}

/// `ER`: says that the other entries are Rock Ridge. Texts from RRIP 1.09.
fn rock_ridge() -> Vec<u8> {
    let identifier = b"RRIP_1991A";
    let description = b"THE ROCK RIDGE INTERCHANGE PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS";
    let source = b"PLEASE CONTACT DISC PUBLISHER FOR SPECIFICATION SOURCE.  SEE PUBLISHER IDENTIFIER IN \
                   PRIMARY VOLUME DESCRIPTOR FOR CONTACT INFORMATION.";
    let lengths = [byte(identifier.len()), byte(description.len()), byte(source.len()), 1];
    entry(*b"ER", &[&lengths[..], identifier, description, source].concat())
}

/// Where something is in the volume, its length in bytes.
#[derive(Clone, Copy)]
struct Extent {
    sector: u32,
    length: u32,
}

/// Hands out sectors from the first to the last; holds the next.
struct Sectors(u32);

impl Sectors {
    fn take(&mut self, bytes: usize) -> Result<Extent, IsoError> {
        let extent = Extent { sector: self.0, length: number(bytes)? };
        let next = self.0.checked_add(number(bytes.div_ceil(SECTOR))?);
        let next = next.filter(|next| *next <= MAX_SECTORS);
        self.0 = next.ok_or(IsoError::TooLarge)?;
        Ok(extent)
    }
}

/// The primary (8.4) or the Joliet (8.5) volume descriptor.
fn descriptor(names: Names, label: &str, sectors: &Sectors, places: &Places) -> Vec<u8> {
    let (kind, escape): (u8, &[u8]) = match names {
        Names::Primary => (1, b""),
        Names::Joliet => (2, b"%/E"),
    };
    let root = Record::new(vec![0], Target::Folder(0));
    let mut bytes = vec![kind];
    bytes.extend(b"CD001\x01\0");
    bytes.extend(names.field("LINUX", 32));
    bytes.extend(names.field(label, 32));
    bytes.extend([0; 8]);
    bytes.extend(both(sectors.0));
    bytes.extend(escape);
    bytes.resize(120, 0);
    // One volume, the first of its set, in blocks of 2048 bytes.
    bytes.extend(both_short(1));
    bytes.extend(both_short(1));
    bytes.extend(both_short(2048));
    bytes.extend(both(places.little.length));
    bytes.extend(places.little.sector.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(places.big.sector.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(root.write(FOLDER, places.folders[0], 0));
    // Volume set, publisher, preparer, application; copyright, abstract and
    // bibliography files.
    for width in [128, 128, 128, 128, 37, 37, 37] {
        bytes.extend(names.field("", width));
    }
    // Created and changed; never expires, in force from the start.
    for time in [VOLUME_TIME, VOLUME_TIME, NO_TIME, NO_TIME] {
        bytes.extend(time);
    }
    bytes.push(1);
    bytes
}

struct Image(Vec<u8>);

impl Image {
    fn new(sectors: &Sectors) -> Result<Self, IsoError> {
        let mut bytes = Vec::new();
        let room = bytes.try_reserve_exact(sectors.0 as usize * SECTOR);
        room.map_err(|_| IsoError::TooLarge)?;
        Ok(Self(bytes))
    }

    /// Adds `bytes`, filled up to whole sectors.
    fn add(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(SECTOR), 0);
    }

    fn pad(&mut self, sectors: usize) {
        self.0.resize(self.0.len() + sectors * SECTOR, 0);
    }
}

fn number(number: usize) -> Result<u32, IsoError> {
    u32::try_from(number).map_err(|_| IsoError::TooLarge)
}

/// A number in both byte orders, the little end first (7.3.3).
fn both(number: u32) -> [u8; 8] {
    (u64::from(number) | u64::from(number.swap_bytes()) << 32).to_le_bytes()
}

/// The same with 16 bits (7.2.3).
fn both_short(number: u16) -> [u8; 4] {
    (u32::from(number) | u32::from(number.swap_bytes()) << 16).to_le_bytes()
}

/// A length that the limits at the top keep below 256.
fn byte(length: usize) -> u8 {
    length.to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Command;

    const MEDIA: &[(&str, &[u8])] = &[
        ("user-data", b"#cloud-config\n"),
        ("meta-data", b"instance-id: cp-1\n"),
        ("network-config", b""),
        ("openstack/latest/user_data", &[7; 2 * SECTOR + 1]),
        ("openstack/latest/user_data.json", b"{}"),
        ("openstack/content/0000", &[9; SECTOR]),
    ];

    fn files<'a>(owned: &'a [(String, Vec<u8>)]) -> Vec<(&'a str, &'a [u8])> {
        let borrow = |(path, bytes): &'a (String, Vec<u8>)| (path.as_str(), bytes.as_slice());
        owned.iter().map(borrow).collect()
    }

    /// Paths and contents as a reader of one of the trees finds them, parsed
    /// without the code above and strict where readers are lenient.
    struct Reader<'a> {
        image: &'a [u8],
        descriptor: &'a [u8],
        found: BTreeMap<String, Vec<u8>>,
        folders: Vec<(u32, u16)>,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum By {
        Identifier,
        RockRidge,
        Joliet,
    }

    impl<'a> Reader<'a> {
        fn read(image: &'a [u8], by: By) -> BTreeMap<String, Vec<u8>> {
            assert_eq!(image.len() % SECTOR, 0);
            let at = 16 + usize::from(by == By::Joliet);
            let descriptor = &image[at * SECTOR..(at + 1) * SECTOR];
            assert_eq!(&descriptor[1..7], b"CD001\x01");
            let mut reader = Self { image, descriptor, found: BTreeMap::new(), folders: Vec::new() };
            assert_eq!(long(&descriptor[80..]) as usize * SECTOR, image.len());
            let root = &descriptor[156..190];
            let mut waiting = VecDeque::from([(root, String::new(), root, 1)]);
            while let Some((record, path, parent, number)) = waiting.pop_front() {
                reader.folders.push((long(&record[2..]), number));
                let number = u16::try_from(reader.folders.len()).unwrap();
                for child in reader.folder(record, parent, by) {
                    let path = format!("{path}{}", reader.name(child, by));
                    if child[25] == 2 {
                        waiting.push_back((child, path + "/", record, number));
                    } else {
                        let bytes = reader.extent(child).to_vec();
                        assert_eq!(reader.found.insert(path, bytes), None);
                    }
                }
            }
            reader.check_path_tables();
            reader.found
        }

        fn extent(&self, record: &[u8]) -> &'a [u8] {
            let start = long(&record[2..]) as usize * SECTOR;
            &self.image[start..start + long(&record[10..]) as usize]
        }

        fn folder(&self, record: &[u8], parent: &[u8], by: By) -> Vec<&'a [u8]> {
            let bytes = self.extent(record);
            assert_eq!(bytes.len() % SECTOR, 0);
            let mut records = Vec::new();
            for sector in bytes.chunks(SECTOR) {
                let mut rest = sector;
                while rest.first().is_some_and(|length| *length > 0) {
                    let (record, after) = rest.split_at(usize::from(rest[0]));
                    assert_eq!(record.len() % 2, 0);
                    assert_eq!(record[18..25], RECORD_TIME);
                    records.push(record);
                    rest = after;
                }
                assert!(rest.iter().all(|byte| *byte == 0));
            }
            assert_eq!(records[0][33..34], [0]);
            assert_eq!(records[0][2..18], record[2..18]);
            assert_eq!(records[1][33..34], [1]);
            assert_eq!(records[1][2..18], parent[2..18]);
            let records = records.split_off(2);
            let key = |record: &[u8]| {
                let name = self.name(record, if by == By::Joliet { by } else { By::Identifier });
                let parts = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
                let (stem, extension) = parts.unwrap_or((&name, ""));
                (format!("{stem:8}"), format!("{extension:3}"))
            };
            assert!(records.is_sorted_by(|a, b| key(a) < key(b)));
            records
        }

        fn name(&self, record: &[u8], by: By) -> String {
            let length = usize::from(record[32]);
            let identifier = &record[33..33 + length];
            let name = match by {
                By::Identifier => String::from_utf8(identifier.to_vec()).unwrap(),
                By::Joliet => {
                    let units = identifier.chunks(2).map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
                    String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
                }
                By::RockRidge => {
                    let mut name = Vec::new();
                    let mut entries = &record[33 + (length | 1)..];
                    while let [a, b, size, 1, ..] = entries {
                        let (entry, rest) = entries.split_at(usize::from(*size));
                        entries = rest;
                        match [a, b] {
                            [b'N', b'M'] => name.extend(&entry[5..]),
                            [b'C', b'E'] => {
                                let offset = long(&entry[12..]) as usize;
                                let end = offset + long(&entry[20..]) as usize;
                                assert!(end <= SECTOR);
                                let sector = long(&entry[4..]) as usize * SECTOR;
                                entries = &self.image[sector + offset..sector + end];
                            }
                            _ => {}
                        }
                    }
                    return String::from_utf8(name).unwrap();
                }
            };
            name.strip_suffix(";1").unwrap_or(&name).to_owned()
        }

        fn check_path_tables(&self) {
            let size = long(&self.descriptor[132..]) as usize;
            let little = u32::from_le_bytes(self.descriptor[140..144].try_into().unwrap());
            let big = u32::from_be_bytes(self.descriptor[148..152].try_into().unwrap());
            for (table, big) in [(little, false), (big, true)] {
                let mut table = &self.image[table as usize * SECTOR..][..size];
                let mut folders = Vec::new();
                while !table.is_empty() {
                    let mut sector: [u8; 4] = table[2..6].try_into().unwrap();
                    let mut parent: [u8; 2] = table[6..8].try_into().unwrap();
                    if big {
                        sector.reverse();
                        parent.reverse();
                    }
                    folders.push((u32::from_le_bytes(sector), u16::from_le_bytes(parent)));
                    table = &table[8 + usize::from(table[0]).next_multiple_of(2)..];
                }
                assert_eq!(folders, self.folders);
            }
        }
    }

    fn long(both: &[u8]) -> u32 {
        let little = u32::from_le_bytes(both[..4].try_into().unwrap());
        assert_eq!(little, u32::from_be_bytes(both[4..8].try_into().unwrap()));
        little
    }

    #[test]
    fn every_file_is_found_under_its_names() {
        let image = volume("cidata", MEDIA).unwrap();
        let given = MEDIA.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()));
        let given: BTreeMap<_, _> = given.collect();
        assert_eq!(Reader::read(&image, By::RockRidge), given);
        assert_eq!(Reader::read(&image, By::Joliet), given);
        let identifiers: Vec<_> = Reader::read(&image, By::Identifier).into_keys().collect();
        assert_eq!(
            identifiers,
            ["META_DAT.", "NETWORK_.", "OPENSTAC/CONTENT/0000.", "OPENSTAC/LATEST/USER_DAT.", "OPENSTAC/LATEST/USER_DAT.JSO", "USER_DAT.",]
        );
    }

    #[test]
    fn the_label_is_kept_in_both_descriptors() {
        let image = volume("metal-iso", &[("config.yaml", b"")]).unwrap();
        let label = |sector: usize| &image[sector * SECTOR + 40..sector * SECTOR + 72];
        assert_eq!(label(16), format!("{:32}", "metal-iso").as_bytes());
        let joliet: Vec<_> = format!("{:16}", "metal-iso").bytes().flat_map(|c| [0, c]).collect();
        assert_eq!(label(17), joliet);
        assert_eq!(image[17 * SECTOR + 88..][..3], *b"%/E");
    }

    #[test]
    fn the_same_files_give_the_same_bytes_everywhere() {
        let image = volume("cidata", MEDIA).unwrap();
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = image.iter().fold(0xcbf2_9ce4_8422_2325, fnv);
        assert_eq!((image.len(), hash), (387_072, 0x6e98_a8b2_9270_4724));
    }

    #[test]
    fn folders_may_be_longer_than_a_sector() {
        let mut owned = Vec::new();
        for n in 0..300_u32 {
            owned.push((format!("many/same-long-name-{n:03}.yaml"), n.to_be_bytes().to_vec()));
            owned.push((format!("folder-{n}/file"), n.to_le_bytes().to_vec()));
        }
        let image = volume("cidata", &files(&owned)).unwrap();
        let given: BTreeMap<_, _> = owned.iter().cloned().collect();
        assert_eq!(Reader::read(&image, By::RockRidge), given);
        assert_eq!(Reader::read(&image, By::Joliet), given);
        assert_eq!(Reader::read(&image, By::Identifier).len(), given.len());
    }

    #[test]
    fn long_names_are_continued_elsewhere() {
        // Around the longest name that fits its record, and enough of the
        // longest to fill more than a sector with continuations.
        let mut names: Vec<_> = (150..190).map(|length| "n".repeat(length)).collect();
        names.extend(('a'..='z').map(|c| c.to_string().repeat(MAX_NAME)));
        let owned: Vec<_> = names.iter().map(|name| (name.clone(), name.clone().into_bytes())).collect();
        let image = volume("cidata", &files(&owned)).unwrap();
        assert_eq!(Reader::read(&image, By::RockRidge), owned.iter().cloned().collect());
        let joliet = Reader::read(&image, By::Joliet);
        assert_eq!(joliet.len(), owned.len());
        assert!(joliet.keys().all(|name| name.len() == 64));
    }

    #[test]
    fn names_that_a_tree_cannot_hold_are_approximated_there() {
        let names = [".hidden", "...", "..x", "a.b/c", "a.tar.gz", "a?b", "a*b", "end.", "gr\u{fc}n", "\u{1f600}"];
        let media: Vec<(&str, &[u8])> = names.iter().map(|name| (*name, name.as_bytes())).collect();
        let image = volume("cidata", &media).unwrap();
        let given: BTreeMap<_, _> = names.iter().map(|name| ((*name).to_owned(), name.as_bytes().to_vec())).collect();
        assert_eq!(Reader::read(&image, By::RockRidge), given);
        let listed = |by| Reader::read(&image, by).into_keys().collect::<Vec<_>>().join(" ");
        assert_eq!(listed(By::Joliet), "..x .hidden _ ___ a.b/c a.tar.gz a_b a_b1 end_ gr\u{fc}n");
        assert_eq!(listed(By::Identifier), "A_B. A_B1/C. A_B2. A_TAR.GZ END_. GR_N. _. _.X _HIDDEN. ___.");
    }

    #[test]
    fn what_cannot_be_recorded_is_refused() {
        let label = |label| volume(label, MEDIA).unwrap_err().to_string();
        assert_eq!(label(""), r#"volume label "" is empty"#);
        assert_eq!(label("a\nb"), r#"volume label "a\nb" is not printable ASCII"#);
        assert_eq!(label("caf\u{e9}"), "volume label \"caf\u{e9}\" is not printable ASCII");
        assert_eq!(label("a "), r#"volume label "a " ends with a space, which readers cut off"#);
        assert_eq!(label("seventeen-letters"), r#"volume label "seventeen-letters" is longer than 16 characters"#);
        assert!(volume("sixteen-letters!", MEDIA).is_ok());

        let paths = |paths: &[&str]| {
            let files: Vec<(&str, &[u8])> = paths.iter().map(|path| (*path, &b""[..])).collect();
            volume("cidata", &files).unwrap_err().to_string()
        };
        assert_eq!(paths(&[""]), r#"path "" is empty"#);
        assert_eq!(paths(&["/a"]), r#"path "/a" is not relative to the root of the volume"#);
        assert_eq!(paths(&["a\0"]), r#"path "a\0" contains a NUL character"#);
        assert_eq!(paths(&["a//b"]), r#"path "a//b" has an empty component"#);
        assert_eq!(paths(&["a/"]), r#"path "a/" has an empty component"#);
        assert_eq!(paths(&["a/../b"]), r#"path "a/../b" has `.` or `..` as a component"#);
        assert_eq!(paths(&["./b"]), r#"path "./b" has `.` or `..` as a component"#);
        assert!(paths(&["n".repeat(254).as_str()]).ends_with("has a component longer than 253 bytes"));
        assert_eq!(paths(&["1/2/3/4/5/6/7/8/file"]), r#"path "1/2/3/4/5/6/7/8/file" is nested deeper than 8 levels"#);
        assert!(volume("cidata", &[("1/2/3/4/5/6/7/file", b"")]).is_ok());
        assert_eq!(paths(&["a", "b", "a"]), r#"path "a" is taken by another file"#);
        assert_eq!(paths(&["a", "a/b"]), r#"path "a/b" is taken by another file"#);
        assert_eq!(paths(&["a/b", "a"]), r#"path "a" is taken by another file"#);
    }

    #[test]
    fn there_is_a_limit_to_size_and_number() {
        let names: Vec<_> = (0..=MAX_ENTRIES).map(|n| n.to_string()).collect();
        let mut media: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
        assert_eq!(volume("cidata", &media), Err(IsoError::TooMany));

        let large = vec![0; 64 << 20];
        media.truncate(64);
        for (_, bytes) in &mut media {
            *bytes = &large;
        }
        assert_eq!(volume("cidata", &media), Err(IsoError::TooLarge));
    }

    #[test]
    fn isoinfo_reads_the_same() {
        let image = std::env::temp_dir().join(format!("emhost-{}.iso", std::process::id()));
        std::fs::write(&image, volume("cidata", MEDIA).unwrap()).unwrap();
        let isoinfo = |arguments: &[&str]| {
            let mut command = Command::new("isoinfo");
            command.arg("-i").arg(&image).args(arguments).output()
        };
        let about = isoinfo(&["-d"]);
        if let Ok(about) = &about {
            let about = String::from_utf8_lossy(&about.stdout);
            assert!(about.contains("Volume id: cidata\n"), "{about}");
            for (path, bytes) in MEDIA {
                let rock_ridge = isoinfo(&["-R", "-x", &format!("/{path}")]).unwrap();
                assert_eq!(rock_ridge.stdout, *bytes, "{path}");
                let joliet = isoinfo(&["-J", "-x", &format!("/{path};1")]).unwrap();
                assert_eq!(joliet.stdout, *bytes, "{path}");
            }
        } else {
            // Not with `eprintln!`, which the test runner swallows.
            let skipped = "SKIPPED: isoinfo_reads_the_same: no isoinfo here (package genisoimage)";
            writeln!(std::io::stderr(), "{skipped}").unwrap();
        }
        std::fs::remove_file(&image).unwrap();
    }
}

//! Keeps secret values and terminal control out of everything that people or files see.
//!
//! A secret seldom leaks the way it was stored: it comes back JSON-escaped in an error body, percent-encoded in a URL,
//! as base64 in a header. So a learned value is spelled out in every form it is likely to take, and the forms are what
//! is searched for.
//!
//! Forms can be long and many (a private key has hundreds of kilobytes of them), so the automaton knows only the first
//! few bytes of each, its head; the rest is compared in place. That keeps rebuilding cheap while a run learns more.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

/// How much of a form the automaton knows. Chance hits must be rare and heads few: eight bytes do both.
const HEAD: usize = 8;

/// A shorter line of a multi-line value is too likely to be found in text that has nothing to do with it.
const SHORTEST_LINE: usize = 8;

/// A shorter value of a `key: value` line is more likely a word than a token.
const SHORTEST_VALUE: usize = 16;

/// The secrets of one run, to be taken out of whatever leaves it.
///
/// Clones share what they know, because secrets are learned in one place (a plugin reads one) and must be gone in all
/// others (log, journal, terminal) from that moment on.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    secrets: Vec<Arc<Secret>>,
    /// Absent after something was learned, until somebody searches.
    index: Option<Arc<Index>>,
}

impl Redactor {
    /// Values under this length cannot be kept out of text without ruining it; callers refuse them.
    pub const SHORTEST: usize = 4;

    /// A redactor that knows nothing yet and so changes nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns a secret's value and every form of it that is to be found again.
    ///
    /// Values that are too short or blank are ignored: hiding them would hide everything else. Learning what is known
    /// costs next to nothing, so callers need not keep track.
    pub fn learn(&self, name: &str, value: &[u8]) {
        if value.len() < Self::SHORTEST || value.trim_ascii().is_empty() || self.knows(name, value) {
            return;
        }
        let secret = Arc::new(Secret::new(name, value));
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !known.secrets.iter().any(|other| other.is(name, value)) {
            known.secrets.push(secret);
            known.index = None;
        }
    }

    /// One that knows what this one knows, and keeps to itself what it learns.
    ///
    /// For a call whose answer is handed over whole, such as a kubeconfig: its lines (addresses, names) are no secrets to the rest of the run.
    #[must_use]
    pub fn apart(&self) -> Self {
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner).secrets.clone();
        Self(Arc::new(RwLock::new(Known { secrets, index: None })))
    }

    /// `text` with each occurrence replaced by `(secret NAME)`; borrowed when nothing was found.
    ///
    /// Occurrences of one secret that touch become one replacement, so that their number tells nothing.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let index = self.index();
        let mut spans: Vec<Span> = index.spans(text.as_bytes()).collect();
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        for span in &mut spans {
            // A value may be any bytes, so it can begin or end inside a character.
            span.start = text.floor_char_boundary(span.start);
            span.end = text.ceil_char_boundary(span.end);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut done = 0;
        for span in index.joined(spans) {
            redacted.push_str(&text[done..span.start]);
            redacted.push_str("(secret ");
            redacted.push_str(index.name(span.secret));
            redacted.push(')');
            done = span.end;
        }
        redacted.push_str(&text[done..]);
        Cow::Owned(redacted)
    }

    /// The name of a secret that occurs in it, if any; for places that refuse rather than repair.
    #[must_use]
    pub fn finds(&self, bytes: &[u8]) -> Option<String> {
        let index = self.index();
        let span = index.spans(bytes).next()?;
        Some(index.name(span.secret).to_owned())
    }

    /// A masker for byte streams that keeps the length: found bytes become `*`, also across chunk borders.
    ///
    /// It knows what is known now; what is learned later needs a new one.
    #[must_use]
    pub fn stream(&self) -> StreamMasker {
        StreamMasker { index: self.index(), held: Zeroizing::default(), starts: Vec::new(), covered: 0, open: Vec::new() }
    }

    /// The bytes with what was found masked, for those that are there whole.
    #[must_use]
    pub fn masked(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.stream();
        let mut masked = stream.push(bytes);
        masked.extend(stream.finish());
        masked
    }

    fn knows(&self, name: &str, value: &[u8]) -> bool {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.secrets.iter().any(|secret| secret.is(name, value))
    }

    fn index(&self) -> Arc<Index> {
        if let Some(index) = &self.0.read().unwrap_or_else(PoisonError::into_inner).index {
            return Arc::clone(index);
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Known { secrets, index } = &mut *known;
        Arc::clone(index.get_or_insert_with(|| Arc::new(Index::new(secrets.clone()))))
    }
}

/// Names only: a redactor sits in structures that get printed.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let names: Vec<&str> = known.secrets.iter().map(|secret| secret.name.as_str()).collect();
        f.debug_tuple("Redactor").field(&names).finish()
    }
}

/// Masks a stream as it passes, without waiting for its end.
///
/// As much comes out as went in, so that lengths announced elsewhere stay true. It holds back only what could still
/// turn out to be the start of a secret.
pub struct StreamMasker {
    index: Arc<Index>,
    held: Zeroizing<Vec<u8>>,
    /// For each held byte, the length of the longest secret found to start there.
    starts: Vec<usize>,
    /// How many of the held bytes belong to secrets that started in bytes already given.
    covered: usize,
    /// Forms that agree with everything from some held byte up to the end.
    open: Vec<Open>,
}

struct Open {
    at: usize,
    agreed: usize,
    entry: usize,
}

impl StreamMasker {
    /// Takes the next bytes and gives those whose fate is now known.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        let Self { index, held, starts, open, .. } = self;
        let Some(heads) = &index.heads else {
            return vec![b'*'; chunk.len()];
        };
        if index.secrets.is_empty() {
            return chunk.to_vec();
        }
        let seen = held.len();
        held.extend_from_slice(chunk);
        starts.resize(held.len(), 0);

        let mut stays_open = |candidate: &mut Open| {
            let form = index.form(candidate.entry);
            candidate.agreed = form.agrees(&held[candidate.at..], candidate.agreed);
            if let Some(stop) = form.found(candidate.agreed) {
                starts[candidate.at] = starts[candidate.at].max(stop);
            }
            candidate.agreed < form.bytes.len() && candidate.at + candidate.agreed == held.len()
        };
        open.retain_mut(&mut stays_open);
        // A head that ends among the new bytes may begin among the old ones.
        let from = seen.saturating_sub(HEAD - 1);
        for head in heads.find_overlapping_iter(&held[from..]).filter(|head| from + head.end() > seen) {
            for entry in index.groups[head.pattern().as_usize()].clone() {
                let mut candidate = Open { at: from + head.start(), agreed: head.len(), entry };
                if stays_open(&mut candidate) {
                    open.push(candidate);
                }
            }
        }

        let begun = held.len() - index.begun_head(held);
        let ready = open.iter().map(|candidate| candidate.at).min().map_or(begun, |at| at.min(begun));
        self.release(ready)
    }

    /// Ends the stream and gives what was held back.
    pub fn finish(&mut self) -> Vec<u8> {
        self.open.clear();
        self.release(self.held.len())
    }

    fn release(&mut self, count: usize) -> Vec<u8> {
        for candidate in &mut self.open {
            candidate.at -= count;
        }
        let mut given = Vec::with_capacity(count);
        for (byte, start) in self.held.drain(..count).zip(self.starts.drain(..count)) {
            self.covered = self.covered.max(start);
            given.push(if self.covered > 0 { b'*' } else { byte });
            self.covered = self.covered.saturating_sub(1);
        }
        given
    }
}

/// Held bytes may be a secret's.
impl fmt::Debug for StreamMasker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamMasker").field("held", &self.held.len()).finish_non_exhaustive()
    }
}

/// Where a secret was found.
struct Span {
    start: usize,
    end: usize,
    secret: usize,
}

/// What is searched with: a snapshot, so that searches hold no lock.
struct Index {
    secrets: Vec<Arc<Secret>>,
    /// Finds the head of each group. Its copies of heads are the one place where values are not zeroized: the automaton
    /// offers no way to. Absent if it could not be built; then everything counts as secret.
    heads: Option<AhoCorasick>,
    /// The entries that share a head, in the order of heads.
    groups: Vec<Range<usize>>,
    /// Secret and form, sorted by head.
    entries: Vec<(usize, usize)>,
}

impl Index {
    fn new(secrets: Vec<Arc<Secret>>) -> Self {
        let mut entries: Vec<(usize, usize)> = Vec::new();
        for (number, secret) in secrets.iter().enumerate() {
            entries.extend((0..secret.forms.len()).map(|form| (number, form)));
        }
        let head = |&(secret, form): &(usize, usize)| secrets[secret].forms[form].head();
        entries.sort_by(|a, b| head(a).cmp(head(b)));
        let mut start = 0;
        let mut groups = Vec::new();
        for group in entries.chunk_by(|a, b| head(a) == head(b)) {
            groups.push(start..start + group.len());
            start += group.len();
        }
        // The standard kind, because it alone reports overlapping hits: of two secrets that overlap in a text, the
        // leftmost-longest kinds would leave the end of the second one standing.
        let heads = AhoCorasick::new(groups.iter().map(|group| head(&entries[group.start]))).ok();
        Self { secrets, heads, groups, entries }
    }

    fn form(&self, entry: usize) -> &Form {
        let (secret, form) = self.entries[entry];
        &self.secrets[secret].forms[form]
    }

    fn name(&self, secret: usize) -> &str {
        self.secrets.get(secret).map_or("", |secret| &secret.name)
    }

    /// Every occurrence, overlapping ones too; of those with the same head and start, the longest.
    fn spans<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = Span> + 'a {
        let everything = self.heads.is_none().then_some(Span { start: 0, end: bytes.len(), secret: 0 });
        let heads = self.heads.iter().filter(|_| !self.secrets.is_empty());
        let hits = heads.flat_map(move |heads| heads.find_overlapping_iter(bytes)).filter_map(move |head| {
            let rest = &bytes[head.start()..];
            let found = self.groups[head.pattern().as_usize()].clone().filter_map(|entry| {
                let form = self.form(entry);
                Some((form.found(form.agrees(rest, head.len()))?, self.entries[entry].0))
            });
            // `rev`, because of equal ones `max_by_key` takes the last and the first name learned is to win.
            let (length, secret) = found.rev().max_by_key(|(length, _)| *length)?;
            Some(Span { start: head.start(), end: head.start() + length, secret })
        });
        everything.into_iter().chain(hits)
    }

    /// The spans in order and apart from each other: leftmost first, the longest of those, and of later ones the part
    /// that sticks out.
    fn joined(&self, mut spans: Vec<Span>) -> Vec<Span> {
        spans.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
        let mut apart: Vec<Span> = Vec::new();
        for span in spans {
            match apart.last_mut() {
                Some(last) if span.end <= last.end => {}
                Some(last) if span.start <= last.end && self.name(span.secret) == self.name(last.secret) => {
                    last.end = span.end;
                }
                Some(last) => {
                    let start = span.start.max(last.end);
                    apart.push(Span { start, ..span });
                }
                None => apart.push(span),
            }
        }
        apart
    }

    /// How many bytes at the end are the start of a head that is not complete yet.
    fn begun_head(&self, bytes: &[u8]) -> usize {
        let head = |group: &Range<usize>| self.form(group.start).head();
        let begun = |length: &usize| {
            let end = &bytes[bytes.len() - length..];
            let first = self.groups.partition_point(|group| head(group) <= end);
            self.groups.get(first).is_some_and(|group| head(group).starts_with(end))
        };
        (1..HEAD.min(bytes.len() + 1)).rev().find(begun).unwrap_or(0)
    }
}

struct Secret {
    name: String,
    value: Zeroizing<Vec<u8>>,
    forms: Vec<Form>,
}

impl Secret {
    fn new(name: &str, value: &[u8]) -> Self {
        Self { name: name.to_owned(), value: Zeroizing::new(value.to_vec()), forms: Forms::of(value) }
    }

    fn is(&self, name: &str, value: &[u8]) -> bool {
        self.name == name && self.value.as_slice() == value
    }
}

/// One or several spellings of a secret that begin alike.
struct Form {
    bytes: Zeroizing<Vec<u8>>,
    /// The lengths at which these bytes are a spelling, shortest first. Never empty, none under [`Redactor::SHORTEST`].
    stops: Vec<usize>,
}

impl Form {
    fn head(&self) -> &[u8] {
        let shortest = self.stops.first().copied().unwrap_or(HEAD);
        &self.bytes[..shortest.min(HEAD).min(self.bytes.len())]
    }

    /// How far `text` agrees with this form, given that it does so for `known` bytes.
    fn agrees(&self, text: &[u8], known: usize) -> usize {
        let end = self.bytes.len().min(text.len());
        if self.bytes[known..end] == text[known..end] {
            return end;
        }
        (known..end).find(|&at| self.bytes[at] != text[at]).unwrap_or(end)
    }

    /// The longest spelling within the first `agreed` bytes.
    fn found(&self, agreed: usize) -> Option<usize> {
        self.stops.iter().copied().take_while(|&stop| stop <= agreed).last()
    }
}

/// What of a line is secret by itself.
///
/// A kubeconfig is a secret too, and most of its lines are in every other one: of `key: value` only a value counts that
/// is long enough to be a token, and no plain address.
fn secret_part(line: &[u8]) -> Option<&[u8]> {
    let length = |text: &[u8]| text.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    if line.starts_with(b"-----") || length(line) < SHORTEST_LINE {
        return None;
    }
    let first = line.strip_prefix(b"- ").unwrap_or(line);
    let colon = first.iter().position(|&byte| byte == b':').filter(|&at| first.get(at + 1).is_none_or(|&byte| byte == b' '));
    let is_key = |key: &[u8]| !key.is_empty() && key.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.\"'".contains(byte));
    let Some(at) = colon.filter(|&at| is_key(&first[..at])) else { return Some(line) };
    let value = first[at + 1..].trim_ascii();
    let address = value.starts_with(b"http") && !value.contains(&b'@');
    (length(value) >= SHORTEST_VALUE && !address).then_some(value)
}

/// Collects the spellings of one value.
///
/// Buffers are made large enough at once where that is easy: a buffer that grows leaves copies that nobody zeroizes.
#[derive(Default)]
struct Forms(Vec<Form>);

/// What percent-encoders leave alone besides letters and digits.
const KEPT_BY_PERCENT: [&[u8]; 13] = [
    b"-._~",                          // RFC 3986
    b"-._~!'()*",                     // encodeURIComponent
    b"-._~!'()*;,/?:@&=+$#",          // encodeURI
    b"-._~/",                         // Python
    b"-._~$&+=:@",                    // a path segment in Go
    b"-._*",                          // HTML forms, and `Url::query_pairs_mut`
    b"-._~/:@!=+",                    // paths, as browsers show them
    b"-._~/:@!=+$&'()*,;",            // paths, all that RFC 3986 allows
    b"-._~/:@!=+$&'()*,;%[\\]|^",     // paths of the URL standard, and so in errors of reqwest
    b"-._~:@!=+$&'()*,;[\\]|^",       // one segment of such a path
    b"-._~!+$&'()*,%",                // user and password of such a URL
    b"-._~/:@!=+$&'()*,;%[\\]|^?`{}", // its query
    b"-._~/:@!=+$&()*,;%[\\]|^?`{}",  // its query under http and https
];

/// What JSON writers escape besides what they must.
const ESCAPED_BY_JSON: [fn(char) -> bool; 5] = [
    |_| false,                                                  // serde_json, JSON.stringify
    |c| c == '/',                                               // for embedding in HTML
    |c| matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'), // Go
    |c| !c.is_ascii(),                                          // Python
    |c| c == '/' || !c.is_ascii(),                              // PHP
];

/// How double and single quotes are written in HTML and XML.
const QUOTES: [(&str, &str); 6] =
    [("&quot;", "&#39;"), ("&quot;", "&apos;"), ("&quot;", "&#x27;"), ("&#34;", "&#39;"), ("&quot;", "'"), ("\"", "'")];

impl Forms {
    fn of(value: &[u8]) -> Vec<Form> {
        let unix = replace(value, b"\r\n", b"\n");
        let dos = replace(&unix, b"\n", b"\r\n");
        let wholes: BTreeSet<&[u8]> = [value, &unix, &dos].into_iter().flat_map(|whole| [whole, whole.trim_ascii()]).collect();
        let mut forms = Self::default();
        for whole in wholes.into_iter().filter(|whole| whole.len() >= Redactor::SHORTEST) {
            forms.add_encodings(whole);
            forms.add_encodings_of_encodings(whole);
        }
        // A key is often shown without its armour, indented, or only in part.
        let lines: BTreeSet<&[u8]> = unix.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).collect();
        for line in lines.into_iter().filter_map(secret_part) {
            forms.add_encodings(line);
        }
        forms.folded()
    }

    fn add(&mut self, spelling: impl Into<Vec<u8>>) {
        let bytes = Zeroizing::new(spelling.into());
        let stops = vec![bytes.len()];
        self.0.push(Form { bytes, stops });
    }

    fn add_encodings(&mut self, value: &[u8]) {
        let text = Zeroizing::new(String::from_utf8_lossy(value).into_owned());
        self.add(value);
        self.add(text.as_str());
        // Text may have been made printable before it gets here.
        let shown = Zeroizing::new(printable(&text));
        self.add(shown.as_str());
        self.add(substituted(shown.as_bytes(), &[(b'\n', b' '), (b'\t', b' ')]));
        for also in distinct_for(&text) {
            self.add(json(&text, also));
        }
        self.add(debug(&text));
        let mut escaped = Vec::with_capacity(room(value, 4));
        escaped.extend(value.escape_ascii());
        self.add(escaped);
        for (double, single) in QUOTES {
            self.add(markup(&text, double, single));
            if !text.contains(['"', '\'']) {
                break;
            }
        }
        // Most sets differ in nothing that occurs in this value.
        let special: BTreeSet<u8> = value.iter().copied().filter(|byte| !byte.is_ascii_alphanumeric()).collect();
        let kept: BTreeSet<Vec<u8>> =
            KEPT_BY_PERCENT.iter().map(|kept| special.iter().copied().filter(|byte| kept.contains(byte)).collect()).collect();
        let spaces: &[&str] = if special.contains(&b' ') { &["%20", "+"] } else { &["%20"] };
        for kept in &kept {
            for space in spaces {
                self.add(percent(value, kept, space, HEX_LOWER));
                self.add(percent(value, kept, space, HEX_UPPER));
            }
        }
        self.add(hex(value, HEX_LOWER));
        self.add(hex(value, HEX_UPPER));
        self.0.extend(base64_in_any_place(value, &[value.len()]));
    }

    fn add_encodings_of_encodings(&mut self, value: &[u8]) {
        let text = Zeroizing::new(String::from_utf8_lossy(value).into_owned());
        for also in distinct_for(&text) {
            let once = Zeroizing::new(json(&text, also));
            self.add(json(&once, |_| false));
            self.add(json(&once, also));
        }
        for inner in base64_in_any_place(value, &[value.len()]) {
            self.0.extend(base64_in_any_place(&inner.bytes, &inner.stops));
        }
        // Bytes as lists of numbers: `{:?}` of a `Vec<u8>`, and the same in JSON.
        for separator in [", ", ","] {
            let mut numbers = String::with_capacity(value.len() * 5);
            for byte in value {
                let _ = write!(numbers, "{byte}{separator}");
            }
            numbers.truncate(numbers.len() - separator.len());
            self.add(numbers);
        }
    }

    /// Without duplicates, and each spelling that begins a longer one as a stop of that: the many that differ only in
    /// their end (with and without a newline, base64 with and without padding) are kept and compared once.
    fn folded(mut self) -> Vec<Form> {
        for form in &mut self.0 {
            form.stops.retain(|&stop| stop >= Redactor::SHORTEST);
        }
        self.0.retain(|form| !form.stops.is_empty());
        self.0.sort_by(|a, b| a.bytes.cmp(&b.bytes));
        let mut folded: Vec<Form> = Vec::new();
        for form in self.0 {
            match folded.last_mut() {
                Some(last) if form.bytes.starts_with(&last.bytes) => {
                    last.bytes = form.bytes;
                    last.stops.extend(form.stops);
                }
                _ => folded.push(form),
            }
        }
        for form in &mut folded {
            if form.bytes.capacity() > form.bytes.len() + HEAD {
                form.bytes = Zeroizing::new(form.bytes.to_vec()); // not shrunk, that would leave a copy behind
            }
            form.stops.sort_unstable();
            form.stops.dedup();
            form.stops.shrink_to_fit();
        }
        folded
    }
}

fn replace(value: &[u8], from: &[u8], to: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut replaced = Zeroizing::new(Vec::with_capacity(value.len() * to.len()));
    let mut rest = value;
    while let Some((&first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(from) {
            replaced.extend_from_slice(to);
            rest = after;
        } else {
            replaced.push(first);
            rest = after;
        }
    }
    replaced
}

fn substituted(value: &[u8], pairs: &[(u8, u8)]) -> Vec<u8> {
    let mut result = value.to_vec();
    for byte in &mut result {
        if let Some((_, to)) = pairs.iter().find(|(from, _)| from == byte) {
            *byte = *to;
        }
    }
    result
}

/// Enough for a text of which each byte but letters and digits may become `worst` ones.
fn room(text: &[u8], worst: usize) -> usize {
    let special = text.iter().filter(|byte| !byte.is_ascii_alphanumeric()).count();
    text.len() + special * (worst - 1)
}

/// The JSON writers that differ on this text.
fn distinct_for(text: &str) -> impl Iterator<Item = fn(char) -> bool> {
    let must = |also: &fn(char) -> bool| text.contains(*also);
    ESCAPED_BY_JSON.into_iter().enumerate().filter(move |(number, also)| *number == 0 || must(also)).map(|(_, also)| also)
}

/// The inside of a JSON string. `also` names further characters to escape.
fn json(text: &str, also: fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(room(text.as_bytes(), 6));
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            '/' if also(c) => escaped.push_str("\\/"),
            _ if c < ' ' || also(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(escaped, "\\u{unit:04x}");
                }
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

/// What stands between the quotes of `{:?}`.
fn debug(text: &str) -> String {
    let mut quoted = String::with_capacity(2 + room(text.as_bytes(), 6));
    let _ = write!(quoted, "{text:?}");
    quoted.pop();
    quoted.drain(..1);
    quoted
}

fn markup(text: &str, double: &str, single: &str) -> String {
    let mut escaped = String::with_capacity(room(text.as_bytes(), 6));
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str(double),
            '\'' => escaped.push_str(single),
            _ => escaped.push(c),
        }
    }
    escaped
}

const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";
const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";

fn hex_digits(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

fn hex(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    value.iter().flat_map(|&byte| hex_digits(byte, digits)).collect()
}

fn percent(value: &[u8], kept: &[u8], space: &str, digits: &[u8; 16]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(room(value, 3));
    for &byte in value {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            encoded.push(byte);
        } else if byte == b' ' {
            encoded.extend_from_slice(space.as_bytes());
        } else {
            encoded.push(b'%');
            encoded.extend_from_slice(&hex_digits(byte, digits));
        }
    }
    encoded
}

/// What is to be seen of `value` in the base64 of a longer text, such as the `user:value` of Basic authentication.
///
/// Base64 writes three bytes as four characters, so there are three ways to lie in it. Of the characters at either
/// end some hold bits of the neighbours too; only those between are certain, and at the end of the text also the last
/// one and the padding. `ends` are the lengths at which `value` counts as complete.
fn base64_in_any_place(value: &[u8], ends: &[usize]) -> Vec<Form> {
    let mut preceded = Zeroizing::new(Vec::with_capacity(2 + value.len()));
    preceded.extend_from_slice(&[0; 2]);
    preceded.extend_from_slice(value);
    let mut forms = Vec::with_capacity(6);
    for before in 0..3 {
        let text = &preceded[2 - before..];
        let mut bytes = Zeroizing::new(STANDARD.encode(text).into_bytes());
        let start = (before * 8).div_ceil(6);
        let certain = ends.iter().map(|end| (before + end) * 8 / 6);
        let at_end_of_text = [(text.len() * 8).div_ceil(6), bytes.len()];
        let stops: Vec<usize> = certain.chain(at_end_of_text).map(|stop| stop.saturating_sub(start)).collect();
        bytes.drain(..start);
        if bytes.contains(&b'+') || bytes.contains(&b'/') {
            let url_safe = Zeroizing::new(substituted(&bytes, &[(b'+', b'-'), (b'/', b'_')]));
            forms.push(Form { bytes: url_safe, stops: stops.clone() });
        }
        forms.push(Form { bytes, stops });
    }
    forms
}

/// Text from a plugin or a remote side, fit for a terminal or a log line.
///
/// Whatever could move the cursor, recolour, reorder or hide what stands next to it is shown as an escape instead, so
/// that nobody can forge a line that looks like ours.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if chars.peek() == Some(&'\n') => {}
            _ if deceives(c) => shown.extend(c.escape_unicode()),
            _ => shown.push(c),
        }
    }
    shown
}

/// The same on one line: newlines and tabs become spaces, and at most `max` characters with a trailing `…`.
///
/// For tables and summaries, where a second line would pass for another entry.
#[must_use]
pub fn one_line(text: &str, max: usize) -> String {
    let mut line = printable(text).replace(['\n', '\t'], " ");
    if line.char_indices().nth(max).is_some() {
        let kept = line.char_indices().nth(max.saturating_sub(1)).map_or(0, |(at, _)| at);
        line.truncate(kept);
        if max > 0 {
            line.push('…');
        }
    }
    line
}

/// Characters that act on a terminal, or are there without being seen.
pub(crate) fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{180e}'         // soft hyphen, joiner, vowel separator
            | '\u{61c}' | '\u{200b}'..='\u{200f}'     // zero width, direction marks
            | '\u{2028}'..='\u{202e}'                 // line and paragraph separators, bidi embeddings and overrides
            | '\u{2060}'..='\u{206f}'                 // invisible operators, bidi isolates
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'    // byte order mark, annotations
            | '\u{e0000}'..='\u{e0fff}'               // tags and variation selectors
        )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const AWKWARD: &str = "p\"4\\s/w%é\nd <&'+x~!:@=(z)*>>??";

    /// Written by another implementation (Python's json, urllib, html and base64), so that ours is not its own judge.
    const AWKWARD_FORMS: &[(&str, &str)] = &[
        ("raw", "p\"4\\s/w%é\nd <&'+x~!:@=(z)*>>??"),
        ("crlf", "p\"4\\s/w%é\r\nd <&'+x~!:@=(z)*>>??"),
        ("json", "p\\\"4\\\\s/w%é\\nd <&'+x~!:@=(z)*>>??"),
        ("json slash", "p\\\"4\\\\s\\/w%é\\nd <&'+x~!:@=(z)*>>??"),
        ("json go", "p\\\"4\\\\s/w%é\\nd \\u003c\\u0026'+x~!:@=(z)*\\u003e\\u003e??"),
        ("json ascii", "p\\\"4\\\\s/w%\\u00e9\\nd <&'+x~!:@=(z)*>>??"),
        ("json twice", "p\\\\\\\"4\\\\\\\\s/w%é\\\\nd <&'+x~!:@=(z)*>>??"),
        ("json slash twice", "p\\\\\\\"4\\\\\\\\s\\\\/w%é\\\\nd <&'+x~!:@=(z)*>>??"),
        ("json slash twice slash", "p\\\\\\\"4\\\\\\\\s\\\\\\/w%é\\\\nd <&'+x~!:@=(z)*>>??"),
        ("pct", "p%224%5Cs%2Fw%25%C3%A9%0Ad%20%3C%26%27%2Bx~%21%3A%40%3D%28z%29%2A%3E%3E%3F%3F"),
        ("pct low", "p%224%5cs%2fw%25%c3%a9%0ad%20%3c%26%27%2bx~%21%3a%40%3d%28z%29%2a%3e%3e%3f%3f"),
        ("pct plus", "p%224%5Cs%2Fw%25%C3%A9%0Ad+%3C%26%27%2Bx~%21%3A%40%3D%28z%29%2A%3E%3E%3F%3F"),
        ("pct plus low", "p%224%5cs%2fw%25%c3%a9%0ad+%3c%26%27%2bx~%21%3a%40%3d%28z%29%2a%3e%3e%3f%3f"),
        ("path", "p%224%5Cs/w%25%C3%A9%0Ad%20%3C%26%27+x~!:@=%28z%29%2A%3E%3E%3F%3F"),
        ("path low", "p%224%5cs/w%25%c3%a9%0ad%20%3c%26%27+x~!:@=%28z%29%2a%3e%3e%3f%3f"),
        ("component", "p%224%5Cs%2Fw%25%C3%A9%0Ad%20%3C%26'%2Bx~!%3A%40%3D(z)*%3E%3E%3F%3F"),
        ("component low", "p%224%5cs%2fw%25%c3%a9%0ad%20%3c%26'%2bx~!%3a%40%3d(z)*%3e%3e%3f%3f"),
        ("html", "p&quot;4\\s/w%é\nd &lt;&amp;&#39;+x~!:@=(z)*&gt;&gt;??"),
        ("html apos", "p&quot;4\\s/w%é\nd &lt;&amp;&apos;+x~!:@=(z)*&gt;&gt;??"),
        ("html x27", "p&quot;4\\s/w%é\nd &lt;&amp;&#x27;+x~!:@=(z)*&gt;&gt;??"),
        ("html text", "p\"4\\s/w%é\nd &lt;&amp;'+x~!:@=(z)*&gt;&gt;??"),
        ("hex", "7022345c732f7725c3a90a64203c26272b787e213a403d287a292a3e3e3f3f"),
        ("HEX", "7022345C732F7725C3A90A64203C26272B787E213A403D287A292A3E3E3F3F"),
        ("b64", "cCI0XHMvdyXDqQpkIDwmJyt4fiE6QD0oeikqPj4/Pw=="),
        ("b64 nopad", "cCI0XHMvdyXDqQpkIDwmJyt4fiE6QD0oeikqPj4/Pw"),
        ("b64url", "cCI0XHMvdyXDqQpkIDwmJyt4fiE6QD0oeikqPj4_Pw=="),
        ("b64url nopad", "cCI0XHMvdyXDqQpkIDwmJyt4fiE6QD0oeikqPj4_Pw"),
        ("b64b64", "Y0NJMFhITXZkeVhEcVFwa0lEd21KeXQ0ZmlFNlFEMG9laWtxUGo0L1B3PT0="),
        ("b64b64u", "Y0NJMFhITXZkeVhEcVFwa0lEd21KeXQ0ZmlFNlFEMG9laWtxUGo0X1B3PT0="),
        ("b64 nopad b64", "Y0NJMFhITXZkeVhEcVFwa0lEd21KeXQ0ZmlFNlFEMG9laWtxUGo0L1B3"),
        (
            "list",
            "112, 34, 52, 92, 115, 47, 119, 37, 195, 169, 10, 100, 32, 60, 38, 39, 43, 120, 126, 33, 58, 64, 61, 40, 122, 41, 42, 62, 62, 63, 63",
        ),
        ("jsonlist", "112,34,52,92,115,47,119,37,195,169,10,100,32,60,38,39,43,120,126,33,58,64,61,40,122,41,42,62,62,63,63"),
    ];

    fn knowing(values: &[&str]) -> Redactor {
        let redactor = Redactor::new();
        for value in values {
            redactor.learn("t", value.as_bytes());
        }
        redactor
    }

    fn masked(redactor: &Redactor, chunks: &[&[u8]]) -> Vec<u8> {
        let mut stream = redactor.stream();
        let longest = stream.index.secrets.iter().flat_map(|secret| &secret.forms).map(|form| form.bytes.len()).max();
        let mut out = Vec::new();
        for chunk in chunks {
            out.extend(stream.push(chunk));
            assert!(stream.held.len() < longest.unwrap_or(1), "held back more than could be needed");
        }
        out.extend(stream.finish());
        out
    }

    /// The outcome of cutting `text` at every place and into single bytes, which must always be the same.
    fn masked_any_cut(redactor: &Redactor, text: &[u8]) -> Vec<u8> {
        let whole = masked(redactor, &[text]);
        assert_eq!(whole.len(), text.len());
        for cut in 0..text.len() {
            let (a, b) = text.split_at(cut);
            assert_eq!(masked(redactor, &[a, b]), whole, "cut at {cut}");
        }
        for size in [1, 2, 3, 7] {
            let chunks: Vec<&[u8]> = text.chunks(size).collect();
            assert_eq!(masked(redactor, &chunks), whole, "chunks of {size}");
        }
        whole
    }

    /// What masking means, in the most plain way: each spelling, tried at each place.
    fn masked_plainly(redactor: &Redactor, text: &[u8]) -> Vec<u8> {
        let mut out = text.to_vec();
        for form in redactor.index().secrets.iter().flat_map(|secret| &secret.forms) {
            for spelling in form.stops.iter().map(|&stop| &form.bytes[..stop]) {
                for at in 0..text.len() {
                    if text[at..].starts_with(spelling) {
                        out[at..at + spelling.len()].fill(b'*');
                    }
                }
            }
        }
        out
    }

    /// `form` is found wherever it stands, and all of it.
    fn assert_found(redactor: &Redactor, form: &str) {
        let text = format!("[{form}] [{form}");
        assert_eq!(redactor.text(&text), "[(secret t)] [(secret t)", "{form:?}");
        assert_eq!(redactor.finds(text.as_bytes()).as_deref(), Some("t"), "{form:?}");
        let stars = "*".repeat(form.len());
        assert_eq!(String::from_utf8(masked_any_cut(redactor, text.as_bytes())).unwrap(), format!("[{stars}] [{stars}"));
    }

    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(self.0 >> 33).unwrap() % limit
        }

        fn of(&mut self, alphabet: &[u8], length: usize) -> Vec<u8> {
            (0..length).map(|_| alphabet[self.below(alphabet.len())]).collect()
        }
    }

    fn pem(random: &mut Random, length: usize) -> String {
        let key = STANDARD.encode((0..length * 3 / 4).map(|_| u8::try_from(random.below(256)).unwrap()).collect::<Vec<u8>>());
        let lines: Vec<&str> = key.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"))
    }

    #[test]
    fn of_a_kubeconfig_only_the_tokens_are_secret() {
        let redactor = Redactor::new();
        let config = "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    server: https://10.0.0.20:6443\n  name: dev\nusers:\n- user:\n    token: 0123456789abcdefXYZ\n";
        redactor.learn("kubeconfig", config.as_bytes());
        for open in ["apiVersion: v1", "kind: Config", "clusters:", "https://10.0.0.20:6443", "- cluster:"] {
            assert_eq!(redactor.text(open), open);
        }
        assert_eq!(redactor.text("used 0123456789abcdefXYZ"), "used (secret kubeconfig)");
        assert_eq!(redactor.text(config), "(secret kubeconfig)");
    }

    #[test]
    fn every_form_is_found() {
        let redactor = knowing(&[AWKWARD]);
        for (_, form) in AWKWARD_FORMS {
            assert_found(&redactor, form);
        }
    }

    #[test]
    fn debug_output_is_found() {
        let value = "a'b\"c\\\u{1b}é\u{200b}\n";
        let redactor = knowing(&[value]);
        assert_eq!(redactor.text(&format!("{value:?}")), "\"(secret t)\"");
        assert_eq!(redactor.text(&format!("{:?}", value.as_bytes())), "[(secret t)]");
        assert_found(&redactor, &value.as_bytes().escape_ascii().to_string());
    }

    #[test]
    fn control_characters_are_found_in_json() {
        assert_found(&knowing(&["\u{1}\u{8}\u{1f}\u{c}\r\t~"]), "\\u0001\\b\\u001f\\f\\r\\t~");
        assert_found(&knowing(&["x😀y"]), "x\\ud83d\\ude00y");
    }

    #[test]
    fn a_value_is_found_after_it_was_made_printable() {
        for value in ["a\u{1b}[31m\"b", "one\ttwo\nthree", "x\u{202e}'y\r\nz"] {
            let redactor = knowing(&[value]);
            assert_found(&redactor, &printable(value));
            assert_found(&redactor, &one_line(value, 1000));
        }
    }

    #[test]
    fn the_shortest_secret_is_found_in_every_form() {
        let redactor = knowing(&["k/7+"]);
        for form in ["k/7+", "k\\/7+", "k%2F7%2B", "k%2f7%2b", "k/7%2B", "6b2f372b", "6B2F372B", "ay83Kw==", "ay83Kw"] {
            assert_found(&redactor, form);
        }
        assert_found(&redactor, "YXk4M0t3PT0=");
    }

    #[test]
    fn what_cannot_be_hidden_is_ignored() {
        let redactor = knowing(&["", "abc", "     \n"]);
        let text = "abc      \n\n abc";
        assert!(matches!(redactor.text(text), Cow::Borrowed(_)));
        assert_eq!(redactor.finds(text.as_bytes()), None);
        assert_eq!(masked(&redactor, &[text.as_bytes()]), text.as_bytes());
    }

    #[test]
    fn a_value_is_found_without_the_space_around_it() {
        let redactor = knowing(&["\t s3cret \n"]);
        for form in ["s3cret", "\t s3cret \n", "\\t s3cret \\n", "%09%20s3cret%20%0A", "s3cret%20%0a"] {
            let text = redactor.text(form).into_owned();
            assert!(text.contains("(secret t)") && !text.contains("s3cret"), "{form:?} became {text:?}");
        }
        assert_eq!(redactor.text("[s3cret]"), "[(secret t)]");
        // As a file with a newline at its end looks in a Kubernetes secret.
        assert_eq!(knowing(&["s3cret\n"]).text(&STANDARD.encode("s3cret\n")), "(secret t)");
        assert_eq!(knowing(&["s3cret\n"]).text(&STANDARD.encode("s3cret")), "(secret t)");
    }

    #[test]
    fn lines_of_a_value_are_found_alone() {
        let key = pem(&mut Random(1), 200);
        let redactor = knowing(&[&key]);
        for line in key.lines().filter(|line| line.len() >= SHORTEST_LINE && !line.starts_with('-')) {
            assert_found(&redactor, line);
            assert_found(&redactor, &line.replace('/', "\\/"));
            assert_found(&redactor, &STANDARD.encode(line));
        }
        assert_found(&redactor, &key.replace('\n', "\r\n"));
        assert_found(&redactor, &key.replace('\n', "\\n"));
        assert_found(&redactor, key.trim());
        for armour in ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"] {
            assert!(matches!(redactor.text(armour), Cow::Borrowed(_)));
        }
        assert_eq!(knowing(&["first line\nshort\nlast line"]).text("the short last line"), "the short (secret t)");
    }

    #[test]
    fn basic_authentication_is_found_in_every_alignment() {
        for secret in ["hunter22", "hunter2", "hunter", "k7+/"] {
            let redactor = knowing(&[secret]);
            for user in ["", "u", "us", "use", "user"] {
                let header = STANDARD.encode(format!("{user}:{secret}"));
                let kept = ((user.len() + 1) * 8).div_ceil(6);
                assert_eq!(redactor.text(&header), format!("{}(secret t)", &header[..kept]));

                let longer = STANDARD.encode(format!("{user}:{secret}~and more"));
                let end = (user.len() + 1 + secret.len()) * 8 / 6;
                assert_eq!(redactor.text(&longer), format!("{}(secret t){}", &longer[..kept], &longer[end..]));
                let masked = masked_any_cut(&redactor, longer.as_bytes());
                assert_eq!(masked, masked_plainly(&redactor, longer.as_bytes()));

                // A registry login in a Kubernetes secret.
                let nested = STANDARD.encode(format!("{{\"auth\":\"{header}\"}}"));
                assert_eq!(redactor.finds(nested.as_bytes()).as_deref(), Some("t"), "{user}:{secret}");
            }
        }
    }

    #[test]
    fn text_without_secrets_is_left_alone() {
        let text = "nothing to see – 100 % \u{1b}";
        assert!(matches!(Redactor::new().text(text), Cow::Borrowed(same) if same == text));
        let redactor = knowing(&["hunter22", AWKWARD]);
        for text in [text, "", "hunter2", "Hunter22"] {
            assert!(matches!(redactor.text(text), Cow::Borrowed(same) if same == text));
            assert_eq!(redactor.finds(text.as_bytes()), None);
            assert_eq!(masked_any_cut(&redactor, text.as_bytes()), text.as_bytes());
        }
    }

    #[test]
    fn overlapping_and_adjacent_secrets_leave_nothing_between() {
        let redactor = Redactor::new();
        redactor.learn("a", b"abcdef");
        redactor.learn("b", b"efghij");
        redactor.learn("inside", b"bcde");
        redactor.learn("long", b"abcdefghijklmnop");
        assert_eq!(redactor.text("-abcdefghij-"), "-(secret a)(secret b)-");
        assert_eq!(redactor.text("-abcdefefghij-"), "-(secret a)(secret b)-");
        assert_eq!(redactor.text("-abcdefabcdef-"), "-(secret a)-");
        assert_eq!(redactor.text("-bcdefghij-"), "-(secret inside)(secret b)-");
        assert_eq!(redactor.text("abcdefghijklmnop"), "(secret long)");
        assert_eq!(redactor.text("abcdefghijklmno"), "(secret a)(secret b)klmno");
        assert_eq!(masked_any_cut(&redactor, b"-abcdefghijk"), b"-**********k");
    }

    #[test]
    fn of_two_names_for_one_value_the_first_is_told() {
        let redactor = Redactor::new();
        redactor.learn("first", b"hunter22");
        redactor.learn("second", b"hunter22");
        assert_eq!(redactor.text("hunter22"), "(secret first)");
        assert_eq!(redactor.finds(b"hunter22").as_deref(), Some("first"));
    }

    #[test]
    fn a_value_that_is_not_text_never_splits_a_character() {
        let redactor = Redactor::new();
        redactor.learn("bytes", b"\xa9abc\xe2\x82");
        assert_eq!(redactor.text("xéabc€y"), "x(secret bytes)y");
        assert_eq!(redactor.text("xéabcéy"), "xéabcéy");
        assert_eq!(redactor.text(&String::from_utf8_lossy(b"-\xa9abc\xe2\x82-")), "-(secret bytes)-");
        assert_eq!(redactor.text("%A9abc%E2%82 a9616263e282"), "(secret bytes) (secret bytes)");
        assert_eq!(redactor.finds(b"\x00\xa9abc\xe2\x82\x00").as_deref(), Some("bytes"));
    }

    #[test]
    fn a_stream_never_shows_what_plain_search_would_hide() {
        let mut random = Random(7);
        // Few letters, so that secrets overlap each other and themselves in every way.
        for round in 0..60 {
            let redactor = Redactor::new();
            let mut secrets = Vec::new();
            for _ in 0..=random.below(4) {
                let length = 4 + random.below(if round % 2 == 0 { 6 } else { 30 });
                secrets.push(random.of(b"ab", length));
            }
            for secret in &secrets {
                redactor.learn("t", secret);
            }
            let mut text = Vec::new();
            for _ in 0..8 {
                let secret = &secrets[random.below(secrets.len())];
                text.extend_from_slice(&secret[random.below(3)..]);
                let (start, length) = (random.below(3), random.below(4));
                text.extend_from_slice(&secret[..secret.len() - start]);
                text.extend(random.of(b"abc", length));
            }
            assert_eq!(masked_any_cut(&redactor, &text), masked_plainly(&redactor, &text), "round {round}");
        }
    }

    #[test]
    fn a_stream_of_forms_shows_none_of_them() {
        let mut random = Random(3);
        let key = pem(&mut random, 100);
        let redactor = knowing(&[AWKWARD, &key, "k/7+", "hunter22\n", "ünïcödé wörds"]);
        let index = redactor.index();
        let spellings: Vec<&[u8]> = (0..index.entries.len())
            .map(|entry| index.form(entry))
            .flat_map(|form| form.stops.iter().map(|&stop| &form.bytes[..stop]))
            .collect();
        assert!(spellings.len() > 300);
        for spelling in spellings.iter().step_by(3) {
            let text = [b"<", *spelling, b"+", spelling].concat();
            for size in [1, 1 + random.below(text.len()), text.len()] {
                let chunks: Vec<&[u8]> = text.chunks(size).collect();
                let out = masked(&redactor, &chunks);
                assert_eq!(out.len(), text.len());
                assert_eq!(redactor.finds(&out), None, "{:?}", String::from_utf8_lossy(&out));
            }
        }
    }

    #[test]
    fn a_stream_holds_back_no_more_than_it_must() {
        let redactor = knowing(&["hunter22-and-more"]);
        let mut stream = redactor.stream();
        assert_eq!(stream.push(b"hello h"), b"hello ");
        assert_eq!(stream.push(b"untes"), b"huntes");
        assert_eq!(stream.push(b" hunter22-and-"), b" ");
        assert_eq!(stream.push(b""), b"");
        assert_eq!(stream.push(b"more, hunter22-"), b"*****************, ");
        assert_eq!(stream.push(b"hunt"), b"hunter22-");
        assert_eq!(stream.finish(), b"hunt");
        assert_eq!(stream.finish(), b"");
        assert_eq!(stream.push(b"again"), b"again");
        assert_eq!(knowing(&["k7x,"]).stream().push(b"k7x,"), b"****");
    }

    #[test]
    fn clones_share_what_is_learned_and_streams_do_not() {
        let redactor = Redactor::new();
        let mut stream = redactor.stream();
        let other = redactor.clone();
        other.learn("late", b"hunter22");
        assert_eq!(redactor.text("hunter22"), "(secret late)");
        assert_eq!(stream.push(b"hunter22"), b"hunter22");
        assert_eq!(redactor.stream().push(b"hunter22!"), b"********!");
    }

    #[test]
    fn learning_again_changes_nothing() {
        let redactor = knowing(&["hunter22"]);
        let before = redactor.index();
        redactor.learn("t", b"hunter22");
        assert!(Arc::ptr_eq(&before, &redactor.index()));
    }

    #[test]
    fn debug_prints_names_only() {
        let redactor = knowing(&["hunter22"]);
        assert_eq!(format!("{redactor:?}"), "Redactor([\"t\"])");
        let mut stream = redactor.stream();
        stream.push(b"hunter2");
        assert_eq!(format!("{stream:?}"), "StreamMasker { held: 7, .. }");
    }

    /// No limit is checked, but this hangs for minutes and gigabytes if whole forms ever get into the automaton.
    #[test]
    fn many_large_secrets_stay_affordable() {
        let mut random = Random(11);
        let keys: Vec<String> = (0..100).map(|_| pem(&mut random, 3000)).collect();
        let redactor = Redactor::new();
        for (number, key) in keys.iter().enumerate() {
            redactor.learn(&format!("key-{number}"), key.as_bytes());
        }
        let filler = String::from_utf8(random.of(b"abcdefgh ijklm\nnop{}\"", 10_000)).unwrap();
        let text: String = keys.iter().flat_map(|key| [filler.as_str(), key]).collect();
        assert!(text.len() > 1_000_000);
        let redacted = redactor.text(&text);
        assert_eq!(redacted.matches("(secret key-").count(), keys.len());
        assert_eq!(redactor.finds(redacted.as_bytes()), None);
        let mut stream = redactor.stream();
        let mut out: Vec<u8> = text.as_bytes().chunks(4096).flat_map(|chunk| stream.push(chunk)).collect();
        out.extend(stream.finish());
        assert_eq!(out.len(), text.len());
        assert_eq!(redactor.finds(&out), None);
    }

    #[test]
    fn terminal_control_is_made_visible() {
        for (text, shown) in [
            ("plain, ünïcödé, 漢字 🙂", "plain, ünïcödé, 漢字 🙂"),
            ("a\tb\nc\r\nd\re", "a\tb\nc\nd\\u{d}e"),
            ("\u{1b}[31mred\u{1b}[0m\u{7}", "\\u{1b}[31mred\\u{1b}[0m\\u{7}"),
            (
                "\u{1b}]8;;https://evil.example\u{1b}\\here\u{1b}]8;;\u{1b}\\",
                "\\u{1b}]8;;https://evil.example\\u{1b}\\here\\u{1b}]8;;\\u{1b}\\",
            ),
            ("\u{9b}31m\u{9d}0;title\u{9c}\u{85}\u{7f}\u{0}", "\\u{9b}31m\\u{9d}0;title\\u{9c}\\u{85}\\u{7f}\\u{0}"),
            ("\u{202e}abc\u{202c}\u{2066}x\u{2069}", "\\u{202e}abc\\u{202c}\\u{2066}x\\u{2069}"),
            ("a\u{2028}b\u{2029}c\u{200b}d\u{200f}e\u{feff}", "a\\u{2028}b\\u{2029}c\\u{200b}d\\u{200f}e\\u{feff}"),
            ("\u{e0041}\u{e007f}", "\\u{e0041}\\u{e007f}"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("a\r\nb\tc\u{1b}", 80), "a b c\\u{1b}");
        assert_eq!(one_line("12345", 5), "12345");
        assert_eq!(one_line("123456", 5), "1234…");
        assert_eq!(one_line("äöüäöü", 3), "äö…");
        assert_eq!(one_line("ab", 1), "…");
        assert_eq!(one_line("ab", 0), "");
        assert_eq!(one_line("", 0), "");
    }
}

//! From text to a tree.

use super::Fault;

/// One operation or value, with its place.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub at: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Name(String),
    Field(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    /// A function, or a method of the first expression.
    Call(Option<Box<Expr>>, String, Vec<Expr>),
    /// An operator, named as its function is.
    Operator(&'static str, Vec<Expr>),
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
}

const DEEPEST: usize = 60;
/// Operations one after the other; each lies one deeper in the tree.
const LONGEST: usize = 500;

pub(super) fn parse(source: &str) -> Result<Expr, Fault> {
    let mut parser = Parser { source, at: 0, depth: 0, operations: 0 };
    let expr = parser.ternary()?;
    parser.blank();
    if parser.at < source.len() { Err(parser.unexpected()) } else { Ok(expr) }
}

struct Parser<'a> {
    source: &'a str,
    at: usize,
    depth: usize,
    operations: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !self.rest().starts_with("//") {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn unexpected(&self) -> Fault {
        match self.rest().chars().next() {
            Some(character) => Fault::new(self.at, format!("Syntax error: mismatched input '{character}' expecting <EOF>")),
            None => Fault::new(
                self.at,
                "Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
            ),
        }
    }

    fn eat(&mut self, sign: &str) -> bool {
        self.blank();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        if self.eat(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn operator(at: usize, name: &'static str, operands: Vec<Expr>) -> Expr {
        Expr { at, kind: Kind::Operator(name, operands) }
    }

    fn ternary(&mut self) -> Result<Expr, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::new(self.at, "expression recursion limit exceeded"));
        }
        let condition = self.binary(0)?;
        self.blank();
        let at = self.at;
        let result = if self.rest().starts_with('?') && !self.rest().starts_with("?.") {
            self.at += 1;
            let then = self.binary(0)?;
            self.expect(":")?;
            let otherwise = self.ternary()?;
            Self::operator(at, "_?_:_", vec![condition, then, otherwise])
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    fn binary(&mut self, level: usize) -> Result<Expr, Fault> {
        const LEVELS: [&[(&str, &str)]; 5] = [
            &[("||", "_||_")],
            &[("&&", "_&&_")],
            &[("<=", "_<=_"), (">=", "_>=_"), ("==", "_==_"), ("!=", "_!=_"), ("<", "_<_"), (">", "_>_"), ("in", "@in")],
            &[("+", "_+_"), ("-", "_-_")],
            &[("*", "_*_"), ("/", "_/_"), ("%", "_%_")],
        ];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        'next: loop {
            self.blank();
            let at = self.at;
            for (sign, name) in *operators {
                let word = *sign == "in";
                let followed = || self.rest()[sign.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
                if self.rest().starts_with(sign) && !(word && followed()) {
                    self.at += sign.len();
                    self.operation()?;
                    let right = self.binary(level + 1)?;
                    left = Self::operator(at, name, vec![left, right]);
                    continue 'next;
                }
            }
            return Ok(left);
        }
    }

    fn operation(&mut self) -> Result<(), Fault> {
        self.operations += 1;
        if self.operations > LONGEST { Err(Fault::new(self.at, "expression recursion limit exceeded")) } else { Ok(()) }
    }

    fn unary(&mut self) -> Result<Expr, Fault> {
        self.blank();
        let at = self.at;
        if self.rest().starts_with('!') && !self.rest().starts_with("!=") {
            self.at += 1;
            return self.nested().map(|inner| Self::operator(at, "!_", vec![inner]));
        }
        if self.rest().starts_with('-') {
            self.at += 1;
            let inner = self.nested()?;
            return Ok(match inner.kind {
                Kind::Int(value) => Expr { at, kind: Kind::Int(-value) },
                Kind::Double(value) => Expr { at, kind: Kind::Double(-value) },
                _ => Self::operator(at, "-_", vec![inner]),
            });
        }
        self.member()
    }

    fn nested(&mut self) -> Result<Expr, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::new(self.at, "expression recursion limit exceeded"));
        }
        let inner = self.unary();
        self.depth -= 1;
        inner
    }

    fn member(&mut self) -> Result<Expr, Fault> {
        let mut object = self.primary()?;
        loop {
            self.blank();
            let at = self.at;
            if self.rest().starts_with(['.', '[']) {
                self.operation()?;
            }
            if self.eat(".") {
                self.eat("?");
                let Some(name) = self.name() else { return Err(self.unexpected()) };
                object = if self.eat("(") {
                    let at = self.at - 1;
                    let arguments = self.many(")")?;
                    Expr { at, kind: Kind::Call(Some(Box::new(object)), name, arguments) }
                } else {
                    Expr { at, kind: Kind::Field(Box::new(object), name) }
                };
            } else if self.eat("[") {
                let index = self.ternary()?;
                self.expect("]")?;
                object = Expr { at, kind: Kind::Index(Box::new(object), Box::new(index)) };
            } else {
                return Ok(object);
            }
        }
    }

    fn many(&mut self, end: &str) -> Result<Vec<Expr>, Fault> {
        let mut all = Vec::new();
        loop {
            if self.eat(end) {
                return Ok(all);
            }
            all.push(self.ternary()?);
            if !self.eat(",") {
                self.expect(end)?;
                return Ok(all);
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        self.blank();
        let end = self.rest().find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(self.rest().len());
        let name = self.rest()[..end].to_owned();
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        self.at += end;
        Some(name)
    }

    fn primary(&mut self) -> Result<Expr, Fault> {
        self.blank();
        let at = self.at;
        if self.eat("(") {
            let inner = self.ternary()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.eat("[") {
            return Ok(Expr { at, kind: Kind::List(self.many("]")?) });
        }
        if self.eat("{") {
            return self.map(at);
        }
        if self.rest().starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return self.number();
        }
        if let Some(text) = self.quoted()? {
            return Ok(text);
        }
        let Some(name) = self.name() else { return Err(self.unexpected()) };
        if !matches!(name.as_str(), "true" | "false" | "null") && self.eat("(") {
            let at = self.at - 1;
            return Ok(Expr { at, kind: Kind::Call(None, name, self.many(")")?) });
        }
        let kind = match name.as_str() {
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "null" => Kind::Null,
            _ => Kind::Name(name),
        };
        Ok(Expr { at, kind })
    }

    fn map(&mut self, at: usize) -> Result<Expr, Fault> {
        let mut entries = Vec::new();
        while !self.eat("}") {
            let key = self.ternary()?;
            self.expect(":")?;
            entries.push((key, self.ternary()?));
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Expr { at, kind: Kind::Map(entries) })
    }

    fn number(&mut self) -> Result<Expr, Fault> {
        let at = self.at;
        let hex = self.rest().starts_with("0x");
        let mut end = if hex { 2 } else { 0 };
        let bytes = self.rest().as_bytes();
        while let Some(byte) = bytes.get(end) {
            let exponent = !hex && end > 0 && matches!(bytes[end - 1], b'e' | b'E') && matches!(byte, b'+' | b'-');
            let digit = if hex { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E') };
            if !digit && !exponent {
                break;
            }
            end += 1;
        }
        let text = &self.rest()[..end];
        let wrong = || Fault::new(at, format!("Syntax error: invalid number '{text}'"));
        let unsigned = self.rest()[end..].starts_with(['u', 'U']);
        let kind = if unsigned {
            let value = if hex { u64::from_str_radix(&text[2..], 16) } else { text.parse() };
            Kind::Uint(value.map_err(|_| wrong())?)
        } else if hex {
            Kind::Int(i64::from_str_radix(&text[2..], 16).map_err(|_| wrong())?)
        } else if text.contains(['.', 'e', 'E']) {
            Kind::Double(text.parse().map_err(|_| wrong())?)
        } else {
            Kind::Int(text.parse().map_err(|_| wrong())?)
        };
        self.at += end + usize::from(unsigned);
        Ok(Expr { at, kind })
    }

    /// A text or bytes in quotes, with prefixes `r` and `b`.
    fn quoted(&mut self) -> Result<Option<Expr>, Fault> {
        let at = self.at;
        let letters = self.rest().find(['"', '\'']).unwrap_or(usize::MAX);
        if letters > 2 || !self.rest()[..letters].bytes().all(|byte| matches!(byte, b'r' | b'R' | b'b' | b'B')) {
            return Ok(None);
        }
        let prefix = self.rest()[..letters].to_ascii_lowercase();
        let body = &self.rest()[letters..];
        let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| body.starts_with(quote)).unwrap_or("\"");
        let mut text = String::new();
        let mut characters = body[quote.len()..].char_indices();
        while let Some((place, character)) = characters.next() {
            if body[quote.len() + place..].starts_with(quote) {
                self.at += letters + quote.len() + place + quote.len();
                let kind = if prefix.contains('b') { Kind::Bytes(text.into_bytes()) } else { Kind::Text(text) };
                return Ok(Some(Expr { at, kind }));
            }
            if character == '\n' && quote.len() == 1 {
                break;
            }
            if character != '\\' || prefix.contains('r') {
                text.push(character);
                continue;
            }
            text.push(match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(same @ ('\\' | '"' | '\'' | '`' | '?')) => same,
                _ => return Err(Fault::new(at, "Syntax error: token recognition error at: an unknown escape")),
            });
        }
        Err(Fault::new(at, "Syntax error: token recognition error at: a text without an end"))
    }
}

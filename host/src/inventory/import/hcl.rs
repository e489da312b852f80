//! The part of HCL that files of variables are written in: names, texts, numbers, Boolean values, lists, maps and comments.

use std::iter::Peekable;
use std::str::Chars;

use zeroize::Zeroizing;

/// How deep lists and maps may lie.
const DEEPEST: usize = 50;

/// A value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// A number as it is written.
    Number(String),
    Text(Zeroizing<String>),
    List(Vec<Value>),
    /// A map; nothing here needs to know what is in it.
    Map,
}

impl Value {
    /// What kind of value it is, for a sentence.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map => "a map",
        }
    }
}

/// A variable with its value.
#[derive(Debug)]
pub(super) struct Variable {
    pub name: String,
    pub value: Value,
    pub line: u32,
    pub column: u32,
}

/// Why and where a file is not understood. Values are never repeated: they may be secret.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub line: u32,
    pub column: u32,
    pub what: String,
}

/// Reads the variables of a file.
pub(super) fn read(text: &str) -> Result<Vec<Variable>, Fault> {
    let mut reader = Reader { rest: text.chars().peekable(), line: 1, column: 1 };
    let mut variables: Vec<Variable> = Vec::new();
    loop {
        reader.skip(true)?;
        if reader.peek().is_none() {
            return Ok(variables);
        }
        let (line, column) = (reader.line, reader.column);
        let name = reader.name()?;
        if variables.iter().any(|known| known.name == name) {
            return Err(Fault { line, column, what: format!("the variable `{name}` is there twice") });
        }
        reader.skip(false)?;
        if reader.next() != Some('=') {
            return Err(Fault { line, column, what: format!("after `{name}` there is no `=`") });
        }
        reader.skip(false)?;
        let value = reader.value(0)?;
        variables.push(Variable { name, value, line, column });
        reader.skip(false)?;
        if !matches!(reader.peek(), None | Some('\n')) {
            return Err(reader.fault("one variable per line; here is something behind its value"));
        }
    }
}

struct Reader<'text> {
    rest: Peekable<Chars<'text>>,
    line: u32,
    column: u32,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(next)
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault { line: self.line, column: self.column, what: what.into() }
    }

    /// Passes blanks and comments, and line breaks where they mean nothing.
    fn skip(&mut self, lines: bool) -> Result<(), Fault> {
        loop {
            match self.peek() {
                Some('\n') if !lines => return Ok(()),
                Some(blank) if blank.is_whitespace() || blank == '\u{feff}' => {
                    self.next();
                }
                Some('#') => self.line_end(),
                Some('/') => {
                    let start = self.fault("a comment that nothing ends");
                    self.next();
                    match self.next() {
                        Some('/') => self.line_end(),
                        Some('*') => self.comment().ok_or(start)?,
                        _ => return Err(self.fault("a `/` that begins no comment")),
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn line_end(&mut self) {
        while self.peek().is_some_and(|character| character != '\n') {
            self.next();
        }
    }

    fn comment(&mut self) -> Option<()> {
        let mut star = false;
        loop {
            let character = self.next()?;
            if star && character == '/' {
                return Some(());
            }
            star = character == '*';
        }
    }

    fn name(&mut self) -> Result<String, Fault> {
        let mut name = String::new();
        while let Some(character) = self.peek().filter(|character| character.is_alphanumeric() || matches!(character, '_' | '-')) {
            name.push(character);
            self.next();
        }
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(self.fault("a variable's name was expected here"));
        }
        Ok(name)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        if depth > DEEPEST {
            return Err(self.fault("lists lie too deep"));
        }
        match self.peek() {
            Some('"') => self.text().map(Value::Text),
            Some('[') => self.list(depth),
            Some('{') => self.map(depth),
            Some('<') => Err(self.fault("a text over several lines (`<<`); write it in quotes")),
            Some(first) if first.is_ascii_digit() || first == '-' => Ok(Value::Number(self.word())),
            _ => match self.word().as_str() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                "null" => Ok(Value::Null),
                _ => Err(self.fault("a value was expected here: a text in quotes, a number, true, false, or a list")),
            },
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(character) =
            self.peek().filter(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '+' | '.'))
        {
            word.push(character);
            self.next();
        }
        word
    }

    fn text(&mut self) -> Result<Zeroizing<String>, Fault> {
        let start = self.fault("a text that nothing ends");
        self.next();
        let mut text = Zeroizing::new(String::new());
        loop {
            match self.next() {
                None | Some('\n') => return Err(start),
                Some('"') => return Ok(text),
                Some('\\') => {
                    let character = self.escape().ok_or_else(|| self.fault("an unknown sign after `\\`"))?;
                    text.push(character);
                }
                Some(sign @ ('$' | '%')) if self.peek() == Some('{') => {
                    return Err(self.fault(format!("`{sign}{{` has to be worked out by Terraform; write the value itself")));
                }
                Some(sign @ ('$' | '%')) if self.peek() == Some(sign) => {
                    // Two of them before a brace stand for one.
                    text.push(sign);
                    self.next();
                    match self.peek() {
                        Some('{') => {}
                        _ => text.push(sign),
                    }
                }
                Some(character) => text.push(character),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let digits = match self.next()? {
            'n' => return Some('\n'),
            'r' => return Some('\r'),
            't' => return Some('\t'),
            sign @ ('"' | '\\') => return Some(sign),
            'u' => 4,
            'U' => 8,
            _ => return None,
        };
        let mut code = 0_u32;
        for _ in 0..digits {
            code = code.checked_mul(16)?.checked_add(self.next()?.to_digit(16)?)?;
        }
        char::from_u32(code)
    }

    fn list(&mut self, depth: usize) -> Result<Value, Fault> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.skip(true)?;
            if self.peek() == Some(']') {
                self.next();
                return Ok(Value::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip(true)?;
            match self.peek() {
                Some(',') => {
                    self.next();
                }
                Some(']') => {}
                _ => return Err(self.fault("`,` or `]` was expected here")),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, Fault> {
        self.next();
        loop {
            self.skip(true)?;
            if self.peek() == Some('}') {
                self.next();
                return Ok(Value::Map);
            }
            if self.peek() == Some('"') {
                self.text()?;
            } else {
                self.name()?;
            }
            self.skip(true)?;
            if !matches!(self.next(), Some('=' | ':')) {
                return Err(self.fault("`=` was expected here"));
            }
            self.skip(true)?;
            self.value(depth + 1)?;
            self.skip(false)?;
            if self.peek() == Some(',') {
                self.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(Zeroizing::new(text.to_owned()))
    }

    #[test]
    fn variables_are_read_with_their_values() {
        let file = "# words\na = \"x\\n\\\"\\u00e9 $${y} 5$\" // more\nb=3\nc-d = [\n  \"one\", # first\n  \"two\",\n]\n/* several\n   lines */ e = true\nf = { g = 1, \"h\" = [2] }\ni = null\nj = -1.5\nk = []\n";
        let read = read(file).unwrap();
        let values: Vec<(&str, &Value)> = read.iter().map(|variable| (variable.name.as_str(), &variable.value)).collect();
        assert_eq!(
            values,
            [
                ("a", &text("x\n\"é ${y} 5$")),
                ("b", &Value::Number("3".to_owned())),
                ("c-d", &Value::List(vec![text("one"), text("two")])),
                ("e", &Value::Bool(true)),
                ("f", &Value::Map),
                ("i", &Value::Null),
                ("j", &Value::Number("-1.5".to_owned())),
                ("k", &Value::List(Vec::new())),
            ]
        );
        assert_eq!((read[3].line, read[3].column), (9, 13));
    }

    #[test]
    fn faults_say_where_and_never_repeat_a_value() {
        for (file, line, what) in [
            ("a = 1\na = 2\n", 2, "the variable `a` is there twice"),
            ("\ntoken = \"hunter2\n", 2, "a text that nothing ends"),
            ("token \"hunter2\"\n", 1, "after `token` there is no `=`"),
            ("token = hunter2\n", 1, "a value was expected here"),
            ("a = \"${var.hunter2}\"\n", 1, "has to be worked out by Terraform"),
            ("a = <<EOF\nhunter2\nEOF\n", 1, "a text over several lines"),
            ("a = [1 2]\n", 1, "`,` or `]` was expected"),
            ("a = 1 b = 2\n", 1, "one variable per line"),
            ("/* hunter2\n", 1, "a comment that nothing ends"),
            ("= 1\n", 1, "a variable's name was expected"),
            ("a = \"\\q\"\n", 1, "an unknown sign"),
        ] {
            let fault = read(file).unwrap_err();
            assert_eq!(fault.line, line, "{file:?}: {fault:?}");
            assert!(fault.what.contains(what) && !fault.what.contains("hunter2"), "{file:?}: {fault:?}");
        }
        let deep = format!("a = {}", "[".repeat(10_000));
        assert!(read(&deep).unwrap_err().what.contains("too deep"));
    }
}

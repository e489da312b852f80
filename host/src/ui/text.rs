//! Lines of styled text: measured, cut and wrapped by what a terminal shows, not by bytes.

use std::time::Duration;

use emhost::redact::one_line;
use unicode_width::UnicodeWidthChar;

/// How a piece of a line looks where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
}

impl Style {
    /// The text with what switches the style on and off.
    pub fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Red => 31,
            Self::Yellow => 33,
            Self::Green => 32,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// One line. Whatever is put in stays on this line and cannot drive the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(Vec<(Style, String)>);

impl Line {
    /// A line of one style.
    pub fn new(style: Style, text: impl AsRef<str>) -> Self {
        Self::default().and(style, text)
    }

    /// The line with more at its end.
    #[must_use]
    pub fn and(mut self, style: Style, text: impl AsRef<str>) -> Self {
        let text = tame(text.as_ref());
        if !text.is_empty() {
            self.0.push((style, text));
        }
        self
    }

    /// The line with more at its end, without any style.
    #[must_use]
    pub fn plain(self, text: impl AsRef<str>) -> Self {
        self.and(Style::Plain, text)
    }

    /// The line with another one at its end.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The line filled with spaces to this width.
    #[must_use]
    pub fn padded(self, to: usize) -> Self {
        let missing = to.saturating_sub(self.width());
        self.plain(" ".repeat(missing))
    }

    /// The line with every piece of it changed.
    #[must_use]
    pub fn mapped(self, change: impl Fn(&str) -> String) -> Self {
        self.0.into_iter().fold(Self::default(), |line, (style, text)| line.and(style, change(&text)))
    }

    /// Columns it takes.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| width(text)).sum()
    }

    /// The line in at most this many columns, with `…` where something is left out.
    #[must_use]
    pub fn cut(self, max: usize) -> Self {
        if self.width() <= max {
            return self;
        }
        let mut cut = Self::default();
        let mut left = max;
        for (style, text) in self.0 {
            let taken = width(&text);
            if taken < left {
                cut.0.push((style, text));
                left -= taken;
                continue;
            }
            if left > 0 {
                cut.0.push((style, shortened(&text, left)));
            }
            break;
        }
        cut
    }

    /// As lines of at most this many columns, broken between words; all but the first are indented.
    pub fn wrapped(self, width: Option<usize>, indent: usize) -> Vec<Self> {
        let Some(width) = width.filter(|width| self.width() > *width) else { return vec![self] };
        // However narrow it is, some text fits beside the indentation.
        let width = width.max(20);
        let indent = indent.min(width / 2);
        let mut rest: Vec<(Style, char)> =
            self.0.iter().flat_map(|(style, text)| text.chars().map(|character| (*style, character))).collect();
        let mut lines = Vec::new();
        loop {
            let margin = if lines.is_empty() { 0 } else { indent };
            let end = break_at(&rest, width - margin);
            let tail = rest.split_off(end);
            lines.push(Self::of(" ".repeat(margin).chars().map(|space| (Style::Plain, space)).chain(rest)));
            rest = tail.into_iter().skip_while(|(_, character)| *character == ' ').collect();
            if rest.is_empty() {
                return lines;
            }
        }
    }

    fn of(characters: impl Iterator<Item = (Style, char)>) -> Self {
        let mut line: Vec<(Style, String)> = Vec::new();
        for (style, character) in characters {
            match line.last_mut() {
                Some((same, text)) if *same == style => text.push(character),
                _ => line.push((style, character.to_string())),
            }
        }
        Self(line)
    }

    /// As it is written to a terminal or a file.
    pub fn painted(&self, color: bool) -> String {
        let line: String = self.0.iter().map(|(style, text)| if color { style.paint(text) } else { text.clone() }).collect();
        if color { line } else { line.trim_end().to_owned() }
    }
}

/// How many characters stay on a line of this width.
fn break_at(characters: &[(Style, char)], width: usize) -> usize {
    let (mut taken, mut space, mut text) = (0, None, false);
    for (at, (_, character)) in characters.iter().enumerate() {
        taken += character.width().unwrap_or(0);
        if taken > width {
            return space.unwrap_or(at).max(1);
        }
        text |= *character != ' ';
        if *character == ' ' && text {
            space = Some(at);
        }
    }
    characters.len()
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or(0)).sum()
}

/// At most this many columns of a text, the last one `…` if something is left out.
pub fn shortened(text: &str, max: usize) -> String {
    if width(text) <= max {
        return text.to_owned();
    }
    let mut left = max.saturating_sub(1);
    let mut short = String::new();
    for character in text.chars() {
        let taken = character.width().unwrap_or(0);
        if taken > left {
            break;
        }
        left -= taken;
        short.push(character);
    }
    if max > 0 {
        short.push('…');
    }
    short
}

/// One line whose columns can be counted: marks that would pile up without end on one column are left out, and so are the selectors by
/// which terminals disagree on the width of what is before them.
fn tame(text: &str) -> String {
    let mut piled = 0;
    let mut tame = one_line(text, usize::MAX);
    tame.retain(|character| {
        piled = if character.width() == Some(0) { piled + 1 } else { 0 };
        piled <= 2 && !matches!(character, '\u{fe00}'..='\u{fe0f}')
    });
    tame
}

/// A time as people say it: `3.4s`, `12s`, `1m12s`, `2h05m`.
pub fn took(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{}.{}s", seconds, duration.subsec_millis() / 100),
        _ => whole(duration),
    }
}

/// The same in whole seconds.
pub fn whole(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `one`, or the number and `many`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_as_a_terminal_shows_them() {
        assert_eq!(width("漢字"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(shortened("漢字漢字", 5), "漢字…");
        assert_eq!(shortened("漢字漢字", 4), "漢…");
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abc", 0), "");
        let piled = format!("a{}b", "\u{301}".repeat(500));
        assert_eq!(Line::new(Style::Plain, piled), Line(vec![(Style::Plain, "a\u{301}\u{301}b".to_owned())]));
    }

    #[test]
    fn nothing_leaves_its_line_or_drives_the_terminal() {
        let line = Line::new(Style::Red, "a\nb\u{1b}[2J\u{9b}1A\u{202e}c\r");
        assert_eq!(line.painted(false), "a b\\u{1b}[2J\\u{9b}1A\\u{202e}c\\u{d}");
        assert_eq!(Line::new(Style::Red, "x").plain("y").painted(true), "\u{1b}[31mx\u{1b}[0my");
    }

    #[test]
    fn cut_keeps_styles_and_never_exceeds() {
        let line = Line::new(Style::Green, "+ ").plain("machine/漢字").and(Style::Dim, " (nodes.yaml:1:1)");
        for max in 0..40 {
            assert!(line.clone().cut(max).width() <= max, "{max}");
        }
        assert_eq!(line.cut(13).painted(false), "+ machine/漢…");
    }

    #[test]
    fn wrapped_between_words_with_the_rest_indented() {
        let line = Line::new(Style::Plain, "    + one two").and(Style::Dim, " three four fiveandmuchtoolongforanyline six");
        let lines = line.wrapped(Some(20), 6);
        assert!(lines.iter().all(|line| line.width() <= 20));
        let text: Vec<String> = lines.iter().map(|line| line.painted(false)).collect();
        assert_eq!(text, ["    + one two three", "      four", "      fiveandmuchtoo", "      longforanyline", "      six"]);
    }

    #[test]
    fn times_as_people_say_them() {
        let said = [0, 3400, 12_000, 72_500, 7_500_000].map(|ms| took(Duration::from_millis(ms)));
        assert_eq!(said, ["0.0s", "3.4s", "12s", "1m12s", "2h05m"]);
    }
}

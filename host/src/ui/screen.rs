//! The terminal, behind one lock: what is printed and the tree that is redrawn in place never mix.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::text::Line;

/// Columns and rows.
pub type Size = (usize, usize);

/// What terminals have if they do not say.
const USUAL: Size = (80, 24);

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// Standard output: results.
    Out,
    /// Standard error: diagnostics, progress and the tree.
    Err,
}

/// Standard output and standard error.
pub struct Screen(Mutex<Canvas>);

struct Canvas {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// Whether what goes to standard output is seen where the tree is.
    together: bool,
    size: fn() -> Option<Size>,
    /// The tree as it stands there, by line: as written, and its columns.
    drawn: Vec<(String, usize)>,
    /// The terminal when it was drawn.
    drawn_at: Size,
}

impl Screen {
    /// This process's own.
    pub fn standard() -> Self {
        let together = std::io::stdout().is_terminal();
        Self::new(Box::new(std::io::stdout()), Box::new(std::io::stderr()), together, terminal_size)
    }

    /// Any two streams.
    pub fn new(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, together: bool, size: fn() -> Option<Size>) -> Self {
        Self(Mutex::new(Canvas { out, err, together, size, drawn: Vec::new(), drawn_at: USUAL }))
    }

    fn lock(&self) -> MutexGuard<'_, Canvas> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Columns and rows there are now.
    pub fn size(&self) -> Size {
        self.lock().size()
    }

    /// Writes a text above the tree, if there is one.
    pub fn write(&self, to: To, text: &str) {
        let mut canvas = self.lock();
        if canvas.drawn.is_empty() || (to == To::Out && !canvas.together) {
            canvas.put(to, text);
            return;
        }
        let tree = canvas.erase();
        canvas.put(to, text);
        canvas.draw(tree, "");
    }

    /// Replaces the tree by these lines; none leaves nothing of it.
    pub fn redraw(&self, frame: &[Line], color: bool) {
        let mut canvas = self.lock();
        if frame.is_empty() {
            canvas.erase();
            return;
        }
        // One column stays free: terminals disagree about the width of some characters.
        let (columns, rows) = canvas.size();
        let frame = frame.iter().map(|line| line.clone().cut(columns.saturating_sub(1))).map(|line| (line.painted(color), line.width()));
        let home = if canvas.drawn_at == (columns, rows) { canvas.home() } else { canvas.cleared() };
        canvas.draw(frame.collect(), &home);
    }

    /// Leaves the tree where it stands, and draws the next one below it.
    pub fn forget(&self) {
        self.lock().drawn.clear();
    }
}

impl Canvas {
    fn size(&self) -> Size {
        (self.size)().filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or(USUAL)
    }

    fn put(&mut self, to: To, text: &str) {
        let stream = if to == To::Out { &mut self.out } else { &mut self.err };
        // A reader that went away is no reason to fail: whoever pipes into `head` knows.
        let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    }

    /// How many rows the tree takes.
    fn rows(&self) -> usize {
        let (columns, rows) = self.size();
        // A terminal that became narrower has broken the lines that no longer fit, one that became lower shows the last ones only.
        self.drawn.iter().map(|(_, width)| width.div_ceil(columns).max(1)).sum::<usize>().min(rows.saturating_sub(1))
    }

    /// What takes the cursor to where the tree begins.
    fn home(&self) -> String {
        match self.rows() {
            0 => String::new(),
            rows => format!("\r\u{1b}[{rows}A"),
        }
    }

    /// The same, with nothing left of the tree. Row by row: some terminals keep what is cleared at once, and join rows that they once broke
    /// and that were only written over.
    fn cleared(&self) -> String {
        let home = self.home();
        format!("{home}{}{home}", "\u{1b}[2K\r\n".repeat(self.rows()))
    }

    /// Takes the tree off the terminal.
    fn erase(&mut self) -> Vec<(String, usize)> {
        let cleared = self.cleared();
        if !cleared.is_empty() {
            self.put(To::Err, &cleared);
        }
        std::mem::take(&mut self.drawn)
    }

    fn draw(&mut self, frame: Vec<(String, usize)>, home: &str) {
        // In one piece where the terminal can do that, and without wrapping, so that even a character of a wrongly guessed width leaves
        // the number of rows as it is.
        let mut text = format!("\u{1b}[?2026h\u{1b}[?7l{home}");
        for (line, _) in &frame {
            let _ = write!(text, "{line}\u{1b}[K\r\n");
        }
        text.push_str("\u{1b}[J\u{1b}[?7h\u{1b}[?2026l");
        self.put(To::Err, &text);
        self.drawn = frame;
        self.drawn_at = self.size();
    }
}

fn terminal_size() -> Option<Size> {
    let (columns, rows) = terminal_size::terminal_size_of(std::io::stderr())?;
    Some((usize::from(columns.0), usize::from(rows.0)))
}

//! A command line as words, the way a shell and `sops` split it.

/// Splits by white space outside of quotes; nothing if a quote is left open.
pub(super) fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '#' if word.is_none() => {
                characters.by_ref().find(|character| *character == '\n');
            }
            '\\' => word.get_or_insert_default().push(characters.next()?),
            quote @ ('\'' | '"') => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        end if end == quote => break,
                        '\\' if quote == '"' => word.push(characters.next()?),
                        other => word.push(other),
                    }
                }
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_split_as_a_shell_does() {
        for (line, words) in [
            ("", &[][..]),
            ("  pass show  age ", &["pass", "show", "age"]),
            ("sh -c 'cat \"$HOME/k\"'", &["sh", "-c", "cat \"$HOME/k\""]),
            (r#"a\ b "c \" d"e '' # rest"#, &["a b", "c \" de", ""]),
            ("a#b", &["a#b"]),
        ] {
            assert_eq!(split(line).as_deref(), Some(&words.iter().map(ToString::to_string).collect::<Vec<_>>()[..]), "{line}");
        }
        for open in ["'a", "\"a", "a\\", "\"a\\"] {
            assert_eq!(split(open), None, "{open}");
        }
    }
}

//! Lists in one text.

/// Splits at commas, semicolons and white space; or at NUL alone where there is one, so that items may have blanks.
pub fn split(text: &str) -> Vec<String> {
    if text.contains('\0') {
        return text.trim_end_matches('\0').split('\0').map(str::to_owned).collect();
    }
    text.split(|letter: char| letter == ',' || letter == ';' || letter.is_whitespace())
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect()
}

//! Placeholders in the words of a command.

/// The meaning of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholder<'a> {
    /// The address of a host.
    Address {
        /// The entry to which the host belongs. `None` means the entry whose command contains the
        /// placeholder.
        entry: Option<&'a str>,
        /// The side of the host: 0 is the sender's side, 1 is the receiver's side.
        side: usize,
        /// Whether the address is an IPv6 address.
        six: bool,
    },
    /// The number of whole seconds from the start of the entry to its stop. If no stop is set, the
    /// end of the run counts as its stop.
    Duration,
}

/// A piece of a word. A piece is plain text, or the text between two braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text that stays as it is.
    Text(&'a str),
    /// The text between braces, which may be a placeholder.
    Braces(&'a str),
}

/// Placeholders that refer to the entry whose command contains them.
pub const KNOWN: [&str; 5] = ["sender", "receiver", "sender6", "receiver6", "duration"];

/// Splits a word into pieces. Braces denote a placeholder if they enclose only letters, digits,
/// `_`, `-`, `+`, `/` and `.`. A `$` before the braces makes them plain text, because shells write
/// variables as `${NAME}`. "{{" denotes a literal brace.
pub fn pieces(word: &str) -> Vec<Piece<'_>> {
    let fits = |c: char| c.is_alphanumeric() || "_-+/.".contains(c);
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(brace) = word[at..].find('{').map(|found| at + found) {
        let rest = &word[brace + 1..];
        let len = rest.find(|c| !fits(c)).unwrap_or(rest.len());
        if rest.starts_with('{') {
            pieces.push(Piece::Text(&word[from..=brace]));
            at = brace + 2;
            from = at;
        } else if len > 0 && rest[len..].starts_with('}') && !word[..brace].ends_with('$') {
            pieces.push(Piece::Text(&word[from..brace]));
            pieces.push(Piece::Braces(&rest[..len]));
            at = brace + len + 2;
            from = at;
        } else {
            at = brace + 1;
        }
    }
    pieces.push(Piece::Text(&word[from..]));
    pieces.retain(|piece| *piece != Piece::Text(""));
    pieces
}

/// Converts a text between braces to a placeholder. Returns `None` if the text is not a
/// placeholder.
pub fn placeholder(text: &str) -> Option<Placeholder<'_>> {
    let (entry, last) = match text.rsplit_once('.') {
        Some((entry, last)) => (Some(entry), last),
        None => (None, text),
    };
    let (side, six) = match last {
        "sender" => (0, false),
        "receiver" => (1, false),
        "sender6" => (0, true),
        "receiver6" => (1, true),
        "duration" if entry.is_none() => return Some(Placeholder::Duration),
        _ => return None,
    };
    Some(Placeholder::Address { entry, side, six })
}

/// Replaces the placeholders in a word.
pub fn filled(word: &str, of: impl Fn(Placeholder<'_>) -> String) -> String {
    let filled = pieces(word).into_iter().map(|piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Braces(text) => placeholder(text).map_or_else(|| format!("{{{text}}}"), &of),
    });
    filled.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_of_other_languages_stay() {
        let of = |placeholder: Placeholder<'_>| match placeholder {
            Placeholder::Duration => "20".to_owned(),
            Placeholder::Address { entry, side, six } => {
                format!("<{} {side} {six}>", entry.unwrap_or("own"))
            }
        };
        for (word, expected) in [
            ("{sender}:4433", "<own 0 false>:4433"),
            ("[{web/2.receiver6}]:{duration}", "[<web/2 1 true>]:20"),
            ("${sender} {{sender} {}", "${sender} {sender} {}"),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"b":1}}"#),
            ("{ sender } {", "{ sender } {"),
            ("", ""),
        ] {
            assert_eq!(filled(word, of), expected, "{word}");
        }
        assert_eq!(pieces("{oops}"), [Piece::Braces("oops")]);
        assert_eq!(placeholder("web.duration"), None);
    }
}

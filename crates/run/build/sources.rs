//! Reads from Rust sources the tokens that a release build compiles, without comments, formatting
//! and tests.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The hash FNV-1a with 64 bits. An accidental collision between two versions of the sources is
/// practically impossible, and a deliberate collision would not help an attacker.
pub struct Hash(u64);

impl Default for Hash {
    fn default() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// Adds a word and a separator.
    pub fn update(&mut self, word: &str) {
        for byte in word.bytes().chain([0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Returns the hash of the words that have been added so far.
    pub fn value(&self) -> u64 {
        self.0
    }
}

/// Returns the file of a crate or module, followed by the files of its modules in the order of
/// declaration. Omits test modules.
pub fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let text = std::fs::read_to_string(root)
        .unwrap_or_else(|e| panic!("{} is part of the engine's version: {e}", root.display()));
    let folder = match root.file_name().and_then(|name| name.to_str()) {
        Some("lib.rs" | "mod.rs") => root.with_file_name(""),
        _ => root.with_extension(""),
    };
    for module in modules(&parse(&text)) {
        let beside = folder.join(format!("{module}.rs"));
        let inside = folder.join(&module).join("mod.rs");
        found.extend(files(if beside.exists() { &beside } else { &inside }));
    }
    found
}

/// Adds the tokens of a file that are compiled into a release.
pub fn hash_rust(text: &str, hash: &mut Hash) {
    add(parse(text), hash);
}

fn parse(text: &str) -> TokenStream {
    text.parse()
        .unwrap_or_else(|e| panic!("a source that compiles: {e}"))
}

/// Returns the modules that a file declares with `mod NAME;`.
fn modules(tokens: &TokenStream) -> Vec<String> {
    let kept: Vec<TokenTree> = compiled(tokens.clone());
    let three = kept.windows(3).filter_map(|at| match at {
        [
            TokenTree::Ident(word),
            TokenTree::Ident(name),
            TokenTree::Punct(end),
        ] if word == "mod" && end.as_char() == ';' => Some(name.to_string()),
        _ => None,
    });
    three.collect()
}

fn add(tokens: TokenStream, hash: &mut Hash) {
    for token in compiled(tokens) {
        match token {
            TokenTree::Group(group) => {
                hash.update(match group.delimiter() {
                    Delimiter::Parenthesis => "(",
                    Delimiter::Brace => "{",
                    Delimiter::Bracket => "[",
                    Delimiter::None => "",
                });
                add(group.stream(), hash);
                hash.update("end");
            }
            other => hash.update(&other.to_string()),
        }
    }
}

/// Returns the tokens without doc comments and without code that is compiled only for tests. For
/// the compiler, doc comments are attributes.
fn compiled(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        if !matches!(&token, TokenTree::Punct(hash) if hash.as_char() == '#') {
            kept.push(token);
            continue;
        }
        let mut head = vec![token];
        if let Some(TokenTree::Punct(bang)) = rest.peek()
            && bang.as_char() == '!'
        {
            head.extend(rest.next());
        }
        let attribute = match rest.peek() {
            Some(TokenTree::Group(group)) => group.stream().to_string().replace(' ', ""),
            _ => String::new(),
        };
        if attribute.starts_with("doc=") {
            rest.next();
        } else if attribute == "cfg(test)" && head.len() == 1 {
            rest.next();
            // An item with the attribute `cfg(test)` ends after its body in braces or at a
            // semicolon. An import ends only at a semicolon.
            let mut import = false;
            for token in rest.by_ref() {
                match token {
                    TokenTree::Ident(word) if word == "use" => import = true,
                    TokenTree::Punct(end) if end.as_char() == ';' => break,
                    TokenTree::Group(body) if body.delimiter() == Delimiter::Brace && !import => {
                        break;
                    }
                    _ => {}
                }
            }
        } else {
            kept.extend(head);
        }
    }
    kept
}

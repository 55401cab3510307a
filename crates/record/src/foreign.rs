//! Reads files of unknown origin, and makes untrusted text safe to print on a terminal.
//! `tailback.base.foreign` applies the same rules in Python.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

/// Returns the text of a regular file of at most `limit` bytes, or an error. An error does not
/// quote the file's content.
pub fn read_text(path: &Path, limit: u64) -> Result<String, String> {
    let file = open(path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("not a regular file".to_owned());
    }
    let too_large = || format!("larger than {} MiB; not read", limit >> 20);
    if about.len() > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // Limit the number of bytes to read, because the file may grow while it is read, and files in
    // /proc report size 0.
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > limit {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())
}

/// Opens a file without blocking, because opening a pipe would wait for a writer.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    const O_NONBLOCK: i32 = if cfg!(target_os = "linux") { 0o4000 } else { 4 };
    std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

/// Returns a text that is safe to print on one line of a terminal. Control characters, and
/// characters that reorder or hide text, become escapes such as `\x1b`.
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if harmless(c) {
            out.push(c);
            continue;
        }
        // Ignore the result, because formatting into a string cannot fail.
        _ = match u32::from(c) {
            code @ 0..=0xff => write!(out, "\\x{code:02x}"),
            code @ 0x100..=0xffff => write!(out, "\\u{code:04x}"),
            code => write!(out, "\\U{code:08x}"),
        };
    }
    Cow::Owned(out)
}

fn harmless(c: char) -> bool {
    // Reject the formatting characters (Unicode's category Cf), which fonts do not show.
    !(c.is_control()
        || matches!(c,
            '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read_text(&path, 10).unwrap(), "0123456789");
        assert!(read_text(&path, 9).unwrap_err().starts_with("larger than"));
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text(&path, 10).unwrap_err(), "not UTF-8 text");
        for other in [folder.path(), Path::new("/dev/zero")] {
            assert_eq!(read_text(other, 10).unwrap_err(), "not a regular file");
        }
        // Files in /proc report size 0 but have content.
        let own = read_text(Path::new("/proc/self/status"), 1 << 20).unwrap();
        assert!(own.contains("Name:"));
        assert!(read_text(Path::new("/proc/self/status"), 3).is_err());
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(
            shown("caf\u{e9} \u{b1} \u{2013}"),
            "caf\u{e9} \u{b1} \u{2013}"
        );
        assert_eq!(shown("\x1b]0;x\x07\n"), "\\x1b]0;x\\x07\\x0a");
        assert_eq!(shown("\u{9b}2J\u{202e}"), "\\x9b2J\\u202e");
        assert_eq!(shown("\u{e0041}"), "\\U000e0041");
    }
}

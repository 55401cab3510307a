//! Reads values of `[[programs]]`: command words, environment variables, readiness, dates, and
//! files.

use serde_json::{Value as Json, json};
use tailback_engine::plan::{FilePlan, Ready, RootPlan};
use tailback_engine::registry::{Kind, Value};
use tailback_engine::units::Time;

use super::reader::Reader;
use crate::read::{Item, Node, Problem, Toml, shorten};
use crate::request::Found;

pub(super) const WORDS: &str = "texts in quotes such as [\"a\", \"b\"]";
pub(super) const FILES: &str = "files and folders such as [\"./bin\"]";
pub(super) const FOLDER: &str = "a folder in quotes such as \"./image\"";
pub(super) const TEXTS: &str = "texts by name such as { NAME = \"value\" }";
pub(super) const READY: &str =
    "\"tcp:PORT\", \"udp:PORT\", \"stdout:TEXT\" or a time such as \"500ms\"";
pub(super) const DATE: &str =
    "a date such as \"2026-12-01\" or \"2026-12-01T12:00:00\", from 1990 to 2099";

/// Maximum length of each command word and environment variable of a program, in bytes.
const MAX_TEXT: usize = 16 << 10;

const MAX_WORDS: usize = 1000;

impl Reader<'_> {
    /// Reads the words of a command. Returns each word with its position.
    pub fn words<'n>(&mut self, item: &'n Item) -> Option<Vec<(&'n str, &'n Node)>> {
        let list = item.node.array().unwrap_or_default();
        if item.node.array().is_none() || list.len() > MAX_WORDS {
            self.wrong(&item.key, &item.node, WORDS);
            return None;
        }
        let mut words = Vec::new();
        for node in list {
            match node.string() {
                Some(text) if text.len() <= MAX_TEXT && !text.contains('\0') => {
                    words.push((text, node));
                }
                _ => self.wrong(&item.key, node, "a text in quotes"),
            }
        }
        (words.len() == list.len()).then_some(words)
    }

    /// Reads a table of texts, such as environment variables, sorted by name.
    pub fn texts<'n>(&mut self, item: &'n Item) -> Vec<(&'n Item, &'n str)> {
        let Some(table) = item.node.table() else {
            self.wrong(&item.key, &item.node, TEXTS);
            return Vec::new();
        };
        let mut texts = Vec::new();
        for one in &table.0 {
            match one.node.string() {
                Some(text) if text.len() <= MAX_TEXT && !text.contains('\0') => {
                    texts.push((one, text));
                }
                _ => self.wrong(&one.key, &one.node, "a text in quotes"),
            }
        }
        texts.sort_by_key(|(item, _)| &item.key);
        texts
    }

    /// Reads the condition under which a server counts as ready.
    pub fn ready(&mut self, item: &Item) -> Option<Ready> {
        let text = item.node.string().unwrap_or_default();
        let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
        let ready = match text.split_once(':') {
            Some(("tcp", rest)) => port(rest).map(Ready::Tcp),
            Some(("udp", rest)) => port(rest).map(Ready::Udp),
            Some(("stdout", rest)) => {
                let fits = !rest.is_empty() && rest.len() <= 1000 && !rest.contains('\n');
                fits.then(|| Ready::Stdout(rest.to_owned()))
            }
            _ => {
                let time =
                    tailback_engine::registry::parse_word(Kind::Time { min: Time::ZERO }, text);
                match time {
                    Ok(Value::Time(time)) if time <= Time::from_secs(10) => {
                        Some(Ready::After(time))
                    }
                    _ => None,
                }
            }
        };
        if ready.is_none() {
            self.wrong(&item.key, &item.node, format!("{READY}, at most 10s"));
        }
        ready
    }

    /// Reads a date as seconds since 1970.
    pub fn date(&mut self, item: &Item) -> Option<u64> {
        let text = match &item.node.value {
            Toml::String(text) | Toml::Datetime(text) => text.as_str(),
            _ => "",
        };
        let date = seconds_of(text);
        if date.is_none() {
            self.wrong(&item.key, &item.node, DATE);
        }
        date
    }

    /// Reads the files and folders that a program needs, relative to the scenario.
    pub fn files(&mut self, item: &Item) -> Vec<FilePlan> {
        let mut files: Vec<FilePlan> = Vec::new();
        let Some(list) = item.node.array() else {
            self.wrong(&item.key, &item.node, FILES);
            return files;
        };
        for node in list {
            let Some(text) = node.string().filter(|text| !text.is_empty()) else {
                self.wrong(&item.key, node, "the name of a file or folder in quotes");
                continue;
            };
            let found = match self.contents.get(text, self.load_files) {
                Ok(found) => found,
                Err(error) => {
                    let message = format!("\"{}\": {error}", shorten(text));
                    let problem = Problem::new(node.span, message);
                    self.problem(problem.expected("a file or folder beside the scenario file"));
                    continue;
                }
            };
            let name = name_of(text).or_else(|| name_of(&found.path));
            let Some(name) = name else {
                self.wrong(&item.key, node, "a file or folder with a name");
                continue;
            };
            if let Some(other) = files.iter().find(|file| file.name == name) {
                let message = format!("\"{name}\" is twice in /files");
                let problem = Problem::new(node.span, message);
                self.problem(match other.path == found.path {
                    true => problem.expected("it once").help("remove one of them"),
                    false => problem.expected("files and folders with different names"),
                });
                continue;
            }
            files.push(FilePlan {
                name: name.to_owned(),
                path: found.path,
                hash: found.hash,
            });
        }
        files
    }

    /// Reads the root folder of programs, relative to the scenario.
    pub fn root(&mut self, item: &Item) -> Option<RootPlan> {
        let Some(text) = item.node.string().filter(|text| !text.is_empty()) else {
            self.wrong(&item.key, &item.node, FOLDER);
            return None;
        };
        match self.roots.get(text, self.load_root) {
            Ok(Found { path, hash }) => Some(RootPlan { path, hash }),
            Err(error) => {
                let message = format!("\"{}\": {error}", shorten(text));
                let problem = Problem::new(item.node.span, message);
                self.problem(problem.expected(
                    "a folder with the files of a container image, beside the scenario file",
                ));
                None
            }
        }
    }
}

/// Returns the last part of a path, if this part can be a file name.
fn name_of(path: &str) -> Option<&str> {
    let last = path.trim_end_matches('/').rsplit('/').next()?;
    let good = !matches!(last, "" | "." | "..") && !last.contains(char::is_control);
    good.then_some(last)
}

/// Parses a date such as "2026-12-01" or "2026-12-01T12:00:00", with or without a Z. Returns the
/// seconds since 1970.
fn seconds_of(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time.strip_suffix('Z').unwrap_or(time))),
        None => (text, None),
    };
    let number = |text: &str, digits: usize, most: u64| {
        let fits = text.len() == digits && text.bytes().all(|b| b.is_ascii_digit());
        let number = text.parse::<u64>().ok().filter(|_| fits)?;
        (number <= most).then_some(number)
    };
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4, 2099).filter(|year| *year >= 1990)?;
    let month = number(parts.next()?, 2, 12).filter(|month| *month > 0)?;
    let day = number(parts.next()?, 2, 31).filter(|day| *day > 0)?;
    if parts.next().is_some() || day > days_in(year, month) {
        return None;
    }
    let years: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    let months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    let mut seconds = (years + months + day - 1) * 86_400;
    if let Some(time) = time {
        let mut parts = time.split(':');
        seconds += 3600 * number(parts.next()?, 2, 23)?;
        seconds += 60 * number(parts.next()?, 2, 59)?;
        seconds += number(parts.next()?, 2, 59)?;
        if parts.next().is_some() {
            return None;
        }
    }
    Some(seconds)
}

fn leap(year: u64) -> bool {
    // Every fourth year is a leap year. This simple rule is correct from 1990 to 2099.
    year.is_multiple_of(4)
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub(super) fn ready_schema() -> Json {
    json!({ "type": "string", "pattern": r"^((tcp|udp):\d+|stdout:.+|[\d.]+\s*[a-z]+)$" })
}

pub(super) fn date_schema() -> Json {
    let pattern = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\dZ?)?$";
    json!({ "type": "string", "pattern": pattern })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(seconds_of("2026-01-01"), Some(tailback_engine::plan::DATE));
        assert_eq!(seconds_of("2026-12-01"), Some(1_796_083_200));
        assert_eq!(seconds_of("2024-02-29T23:59:59Z"), Some(1_709_251_199));
        for wrong in [
            "2026-02-29",
            "26-01-01",
            "2026-13-01",
            "2026-01-01T24:00:00",
            "",
        ] {
            assert_eq!(seconds_of(wrong), None, "{wrong}");
        }
    }
}

//! Describes for error messages which values each kind of key accepts.

use tailback_engine::keys::{Key, KeyKind};
use tailback_engine::registry::Kind;

use super::metrics::Assert;
use super::{burst, choice, name, pauses, program, rate, schedule, value};

pub(crate) fn expectation(kind: KeyKind) -> String {
    match kind {
        KeyKind::Plain(kind) => value::expectation(kind),
        KeyKind::Text => "a text in quotes".to_owned(),
        KeyKind::Hosts => "the names of two hosts, [\"a\", \"b\"]".to_owned(),
        KeyKind::Pauses => pauses::EXPECTED.to_owned(),
        KeyKind::Name => name::NAME.to_owned(),
        KeyKind::Class => name::CLASS.to_owned(),
        KeyKind::Rate => rate::EXPECTED.to_owned(),
        KeyKind::Entry(registry) => choice::expectation(registry),
        KeyKind::Word(registry) => choice::name_expectation(registry),
        KeyKind::Route => "names of links such as [\"a\", \"b\"]".to_owned(),
        KeyKind::Folders => "folders such as [\"./my-cc\"]".to_owned(),
        KeyKind::Files => program::FILES.to_owned(),
        KeyKind::Folder => program::FOLDER.to_owned(),
        KeyKind::Words => program::WORDS.to_owned(),
        KeyKind::Texts => program::TEXTS.to_owned(),
        KeyKind::Ready => program::READY.to_owned(),
        KeyKind::Date => program::DATE.to_owned(),
        KeyKind::Schedule => schedule::EXPECTED.to_owned(),
        KeyKind::Burst => burst::EXPECTED.to_owned(),
        KeyKind::Switch(words) => format!("one of {}, or true or false", words.join(", ")),
        KeyKind::Table(_) | KeyKind::Map(_) | KeyKind::Sweep | KeyKind::Changes => {
            "a table".to_owned()
        }
        KeyKind::List(def) => format!("tables, each under {}", def.label),
        KeyKind::Asserts => format!("tables, each under {}", Assert::TABLE.label),
    }
}

pub(crate) fn example(key: &Key) -> String {
    match key.kind {
        KeyKind::Entry(registry) | KeyKind::Word(registry) => choice::example(registry),
        KeyKind::Rate => "\"100Mbit\"".to_owned(),
        KeyKind::Plain(Kind::Time { .. }) if key.name == "duration" => "\"30s\"".to_owned(),
        KeyKind::Plain(Kind::Time { .. }) => "\"20ms\"".to_owned(),
        KeyKind::Text => "\"...\"".to_owned(),
        other => expectation(other),
    }
}

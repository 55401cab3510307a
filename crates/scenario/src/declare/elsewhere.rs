//! If users write a key in the wrong table or with a wrong name, finds the right table and name.

use tailback_engine::keys::{KeyKind, TableDef};
use tailback_engine::plan::Plan;

use crate::read::synonyms;

/// Returns the advice to move a key from one table to the tables that accept a key of this name.
/// Returns `None` if no other table accepts a key of this name.
pub(super) fn move_to(name: &str, from: &TableDef) -> Option<String> {
    Some(format!("move \"{name}\" to {}", places(name, from)?))
}

/// Returns the advice to write the right name of a key in the tables that accept this key. `name`
/// is the wrong name that the user has written.
pub(super) fn write_in(name: &str, from: &TableDef) -> Option<String> {
    synonyms::meant(name).find_map(|meant| match meant {
        "queue.limit" => Some(format!("{BUFFER} in {}", places("queue", from)?)),
        _ => Some(format!("write \"{meant}\" in {}", places(meant, from)?)),
    })
}

/// Returns the advice to set the limit of the queue, if the table has a queue and `name` is another
/// word for the buffer size.
pub(super) fn set_buffer(name: &str, table: &TableDef) -> Option<String> {
    let is_buffer = synonyms::meant(name).any(|meant| meant == "queue.limit");
    (is_buffer && table.key("queue").is_some()).then(|| BUFFER.to_owned())
}

const BUFFER: &str = "write \"queue.limit\", as in queue = { aqm = \"fifo\", limit = \"100p\" }";

/// Returns the tables other than `from` that accept a key of this name, as text.
fn places(name: &str, from: &TableDef) -> Option<String> {
    let mut places: Vec<String> = Vec::new();
    for key in Plan::TABLE.keys {
        let (def, place) = match key.kind {
            KeyKind::Table(def) => (def, format!("[{}]", key.name)),
            KeyKind::Map(def) => (def, format!("[{}.NAME]", key.name)),
            KeyKind::List(def) => (def, format!("[[{}]]", key.name)),
            KeyKind::Sweep if name == "seeds" => {
                places.push("[sweep]".to_owned());
                continue;
            }
            _ => continue,
        };
        if def.key(name).is_some() && def.label != from.label {
            places.push(place);
        }
    }
    if from.label != Plan::TABLE.label && Plan::TABLE.key(name).is_some() {
        places = vec!["the top of the file".to_owned()];
    }
    let last = places.pop()?;
    Some(match places.as_slice() {
        [] => last,
        others => format!("{} or {last}", others.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_another_table_has_a_place() {
        let table = |name: &str| match Plan::TABLE.key(name).map(|key| key.kind) {
            Some(KeyKind::Table(def) | KeyKind::Map(def) | KeyKind::List(def)) => def,
            _ => panic!("{name} is no table"),
        };
        let moves = [
            (
                "rate",
                table("path"),
                "move \"rate\" to [bottleneck], [links.NAME] or [[flows]]",
            ),
            ("seeds", &Plan::TABLE, "move \"seeds\" to [sweep]"),
            (
                "duration",
                table("bottleneck"),
                "move \"duration\" to the top of the file",
            ),
        ];
        for (name, from, help) in moves {
            assert_eq!(move_to(name, from).as_deref(), Some(help));
        }
        assert_eq!(move_to("lss", table("bottleneck")), None);
    }
}

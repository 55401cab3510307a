//! Runs the conformance tests on every queue discipline of tailback.

use tailback_conformance::queue::{
    conserves_packets_order_and_ecn, is_documented, serves_a_long_overload,
};
use tailback_engine::aqm::ENTRIES;

#[test]
fn any_sequence_conserves_packets_order_and_ecn() {
    ENTRIES
        .iter()
        .for_each(|entry| conserves_packets_order_and_ecn(entry));
}

#[test]
fn a_long_overload_is_conserved_and_served_without_a_pause() {
    ENTRIES
        .iter()
        .for_each(|entry| serves_a_long_overload(entry));
}

#[test]
fn names_are_unique_and_documented() {
    for (i, entry) in ENTRIES.iter().enumerate() {
        assert!(ENTRIES[..i].iter().all(|e| e.name != entry.name));
        is_documented(entry);
    }
}

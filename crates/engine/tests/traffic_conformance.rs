//! Runs the conformance tests on every kind of traffic of tailback.

use tailback_conformance::traffic::{
    has_every_packet_somewhere, has_steps_of_its_transport_and_seed,
};
use tailback_engine::traffic::ENTRIES;

#[test]
fn steps_are_those_of_the_transport_and_of_the_seed() {
    ENTRIES
        .iter()
        .for_each(|entry| has_steps_of_its_transport_and_seed(entry));
}

#[test]
fn every_packet_is_somewhere() {
    ENTRIES
        .iter()
        .for_each(|entry| has_every_packet_somewhere(entry));
}

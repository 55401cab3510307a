//! Hosts that send every packet at once.

use super::HostKind;

pub(super) const KIND: HostKind = HostKind {
    name: "ideal",
    doc: "Packets do not wait.",
    source: "",
    wait: None,
    pauses: None,
};

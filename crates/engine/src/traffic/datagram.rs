//! Datagrams at a constant rate: what kinds of unresponsive traffic have in common.

use super::Step;
use crate::packet::Ecn;
use crate::registry::{Kind, Opt, Options, Value};
use crate::units::Rate;

/// Rate in frame bytes; kinds that rest in between say so.
pub const RATE: Opt = Opt {
    name: "rate",
    doc: "Rate in frame bytes.",
    kind: Kind::Rate,
    default: Some("1Mbit"),
    tc: None,
};

/// ECN field.
pub const ECN: Opt = Opt {
    name: "ecn",
    doc: "ECN field of every packet.",
    kind: Kind::Word(&["not-ect", "ect0", "ect1"]),
    default: Some("not-ect"),
    tc: None,
};

/// Frame length.
pub const PACKET_SIZE: Opt = Opt {
    name: "packet_size",
    doc: "Frame length in bytes.",
    kind: Kind::Int {
        min: 64,
        max: 65535,
    },
    default: Some("1514"),
    tc: None,
};

/// What these options say.
#[derive(Clone, Copy)]
pub struct Datagrams {
    /// While it sends, in frame bytes.
    pub rate: Rate,
    /// Frame length, bytes.
    pub len: u16,
    ecn: Ecn,
}

impl Datagrams {
    /// Reads the options.
    pub fn of(options: &Options) -> Datagrams {
        let Some(Value::Rate(rate)) = options.get("rate") else {
            unreachable!("it has a default")
        };
        Datagrams {
            rate: *rate,
            len: options.int("packet_size") as u16,
            ecn: match options.word("ecn") {
                "ect0" => Ecn::Ect0,
                "ect1" => Ecn::Ect1,
                _ => Ecn::NotEct,
            },
        }
    }

    /// Sends one.
    pub fn send(&self) -> Step {
        Step::Send {
            len: self.len,
            ecn: self.ecn,
        }
    }
}

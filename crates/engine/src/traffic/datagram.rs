//! What kinds of traffic that send datagrams have in common: their rate, and what the receiving end
//! does with them.

use tailback_record::FrameRules;

use super::Step;
use crate::packet::Ecn;
use crate::registry::{Kind, Opt, Options, Value};
use crate::units::{Rate, Time};

/// Rate in frame bytes; kinds with pauses state them.
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
    /// Frame length, bytes; of media, of the longest one.
    pub len: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// What the receiving end does with them.
    pub role: Role,
}

/// What the receiving end does with datagrams, besides counting them and their delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    Sink,
    /// It sends each one back.
    Echo,
    /// It puts frames of media together.
    Frames {
        /// What is judged.
        rules: FrameRules,
        /// Time from one report to the source to the next; `None`: it does not report.
        report: Option<Time>,
        /// Whether other options make it report.
        may_report: bool,
    },
}

impl Role {
    /// Whether it may send datagrams back.
    pub fn answers(&self) -> bool {
        matches!(
            self,
            Role::Echo
                | Role::Frames {
                    may_report: true,
                    ..
                }
        )
    }
}

/// Bytes of a datagram with media that are no media: Ethernet, IP, UDP and RTP headers.
pub const MEDIA_HEADERS: u16 = 14 + 20 + 8 + 12;

/// Reads the option `ecn`.
pub fn ecn_of(options: &Options) -> Ecn {
    match options.word("ecn") {
        "ect0" => Ecn::Ect0,
        "ect1" => Ecn::Ect1,
        _ => Ecn::NotEct,
    }
}

/// Reads an option that is a rate and has a default.
pub fn rate_of(options: &Options, name: &str) -> Rate {
    match options.get(name) {
        Some(Value::Rate(rate)) => *rate,
        _ => unreachable!("it has a default"),
    }
}

impl Datagrams {
    /// Reads the options.
    pub fn of(options: &Options) -> Datagrams {
        Datagrams {
            rate: rate_of(options, "rate"),
            len: options.int("packet_size") as u16,
            ecn: ecn_of(options),
            role: Role::Sink,
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

//! Properties that all kinds of traffic with datagrams share: their rate, and what the receiving
//! end does with the datagrams.

use tailback_record::FrameRules;

use super::Step;
use crate::packet::Ecn;
use crate::registry::{Kind, Opt, Options, Value};
use crate::units::{Rate, Time};

/// Option: the rate in frame bytes. For kinds with pauses, it is the rate between pauses.
pub const RATE: Opt = Opt {
    name: "rate",
    doc: "Rate of whole Ethernet frames, headers included.",
    kind: Kind::Rate,
    default: Some("1Mbit"),
    tc: None,
};

/// Option: the ECN field.
pub const ECN: Opt = Opt {
    name: "ecn",
    doc: "ECN field of every packet.",
    kind: Kind::Word(&["not-ect", "ect0", "ect1"]),
    default: Some("not-ect"),
    tc: None,
};

/// Option: the frame length.
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

/// The datagrams that the options of a source describe.
#[derive(Clone, Copy)]
pub struct Datagrams {
    /// Rate while the source sends, in frame bytes.
    pub rate: Rate,
    /// Frame length, bytes. For media, the length of the longest frame.
    pub len: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// What the receiving end does with the datagrams.
    pub role: Role,
}

/// What the receiving end does with datagrams in addition to counting them and measuring their
/// delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It does nothing else.
    Sink,
    /// It sends each datagram back.
    Echo,
    /// It reassembles media frames.
    Frames {
        /// Rules that determine which frames are late or playable.
        rules: FrameRules,
        /// Time from one report to the next. `None` if the receiving end does not send reports.
        report: Option<Time>,
        /// Whether the receiving end could send reports if the options had other values.
        may_report: bool,
    },
}

impl Role {
    /// Returns whether the receiving end may send datagrams back.
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

/// Bytes of the headers before the media in a datagram: Ethernet, IP, UDP and RTP.
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
    /// Reads the options of a source.
    pub fn of(options: &Options) -> Datagrams {
        Datagrams {
            rate: rate_of(options, "rate"),
            len: options.int("packet_size") as u16,
            ecn: ecn_of(options),
            role: Role::Sink,
        }
    }

    /// Returns the step that sends one datagram.
    pub fn send(&self) -> Step {
        Step::Send {
            len: self.len,
            ecn: self.ecn,
        }
    }
}

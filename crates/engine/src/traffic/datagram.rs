//! Properties that all kinds of datagram traffic have: the rate, the frame length, the ECN field,
//! and what the receiving end does with the datagrams.

use tailback_record::FrameRules;

use super::Step;
use crate::packet::Ecn;
use crate::registry::{Kind, Opt, Options, Value};
use crate::units::{Rate, Time};

/// The option `rate`, in frame bytes. For traffic with pauses, the option is the rate between
/// pauses.
pub const RATE: Opt = Opt {
    name: "rate",
    doc: "Rate of whole Ethernet frames, headers included.",
    kind: Kind::Rate,
    default: Some("1Mbit"),
    tc: None,
};

/// Option `ecn`.
pub const ECN: Opt = Opt {
    name: "ecn",
    doc: "ECN field of every packet.",
    kind: Kind::Word(&["not-ect", "ect0", "ect1"]),
    default: Some("not-ect"),
    tc: None,
};

/// The option for the frame length.
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

/// The properties of a source's datagrams. The options of the source determine them.
#[derive(Clone, Copy)]
pub struct Datagrams {
    /// The rate while the source sends, in frame bytes.
    pub rate: Rate,
    /// Frame length, in bytes. For media, `len` is the length of the longest frame.
    pub len: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// What the receiving end does with the datagrams.
    pub role: Role,
}

/// What the receiving end of a source does with datagrams. In every role, the receiving end counts
/// the datagrams and measures their delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The receiving end does nothing else.
    Sink,
    /// The receiving end sends each datagram back to the source.
    Echo,
    /// The receiving end assembles media frames, and may send reports to the source.
    Frames {
        /// The rules that decide which frames arrive too late and which are playable.
        rules: FrameRules,
        /// Time from one report to the next. `None` if the receiving end does not send reports.
        report: Option<Time>,
        /// Whether the receiving ends of sources of this kind may send reports, even if this
        /// receiving end sends none.
        may_report: bool,
    },
}

impl Role {
    /// Returns whether the receiving end may send datagrams back to the source.
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

/// Length of the headers before the media in a datagram, in bytes: Ethernet, IP, UDP and RTP.
pub const MEDIA_HEADERS: u16 = 14 + 20 + 8 + 12;

/// Reads the option `ecn`.
pub fn ecn_of(options: &Options) -> Ecn {
    match options.word("ecn") {
        "ect0" => Ecn::Ect0,
        "ect1" => Ecn::Ect1,
        _ => Ecn::NotEct,
    }
}

/// Returns the value of an option that is a rate and has a default.
pub fn rate_of(options: &Options, name: &str) -> Rate {
    match options.get(name) {
        Some(Value::Rate(rate)) => *rate,
        _ => unreachable!("it has a default"),
    }
}

impl Datagrams {
    /// Returns the properties of the datagrams that these options determine.
    pub fn of(options: &Options) -> Datagrams {
        Datagrams {
            rate: rate_of(options, "rate"),
            len: options.int("packet_size") as u16,
            ecn: ecn_of(options),
            role: Role::Sink,
        }
    }

    /// Returns the step [`Step::Send`] for one datagram.
    pub fn send(&self) -> Step {
        Step::Send {
            len: self.len,
            ecn: self.ecn,
        }
    }
}

//! A parsed packetdrill script.

use crate::check::Statement;

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The `--name=value` lines at the head of the script.
    pub options: Vec<(String, String)>,
    /// The steps, in order.
    pub events: Vec<Event>,
}

/// One step of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// First line of the step, from 1.
    pub line: u32,
    /// Time of the step.
    pub at: When,
    /// Action of the step.
    pub what: What,
}

/// When a step happens, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Earliest and latest time, counted from the beginning of the script.
    Absolute(u64, u64),
    /// Earliest and latest time, counted from the previous step.
    Relative(u64, u64),
    /// The step may happen at any time (`*`).
    Any,
}

/// The action of a step.
#[derive(Clone, Debug)]
pub enum What {
    /// A TCP packet.
    Packet(Box<Segment>),
    /// An ICMP message, which is not parsed.
    Icmp(String),
    /// A system call.
    Call(Call),
    /// Shell commands.
    Shell(String),
    /// Assertions about the connection.
    Check(Vec<Statement>),
}

/// A TCP packet in the notation of scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Whether the script sends the packet to the host under test.
    pub inbound: bool,
    /// ECN codepoint in brackets: `ect0`, `ect1`, `ce`, `noecn`.
    pub ecn: Option<String>,
    /// TCP flags, one character each.
    pub flags: String,
    /// First sequence number, in bytes relative to the SYN.
    pub start: u32,
    /// Sequence number after the last payload byte.
    pub end: u32,
    /// Acknowledgement number, if the script states it.
    pub ack: Option<u32>,
    /// Window field, not scaled, if the script states it.
    pub win: Option<u32>,
    /// Urgent pointer, if the script states it.
    pub urgent: Option<u32>,
    /// TCP options. `None` if the script has no list of options.
    pub options: Option<Vec<TcpOption>>,
}

impl Segment {
    /// Whether a flag is set.
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Returns the number of payload bytes.
    pub fn len(&self) -> u32 {
        self.end.wrapping_sub(self.start)
    }

    /// Returns whether the packet has no payload.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the options. Empty if the script has no list of options.
    pub fn options(&self) -> &[TcpOption] {
        self.options.as_deref().unwrap_or(&[])
    }

    /// Returns the SACK blocks, in bytes.
    pub fn sack(&self) -> &[(u32, u32)] {
        self.options()
            .iter()
            .find_map(|o| match o {
                TcpOption::Sack(blocks) => Some(blocks.as_slice()),
                _ => None,
            })
            .unwrap_or(&[])
    }

    /// Returns the counters of the AccECN option: ECT(1), CE and ECT(0).
    pub fn accecn(&self) -> Option<[Option<u32>; 3]> {
        self.options().iter().find_map(|o| match o {
            TcpOption::AccEcn(counters) => Some(*counters),
            _ => None,
        })
    }

    /// Returns the ACE field (RFC 9768 section 3.2.2), written as a digit or as the letters A, W
    /// and E.
    pub fn ace(&self) -> u32 {
        let digit = self.flags.chars().find_map(|c| c.to_digit(10));
        digit.unwrap_or_else(|| {
            [('A', 4), ('W', 2), ('E', 1)]
                .iter()
                .filter(|(letter, _)| self.has(*letter))
                .map(|(_, bit)| bit)
                .sum()
        })
    }

    /// Returns the value and the echo of the timestamp option.
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        self.options().iter().find_map(|o| match o {
            TcpOption::Timestamps(value, echo) => Some((*value, *echo)),
            _ => None,
        })
    }
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// `nop` or `eol`.
    Padding,
    /// The notation `...`: any other options may follow.
    Any,
    /// Maximum segment size, in bytes.
    Mss(u32),
    /// Window scale, in bits.
    WindowScale(u32),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks, in bytes.
    Sack(Vec<(u32, u32)>),
    /// Timestamp and echo, in ticks.
    Timestamps(u32, u32),
    /// The AccECN option: byte counters of ECT(1), CE and ECT(0), as on the wire.
    AccEcn([Option<u32>; 3]),
    /// Another option, in the notation of the script.
    Other(String),
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name of the call.
    pub name: String,
    /// Arguments, in the notation of the script.
    pub args: Vec<String>,
    /// Return value that the script expects.
    pub result: i64,
    /// Error code that the script expects, such as `EAGAIN`.
    pub errno: Option<String>,
}

impl Call {
    /// Returns an argument, or an empty string if the call does not have this argument.
    pub fn arg(&self, n: usize) -> &str {
        self.args.get(n).map_or("", String::as_str)
    }
}

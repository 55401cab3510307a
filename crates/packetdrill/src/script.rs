//! A parsed packetdrill script.

use crate::check::Statement;

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// `--name=value` lines at its head.
    pub options: Vec<(String, String)>,
    /// What happens, in order.
    pub events: Vec<Event>,
}

/// One step of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// Line it begins on, from 1.
    pub line: u32,
    /// When.
    pub at: When,
    /// What.
    pub what: What,
}

/// When a step happens. Times are in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Since the script began; the earliest and the latest time.
    Absolute(u64, u64),
    /// Since the step before.
    Relative(u64, u64),
    /// `*`: some time.
    Any,
}

/// What a step is.
#[derive(Clone, Debug)]
pub enum What {
    /// A TCP packet.
    Packet(Box<Segment>),
    /// An ICMP message, unparsed.
    Icmp(String),
    /// A system call.
    Call(Call),
    /// Shell commands.
    Shell(String),
    /// Assertions.
    Check(Vec<Statement>),
}

/// A TCP packet as scripts write it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Towards the host under test.
    pub inbound: bool,
    /// ECN codepoint in brackets: `ect0`, `ect1`, `ce`, `noecn`.
    pub ecn: Option<String>,
    /// TCP flags, one character each.
    pub flags: String,
    /// First sequence number, bytes, relative to the SYN.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// Acknowledgement.
    pub ack: Option<u32>,
    /// Window field, not scaled.
    pub win: Option<u32>,
    /// Urgent pointer.
    pub urgent: Option<u32>,
    /// Options; `None`: no list was given.
    pub options: Option<Vec<TcpOption>>,
}

impl Segment {
    /// Whether a flag is set.
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// Payload bytes.
    pub fn len(&self) -> u32 {
        self.end.wrapping_sub(self.start)
    }

    /// Whether there is no payload.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Its options, none if no list was given.
    pub fn options(&self) -> &[TcpOption] {
        self.options.as_deref().unwrap_or(&[])
    }

    /// Its SACK blocks, bytes.
    pub fn sack(&self) -> &[(u32, u32)] {
        self.options()
            .iter()
            .find_map(|o| match o {
                TcpOption::Sack(blocks) => Some(blocks.as_slice()),
                _ => None,
            })
            .unwrap_or(&[])
    }

    /// The counters of its AccECN option, of ECT(1), CE and ECT(0).
    pub fn accecn(&self) -> Option<[Option<u32>; 3]> {
        self.options().iter().find_map(|o| match o {
            TcpOption::AccEcn(counters) => Some(*counters),
            _ => None,
        })
    }

    /// Its ACE field (RFC 9768 section 3.2.2): a digit, or the letters A, W and E.
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

    /// Its timestamp option: value and echo.
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
    /// `nop`, `eol`.
    Padding,
    /// `...`: whatever they are.
    Any,
    /// Maximum segment size, bytes.
    Mss(u32),
    /// Window scale, bits.
    WindowScale(u32),
    /// SACK permitted.
    SackPermitted,
    /// Blocks, bytes.
    Sack(Vec<(u32, u32)>),
    /// Timestamp and echo, ticks.
    Timestamps(u32, u32),
    /// The AccECN option: byte counters of ECT(1), CE and ECT(0), as on the wire.
    AccEcn([Option<u32>; 3]),
    /// Another, as written.
    Other(String),
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub name: String,
    /// Arguments, as written.
    pub args: Vec<String>,
    /// What it returns.
    pub result: i64,
    /// The error it sets.
    pub errno: Option<String>,
}

impl Call {
    /// An argument; empty if the call does not have it.
    pub fn arg(&self, n: usize) -> &str {
        self.args.get(n).map_or("", String::as_str)
    }
}

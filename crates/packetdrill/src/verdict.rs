//! Declares the results of a script, and the reasons why a script may not apply to the simulator.

/// Why a script does not apply to the simulator. If there are several reasons, the report states
/// the reason that comes first in the order of the variants, because it explains the verdict best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// The script is only about IPv6.
    Ipv6,
    /// TCP Fast Open.
    FastOpen,
    /// MD5 signatures.
    Md5,
    /// SYN cookies.
    SynCookies,
    /// Urgent data.
    Urgent,
    /// Zero-copy sending and send timestamps, which use the error queue of a socket.
    ErrorQueue,
    /// Nagle's algorithm, corking (`TCP_CORK`), and message boundaries.
    Nagle,
    /// Path MTU discovery and ICMP.
    Pmtu,
    /// A connection that gives up after timeouts.
    GiveUp,
    /// Receive buffers, and windows that close.
    Window,
    /// System calls and their errors.
    Socket,
    /// Shell commands and settings without a counterpart in the simulator.
    Command,
    /// Loss recovery without SACK.
    NoSack,
    /// Partial segments, because the simulator sends and receives only complete segments.
    PartOfSegment,
    /// The handshake, and resets during the handshake.
    Handshake,
    /// Challenge ACKs (RFC 5961).
    Challenge,
    /// FIN and RST.
    Close,
    /// No packet or assertion of the script depends on the simulator.
    Nothing,
}

impl Category {
    /// Returns a short label for the category.
    pub const fn label(self) -> &'static str {
        match self {
            Category::Ipv6 => "IPv6",
            Category::FastOpen => "Fast Open",
            Category::Md5 => "MD5",
            Category::SynCookies => "SYN cookies",
            Category::Urgent => "urgent data",
            Category::ErrorQueue => "error queue (zero copy, time stamps)",
            Category::Nagle => "Nagle, corking, message boundaries",
            Category::Pmtu => "path MTU, ICMP",
            Category::GiveUp => "giving up",
            Category::Window => "receive buffer and closed windows",
            Category::Socket => "system calls",
            Category::Command => "settings and counters",
            Category::NoSack => "recovery without SACK",
            Category::PartOfSegment => "parts of segments",
            Category::Handshake => "handshake",
            Category::Challenge => "challenge ACKs",
            Category::Close => "closing",
            Category::Nothing => "nothing to compare",
        }
    }
}

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The simulator behaves as expected.
    Pass {
        /// Line of the packet that begins to close the connection. The interpreter checks the
        /// script only up to this line. `None` if the whole script was checked.
        until: Option<u32>,
    },
    /// The simulator's behaviour differs from the script's expectation.
    Fail {
        /// Line in the script.
        line: u32,
        /// What the script expects.
        expected: String,
        /// What the simulator sent or did instead of the expected action.
        got: String,
    },
    /// The script tests something that the simulator does not have.
    NotApplicable {
        /// Line in the script.
        line: u32,
        /// The category of the reason.
        category: Category,
        /// The reason.
        why: String,
    },
}

/// A verdict, and the number of checks that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Number of packets from the simulator that matched the script.
    pub packets: u32,
    /// Number of fields compared in the matching packets: ECN field, ECN flags, AccECN option, SACK
    /// blocks and echoed timestamp.
    pub fields: u32,
    /// Number of assertions that held.
    pub assertions: u32,
    /// Names in assertions that were not checked, because the simulator does not have their values.
    pub unjudged: Vec<String>,
}

impl Judged {
    /// Returns whether the script checks enough to distinguish a correct sender or receiver from an
    /// incorrect one. A single packet with only a sequence range is not enough, because every
    /// implementation of TCP sends such a packet.
    pub fn asserts(&self) -> bool {
        self.assertions + self.fields > 0 || self.packets > 1
    }
}

/// Category and text of the reason why a script does not apply.
pub(crate) type Beyond = (Category, String);

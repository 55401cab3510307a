//! The verdict on the simulator, and why a script does not apply to it.

/// Why a script does not apply to the simulator. The order decides which reason is reported: the
/// kinds that explain a script best come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// The script only concerns IPv6.
    Ipv6,
    /// TCP Fast Open.
    FastOpen,
    /// MD5 signatures.
    Md5,
    /// SYN cookies.
    SynCookies,
    /// Urgent data.
    Urgent,
    /// Zero copy and timestamps of sends, which use a socket's error queue.
    ErrorQueue,
    /// Nagle's algorithm, corking, boundaries of messages.
    Nagle,
    /// Path MTU discovery and ICMP.
    Pmtu,
    /// A connection that gives up.
    GiveUp,
    /// Receive buffers, and windows that close.
    Window,
    /// System calls and their errors.
    Socket,
    /// Shell commands and settings without a counterpart in the simulator.
    Command,
    /// Loss recovery without SACK.
    NoSack,
    /// Parts of segments: the simulator sends and receives complete segments.
    PartOfSegment,
    /// The handshake and resets in it.
    Handshake,
    /// Challenge ACKs (RFC 5961).
    Challenge,
    /// FIN and RST.
    Close,
    /// The script contains nothing that the simulator decides.
    Nothing,
}

impl Category {
    /// Returns a short label.
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
        /// Line of the packet at which the connection begins to close, where checking ends; `None`
        /// if the whole script was checked.
        until: Option<u32>,
    },
    /// The simulator behaves differently.
    Fail {
        /// Line in the script.
        line: u32,
        /// The packet or value that the script expects.
        expected: String,
        /// What the simulator sent or did.
        got: String,
    },
    /// The script does not apply.
    NotApplicable {
        /// Line in the script.
        line: u32,
        /// The kind of reason.
        category: Category,
        /// The reason.
        why: String,
    },
}

/// A verdict and the checks behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Expected packets that the simulator sent.
    pub packets: u32,
    /// How many fields of these packets the script states: ECN field, flags of ECN, AccECN option,
    /// SACK blocks, echoed timestamp.
    pub fields: u32,
    /// Number of assertions that held.
    pub assertions: u32,
    /// Values in assertions that were not checked, because the simulator does not keep them.
    pub unjudged: Vec<String>,
}

impl Judged {
    /// Whether a different sender or receiver could have failed. A single packet of which the
    /// script states only the sequence range does not count, because every TCP sends it.
    pub fn asserts(&self) -> bool {
        self.assertions + self.fields > 0 || self.packets > 1
    }
}

/// The reason why a script does not apply.
pub(crate) type Beyond = (Category, String);

//! The verdict on the simulator, and why a script does not concern it.

/// Why a script does not concern the simulator. The first that applies is
/// told, those that say most about a script come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// IPv6 only.
    Ipv6,
    /// TCP Fast Open.
    FastOpen,
    /// MD5 signatures.
    Md5,
    /// SYN cookies.
    SynCookies,
    /// Urgent data.
    Urgent,
    /// Zero copy and time stamps of sends: a socket's error queue.
    ErrorQueue,
    /// Nagle, corking, boundaries of messages.
    Nagle,
    /// Path MTU, ICMP.
    Pmtu,
    /// A connection that gives up.
    GiveUp,
    /// Receive buffers, windows that close.
    Window,
    /// System calls and their errors.
    Socket,
    /// Shell commands and settings without counterpart.
    Command,
    /// Loss recovery without SACK.
    NoSack,
    /// Parts of segments: the simulator's are whole.
    PartOfSegment,
    /// The handshake and resets in it.
    Handshake,
    /// Challenge ACKs (RFC 5961).
    Challenge,
    /// FIN and RST.
    Close,
    /// Nothing in it is the simulator's decision.
    Nothing,
}

impl Category {
    /// A few words for it.
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
            Category::Nothing => "nothing to judge",
        }
    }
}

/// What a script says of the simulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It behaves so; `until`: up to this line, where the connection closes.
    Pass {
        /// The line of the first packet of the closing; `None`: the whole script.
        until: Option<u32>,
    },
    /// It does not.
    Fail {
        /// Line of the script.
        line: u32,
        /// What the script expects.
        expected: String,
        /// What the simulator did.
        got: String,
    },
    /// It cannot be asked.
    NotApplicable {
        /// Line of the script.
        line: u32,
        /// The kind of reason.
        category: Category,
        /// The reason.
        why: String,
    },
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Expected packets that the simulator sent.
    pub packets: u32,
    /// Fields of them that the script names: ECN field, flags of ECN, AccECN option, SACK blocks,
    /// echoed timestamp.
    pub fields: u32,
    /// Assertions that held.
    pub assertions: u32,
    /// Values asserted of that the simulator does not keep.
    pub unjudged: Vec<String>,
}

impl Judged {
    /// Whether a sender or receiver that did otherwise would have failed: that there is one
    /// packet, of which only the place is stated, every TCP fulfils.
    pub fn asserts(&self) -> bool {
        self.assertions + self.fields > 0 || self.packets > 1
    }
}

/// What keeps a script from being judged.
pub(crate) type Beyond = (Category, String);

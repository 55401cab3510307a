//! Reads a script's settings, and finds the parts that the simulator does not support.

use tailback_engine::plan::AccEcnOption;

use crate::ecn::Much;
use crate::script::{Script, TcpOption, What};
use crate::verdict::{Beyond, Category};

/// The Linux settings of a script that the simulator also has.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// Name of the congestion control.
    pub cc: String,
    /// Whether the congestion window is reduced after an idle time.
    pub idle_restart: bool,
    /// The form of ECN that the host under test requests when it connects.
    pub ecn: Much,
    /// The most advanced form of ECN that the host under test accepts when the other endpoint
    /// requests ECN.
    pub ecn_accept: Much,
    /// When the host under test sends the AccECN option.
    pub option: AccEcnOption,
    /// Whether ECN is turned off if ECN does not seem to work on the path (`tcp_ecn_fallback`).
    pub fallback: bool,
    /// Whether timestamps are offered.
    pub timestamps: bool,
    /// Whether SACK is offered.
    pub sack: bool,
    /// Whether the queue is fq, which paces packets.
    pub paced: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            cc: "cubic".to_owned(),
            idle_restart: true,
            ecn: Much::None,
            ecn_accept: Much::Rfc3168,
            option: AccEcnOption::Full,
            fallback: true,
            timestamps: true,
            sack: true,
            paced: false,
        }
    }
}

impl Setup {
    /// Runs shell commands.
    pub fn run(&mut self, commands: &str) -> Result<(), Beyond> {
        let joined = commands.replace("\\\n", " ");
        for command in joined.split(['\n', ';']) {
            let command = command.split(" #").next().unwrap_or_default();
            let words: Vec<&str> = command.split_whitespace().collect();
            self.command(&words)?;
        }
        Ok(())
    }

    fn command(&mut self, words: &[&str]) -> Result<(), Beyond> {
        let Some((&name, args)) = words.split_first() else {
            return Ok(());
        };
        match name.rsplit('/').next().unwrap_or(name) {
            "defaults.sh" => {
                // Apply the settings of defaults.sh that the simulator also has.
                self.idle_restart = false;
                (self.ecn, self.ecn_accept) = (Much::None, Much::None);
                self.timestamps = true;
                self.sack = true;
                "cubic".clone_into(&mut self.cc);
                Ok(())
            }
            "set_sysctls.py" | "sysctl" => {
                let mut quoted = false;
                for &arg in args {
                    // If a quotation mark is open, the word belongs to the quoted list.
                    let inner = quoted;
                    quoted ^= arg.matches('"').count() % 2 == 1;
                    if !(inner || arg.starts_with('-')) {
                        self.sysctl(arg)?;
                    }
                }
                Ok(())
            }
            "tc" if args.starts_with(&["qdisc"]) && args.ends_with(&["root", "fq"]) => {
                self.paced = true;
                Ok(())
            }
            // Skip a command that writes the default value.
            "echo" if matches!(args, ["3", ">", file] if file.ends_with("/hystart_detect")) => {
                Ok(())
            }
            "tc" if args.ends_with(&["root", "pfifo"]) => Ok(()),
            "tc" => Err((Category::Command, "a queue that drops".to_owned())),
            // Skip ethtool, because it only sets offloads, which the simulator does not have.
            "ethtool" => Ok(()),
            "ip" if args.starts_with(&["tcp_metrics"]) => Ok(()),
            "ip" => Err((Category::Pmtu, "sets the MTU of a device".to_owned())),
            "nstat" if !words.contains(&"grep") => Ok(()),
            "nstat" => Err((
                Category::Command,
                "reads a counter of the kernel".to_owned(),
            )),
            other if other.starts_with("sysctl_restore") => Ok(()),
            _ => Err((Category::Command, format!("runs `{name}`"))),
        }
    }

    fn sysctl(&mut self, assignment: &str) -> Result<(), Beyond> {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let name = name.rsplit(['/', '.']).next().unwrap_or(name);
        let unknown = |what: &str| Err((Category::Command, format!("{what} ({name} = {value})")));
        match (name, value) {
            ("tcp_slow_start_after_idle", _) => self.idle_restart = value != "0",
            ("tcp_ecn", value) => {
                // The values come from Linux's `enum tcp_ecn_mode`. Each value stands for two forms
                // of ECN: the form to request and the form to accept.
                (self.ecn, self.ecn_accept) = match value {
                    "0" => (Much::None, Much::None),
                    "1" => (Much::Rfc3168, Much::Rfc3168),
                    "2" => (Much::None, Much::Rfc3168),
                    "3" => (Much::Accurate, Much::Accurate),
                    "4" => (Much::Rfc3168, Much::Accurate),
                    "5" => (Much::None, Much::Accurate),
                    _ => return unknown("an unsupported mode of ECN"),
                };
            }
            ("tcp_ecn_option", value) => {
                self.option = match value {
                    "0" => AccEcnOption::Off,
                    "1" => AccEcnOption::Minimum,
                    "2" => AccEcnOption::Full,
                    "3" => AccEcnOption::Persist,
                    _ => return unknown("an unsupported mode of the AccECN option"),
                };
            }
            ("tcp_ecn_fallback", _) => self.fallback = value != "0",
            // Ignore `tcp_ecn_option_beacon`, the minimum rate at which a host sends the AccECN
            // option.
            ("tcp_ecn_option_beacon", _) => {}
            ("tcp_timestamps", _) => self.timestamps = value != "0",
            ("tcp_sack", _) => self.sack = value != "0",
            ("tcp_congestion_control", _) => value.clone_into(&mut self.cc),
            ("tcp_fastopen" | "tcp_fastopen_key", _) => {
                return Err((Category::FastOpen, format!("{name} is set")));
            }
            ("tcp_syncookies", "0" | "1") => {}
            ("tcp_syncookies", _) => {
                let why = "every SYN-ACK carries a SYN cookie";
                return Err((Category::SynCookies, why.to_owned()));
            }
            ("tcp_shrink_window", "1") => {
                let why = "the receive window may shrink";
                return Err((Category::Window, why.to_owned()));
            }
            ("tcp_pacing_ss_ratio", "200") | ("tcp_pacing_ca_ratio", "120") => {}
            ("tcp_reordering", "3") | ("tcp_recovery", "1") | ("tcp_frto", "2") => {}
            ("tcp_dsack", "1") | ("tcp_early_retrans", "3" | "4") => {}
            // Ignore the settings for the sizes of TSO packets and buffers, and for the rate limit
            // of challenge ACKs.
            ("tcp_tso_win_divisor" | "tcp_min_tso_segs" | "tcp_rmem" | "tcp_wmem", _) => {}
            ("tcp_invalid_ratelimit" | "tcp_notsent_lowat", _) => {}
            ("tcp_rto_max_ms", _) => return unknown("another upper limit of the timeout"),
            _ => return unknown("a setting that the simulator does not have"),
        }
        Ok(())
    }
}

/// Returns the line of a part of the script that the simulator does not support, and the reason. A
/// script with such a part does not apply to the simulator. If the simulator does not support
/// several parts, returns the part whose category comes first in [`Category`].
pub(crate) fn beyond(script: &Script) -> Option<(u32, Beyond)> {
    if script
        .options
        .iter()
        .any(|(n, v)| n == "ip_version" && v == "ipv6")
    {
        return Some((1, (Category::Ipv6, "runs over IPv6 only".to_owned())));
    }
    let found: Vec<(u32, Beyond)> = script
        .events
        .iter()
        .filter_map(|e| Some((e.line, of_event(&e.what)?)))
        .collect();
    found
        .into_iter()
        .min_by_key(|(line, (kind, _))| (*kind, *line))
}

fn of_event(what: &What) -> Option<Beyond> {
    let not = |category, why: &str| Some((category, why.to_owned()));
    match what {
        What::Icmp(_) => not(Category::Pmtu, "an ICMP message"),
        What::Shell(commands) => Setup::default().run(commands).err(),
        What::Check(_) => None,
        What::Packet(packet) => {
            let other = packet.options().iter().find_map(|o| match o {
                TcpOption::Other(name) => Some(name.as_str()),
                _ => None,
            });
            match other.map(|o| o.split(' ').next().unwrap_or(o)) {
                Some("FO" | "FOEXP") => return not(Category::FastOpen, "a Fast Open cookie"),
                Some("md5") => return not(Category::Md5, "an MD5 signature"),
                Some(name) => return not(Category::Command, &format!("TCP option {name}")),
                None => {}
            }
            if packet.has('U') {
                return not(Category::Urgent, "urgent data");
            }
            None
        }
        What::Call(call) => {
            let all = call.args.join(",");
            let has = |words: &[&str]| words.iter().any(|w| all.contains(w));
            if has(&["FASTOPEN"]) {
                return not(Category::FastOpen, "a Fast Open socket");
            }
            if has(&["MD5"]) {
                return not(Category::Md5, "an MD5 key");
            }
            if has(&["ZEROCOPY", "TIMESTAMPING", "MSG_ERRQUEUE"]) {
                return not(Category::ErrorQueue, "a socket's error queue");
            }
            if has(&["MSG_OOB"]) {
                return not(Category::Urgent, "urgent data");
            }
            if has(&["MSG_EOR", "MSG_MORE", "TCP_CORK"]) {
                return not(Category::Nagle, "MSG_EOR, MSG_MORE or TCP_CORK");
            }
            if call.name == "setsockopt" && has(&["SO_RCVBUF"]) {
                return not(Category::Window, "the script sets the receive buffer");
            }
            if has(&["TCP_USER_TIMEOUT"]) {
                return not(Category::GiveUp, "the connection gives up after a timeout");
            }
            if call.name == "splice" || call.name == "sendfile" || call.name.starts_with("epoll") {
                return not(Category::Socket, &format!("{}()", call.name));
            }
            None
        }
    }
}

//! Runs a script against the simulator's TCP, in virtual time.

use std::collections::BTreeSet;

use tailback_engine::packet::Ecn;
use tailback_engine::units::Time;

use crate::check::{Action, Values};
use crate::ecn::Agreed;
use crate::host::{Host, Sent};
use crate::script::{Call, Event, Script, Segment, TcpOption, What, When};
use crate::setup::{Setup, beyond};
use crate::verdict::{Beyond, Category, Judged, Verdict};
use crate::words::{describe, told};

const TOLERANCE: Time = Time::from_ms(4);
/// Maximum time to wait for a packet if the script permits any arrival time (`*`).
const PATIENCE: Time = Time::from_secs(10);

enum Stop {
    Beyond(Beyond),
    Fail(String, String),
    Closed,
}

impl From<Beyond> for Stop {
    fn from(beyond: Beyond) -> Stop {
        Stop::Beyond(beyond)
    }
}

fn no<T>(category: Category, why: &str) -> Result<T, Stop> {
    Err(Stop::Beyond((category, why.to_owned())))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    None,
    Listening,
    SynReceived,
    Connecting,
    Open,
    Closed,
}

struct Run<'a> {
    script: &'a Script,
    setup: Setup,
    tolerance: Time,
    host: Option<Host>,
    link: Link,
    listener: Option<i64>,
    nodelay: bool,
    now: Time,
    packets: u32,
    fields: u32,
    assertions: u32,
    unjudged: BTreeSet<String>,
    /// Variables that the script's assertion code has set.
    variables: Values,
}

/// Runs a script against the simulator's TCP.
pub fn judge(script: &Script) -> Judged {
    let tolerance = script
        .options
        .iter()
        .find(|(name, _)| name == "tolerance_usecs")
        .and_then(|(_, value)| value.parse::<u32>().ok())
        .map_or(TOLERANCE, |us| Time::from_us(us.into()));
    let mut run = Run {
        script,
        setup: Setup::default(),
        tolerance,
        host: None,
        link: Link::None,
        listener: None,
        nodelay: false,
        now: Time::ZERO,
        packets: 0,
        fields: 0,
        assertions: 0,
        unjudged: BTreeSet::new(),
        variables: Values::new(),
    };
    let verdict = match beyond(script) {
        Some((line, (category, why))) => Verdict::NotApplicable {
            line,
            category,
            why,
        },
        None => run.verdict(),
    };
    Judged {
        verdict,
        packets: run.packets,
        fields: run.fields,
        assertions: run.assertions,
        unjudged: run.unjudged.into_iter().collect(),
    }
}

impl Run<'_> {
    fn verdict(&mut self) -> Verdict {
        for (index, event) in self.script.events.iter().enumerate() {
            let line = event.line;
            let Err(stop) = self.step(index, event) else {
                continue;
            };
            return match stop {
                Stop::Fail(expected, got) => Verdict::Fail {
                    line,
                    expected,
                    got,
                },
                Stop::Beyond((category, why)) => Verdict::NotApplicable {
                    line,
                    category,
                    why,
                },
                Stop::Closed if self.packets + self.assertions > 0 => {
                    Verdict::Pass { until: Some(line) }
                }
                Stop::Closed => Verdict::NotApplicable {
                    line,
                    category: Category::Close,
                    why: "the connection closes before a packet or an assertion can be compared"
                        .to_owned(),
                },
            };
        }
        if self.packets + self.assertions > 0 {
            return Verdict::Pass { until: None };
        }
        Verdict::NotApplicable {
            line: self.script.events.last().map_or(1, |e| e.line),
            category: Category::Nothing,
            why: "no packet or assertion depends on the simulator".to_owned(),
        }
    }

    /// Returns the earliest and the latest time at which a step may happen.
    fn span(&self, at: When) -> (Time, Time) {
        match at {
            When::Absolute(from, to) => (Time(from), Time(to)),
            When::Relative(from, to) => (self.now + Time(from), self.now + Time(to)),
            When::Any => (self.now, self.now + PATIENCE),
        }
    }

    fn step(&mut self, index: usize, event: &Event) -> Result<(), Stop> {
        let (from, to) = self.span(event.at);
        if let What::Packet(packet) = &event.what
            && !packet.inbound
        {
            return self.expect(packet, from, to);
        }
        self.pass_time(from);
        match &event.what {
            What::Packet(packet) => self.inbound(index, packet),
            What::Icmp(_) => no(Category::Pmtu, "an ICMP message"),
            What::Shell(commands) => {
                let option = self.setup.option;
                self.setup.run(commands)?;
                if self.host.is_some() && self.setup.option != option {
                    return no(
                        Category::Command,
                        "the AccECN option changes during the connection",
                    );
                }
                Ok(())
            }
            What::Call(call) => self.call(index, call),
            What::Check(statements) => {
                for statement in statements {
                    self.statement(&statement.action)?;
                }
                Ok(())
            }
        }
    }

    fn statement(&mut self, action: &Action) -> Result<(), Stop> {
        let mut values = self.host.as_ref().map(Host::values).unwrap_or_default();
        values.extend(self.variables.clone());
        let (Action::Assert(expression) | Action::Assign(_, expression)) = action else {
            return Ok(());
        };
        match (expression.value(&values), action) {
            (Err(name), _) => {
                self.unjudged.insert(name);
            }
            (Ok(value), Action::Assign(name, _)) => {
                self.variables.insert(name.clone(), value);
            }
            (Ok(0), _) => {
                let got = expression.explain(&values);
                return Err(Stop::Fail(expression.to_string(), got));
            }
            (Ok(_), _) => self.assertions += 1,
        }
        Ok(())
    }

    /// Advances the time to `to` and runs the timers that are due by then.
    fn pass_time(&mut self, to: Time) {
        while let Some(host) = &mut self.host {
            let due = host.deadline();
            if due > to {
                break;
            }
            self.now = self.now.max(due);
            host.on_timer(self.now);
        }
        self.now = self.now.max(to);
    }

    /// Returns the packets that the script will send on the current connection, that is, before the
    /// script opens the next socket.
    fn inbound_after(&self, index: usize) -> impl Iterator<Item = &Segment> {
        self.script.events[index..]
            .iter()
            .skip(1)
            .take_while(|e| !matches!(&e.what, What::Call(c) if c.name == "socket"))
            .filter_map(|e| match &e.what {
                What::Packet(p) if p.inbound => Some(&**p),
                _ => None,
            })
    }

    fn inbound(&mut self, index: usize, packet: &Segment) -> Result<(), Stop> {
        let now = self.now;
        if packet.has('S') && !packet.has('.') {
            if self.link != Link::Listening {
                return no(Category::Handshake, "a second SYN arrives");
            }
            if !packet.is_empty() {
                return no(Category::FastOpen, "a SYN with data");
            }
            let agreed = Agreed::as_server(self.setup.ecn_accept, packet);
            let mut host = Host::new(&self.setup, packet, agreed, self.inbound_after(index))?;
            host.accept(packet, now);
            self.host = Some(host);
            self.link = Link::SynReceived;
            return Ok(());
        }
        if packet.has('R') || packet.has('F') || self.link == Link::Closed {
            return Err(Stop::Closed);
        }
        let Some(host) = &mut self.host else {
            return no(
                Category::Handshake,
                "a packet arrives before a connection exists",
            );
        };
        match (self.link, packet.has('S'), packet.has('.')) {
            (Link::Connecting, true, true) => {
                host.connected(packet, now);
                self.link = Link::Open;
                Ok(())
            }
            (Link::SynReceived, false, true) if packet.ack == Some(1) => {
                self.link = Link::Open;
                Ok(host.established(packet, now)?)
            }
            (Link::Open, false, true) => Ok(host.receive(packet, now)?),
            (_, _, false) => no(
                Category::Handshake,
                "a segment arrives without the ACK flag",
            ),
            (Link::Open, true, true) => no(
                Category::Challenge,
                "a SYN-ACK arrives on an open connection",
            ),
            _ => no(
                Category::Handshake,
                "a packet arrives that does not belong to the handshake",
            ),
        }
    }

    fn call(&mut self, index: usize, call: &Call) -> Result<(), Stop> {
        match call.name.as_str() {
            "socket" => {
                self.host = None;
                self.link = Link::None;
                self.listener = None;
                self.nodelay = false;
                Ok(())
            }
            "listen" => {
                self.link = Link::Listening;
                self.listener = call.arg(0).parse().ok();
                Ok(())
            }
            "connect" => {
                let started = call.errno.as_deref() == Some("EINPROGRESS");
                if call.result < 0 && !started {
                    return no(Category::Socket, "connect() fails");
                }
                let Some(answer) = self.inbound_after(index).find(|p| p.has('S')) else {
                    return no(Category::Handshake, "the SYN gets no answer");
                };
                let agreed = Agreed::as_client(self.setup.ecn, answer);
                let mut host = Host::new(&self.setup, answer, agreed, self.inbound_after(index))?;
                host.connect(self.now);
                self.host = Some(host);
                self.link = Link::Connecting;
                Ok(())
            }
            "setsockopt" => self.setsockopt(call),
            "write" | "send" | "sendto" | "sendmsg" => {
                let (Link::Open, Some(host)) = (self.link, &mut self.host) else {
                    return no(Category::Socket, "writes to a socket that is not connected");
                };
                match call.errno.as_deref() {
                    None => {}
                    // The script expects the write call to fail, so the interpreter writes no data.
                    Some("EFAULT" | "EAGAIN") => return Ok(()),
                    Some(errno) => {
                        return no(
                            Category::Socket,
                            &format!("{}() fails with {errno}", call.name),
                        );
                    }
                }
                Ok(host.write(call.result.max(0) as u64, self.nodelay, self.now)?)
            }
            "close"
                if self
                    .listener
                    .is_some_and(|fd| call.arg(0) == fd.to_string()) =>
            {
                Ok(())
            }
            "close" | "shutdown" => {
                self.link = Link::Closed;
                Ok(())
            }
            "bind" | "accept" | "getsockopt" | "fcntl" | "ioctl" | "read" | "recv" | "recvfrom"
            | "recvmsg" | "pipe" | "poll" => Ok(()),
            other => no(Category::Socket, &format!("{other}()")),
        }
    }

    fn setsockopt(&mut self, call: &Call) -> Result<(), Stop> {
        let value = call.arg(3).trim_matches(['[', ']', '"', ' ']);
        match (call.arg(2), &self.host) {
            ("TCP_NODELAY", _) => {
                self.nodelay = value != "0";
                Ok(())
            }
            ("TCP_CONGESTION", None) => {
                value.clone_into(&mut self.setup.cc);
                Ok(())
            }
            // Ignore options that concern socket buffers, routing and the results of reads. The
            // simulator has no socket buffers, routes or reads.
            (
                "SO_REUSEADDR" | "SO_SNDBUF" | "IP_MTU_DISCOVER" | "IP_TOS" | "IP_FREEBIND"
                | "TCP_INQ",
                _,
            ) => Ok(()),
            (other, _) => no(Category::Socket, &format!("socket option {other}")),
        }
    }

    /// Checks that the simulator sends the packet that the script expects, in the expected
    /// interval.
    fn expect(&mut self, packet: &Segment, from: Time, to: Time) -> Result<(), Stop> {
        let foreign = packet.has('R') || packet.has('F');
        if foreign || matches!(self.link, Link::Closed) {
            return Err(Stop::Closed);
        }
        if self.host.is_none() {
            return no(
                Category::Handshake,
                "a packet is expected before a connection exists",
            );
        }
        let (earliest, latest) = (from.since(self.tolerance), to + self.tolerance);
        let accurate = (self.host.as_ref())
            .is_some_and(|host| host.accurate || host.negotiates && packet.has('S'));
        let wanted = describe(packet, accurate, from, to);
        let mut at = packet.start;
        loop {
            let Some(sent) = self.next_sent(latest) else {
                let syn_ack = packet.has('S') && packet.has('.');
                if syn_ack {
                    return no(Category::Handshake, "the server repeats its SYN-ACK");
                }
                let got = if at == packet.start {
                    "nothing".to_owned()
                } else {
                    format!("the first {} bytes only", at - packet.start)
                };
                return Err(Stop::Fail(wanted, got));
            };
            let judged = sent.judged;
            let timely = earliest <= sent.at && sent.at <= latest;
            let Some(fields) = self.matches(packet, &sent, at).filter(|_| timely) else {
                return Err(Stop::Fail(wanted, told(&sent)));
            };
            self.now = self.now.max(sent.at);
            at = sent.end;
            if let (Some((value, _)), Some(host)) = (packet.timestamps(), &mut self.host) {
                host.name_stamp(value, sent.at);
            }
            if at == packet.end {
                if judged {
                    self.packets += 1;
                    self.fields += fields;
                }
                return Ok(());
            }
        }
    }

    /// Returns the next packet that the simulator sends. Returns `None` if the simulator does not
    /// send a packet by `latest`.
    fn next_sent(&mut self, latest: Time) -> Option<Sent> {
        let host = self.host.as_mut()?;
        while host.out.is_empty() && host.deadline() <= latest {
            self.now = self.now.max(host.deadline());
            host.on_timer(self.now);
        }
        host.out.pop_front()
    }

    /// Checks whether `sent` matches `packet`. If earlier segments contained the bytes before
    /// position `at`, checks only the part of `packet` from `at` on. Returns the number of fields
    /// compared, or `None` if a field differs.
    fn matches(&self, packet: &Segment, sent: &Sent, at: u32) -> Option<u32> {
        let begins = sent.start == at && sent.end <= packet.end;
        let ace = sent.ace.is_none_or(|ace| ace == packet.ace());
        if packet.has('S') || sent.syn {
            let ack = packet.ack.is_none_or(|ack| ack == sent.ack);
            let same = packet.has('S') == sent.syn && begins && ace && ack;
            return same.then_some(u32::from(sent.ace.is_some()));
        }
        let whole = sent.end > sent.start || packet.is_empty();
        let flags = if sent.ace.is_some() {
            ace
        } else {
            // If an expected packet corresponds to several segments, only the first segment has the
            // CWR flag.
            let cwr = packet.has('W') == sent.cwr || (at > packet.start && !sent.cwr);
            cwr && packet.has('E') == sent.ece
        };
        let ecn = match packet.ecn.as_deref() {
            Some("ect0") => sent.ecn == Ecn::Ect0,
            Some("ect1") => sent.ecn == Ecn::Ect1,
            Some("ce") => sent.ecn == Ecn::Ce,
            Some(_) => sent.ecn == Ecn::NotEct,
            None => true,
        };
        let wildcard = packet.options().contains(&TcpOption::Any);
        let sack = wildcard || packet.sack() == sent.sack;
        let accecn = wildcard || packet.accecn() == sent.accecn;
        let stamped =
            sent.judged && packet.is_empty() && self.host.as_ref().is_some_and(|h| h.timestamps);
        let echo = packet
            .timestamps()
            .filter(|_| stamped)
            .map(|(_, echo)| echo);
        let echoes = echo.is_none_or(|echo| sent.echo == Time::from_ms(u64::from(echo)));
        let named = [
            packet.ecn.is_some(),
            sent.ace.is_some() || packet.has('E') || packet.has('W'),
            packet.accecn().is_some(),
            !packet.sack().is_empty(),
            echo.is_some(),
        ];
        let same = begins
            && whole
            && flags
            && ecn
            && sack
            && accecn
            && echoes
            && packet.ack == Some(sent.ack);
        same.then(|| named.into_iter().map(u32::from).sum())
    }
}

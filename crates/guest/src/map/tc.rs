//! Queue disciplines: registry options in tc's words.

use tailback_engine::aqm;
use tailback_engine::plan::{Algorithm, LinkPlan, Plan};
use tailback_engine::registry::{Kernel, Options, Value, find};
use tailback_engine::units::Time;

use super::Kit;
use super::THIS_LINUX;
use super::layout::ETHERNET;
use super::modules::Modules;
use super::refuse::{Refusals, instead};
use crate::job::{DropsAt, Limit};

/// A queue discipline for tc.
pub(super) struct Qdisc {
    /// Kind.
    pub kind: String,
    /// What follows it.
    pub words: String,
    /// What it may hold.
    pub limit: Limit,
    /// Where it drops.
    pub drops_at: DropsAt,
}

impl Qdisc {
    /// Whether it keeps the link's rate itself.
    pub fn shapes(&self) -> bool {
        self.kind == "cake"
    }

    /// Whether it is one first-in, first-out queue for all flows.
    pub fn in_order(&self) -> bool {
        matches!(&*self.kind, "pfifo" | "bfifo" | "codel" | "pie" | "red")
    }
}

/// Words of Cake's that say what the link says.
const CAKE_RATE: [&str; 3] = ["bandwidth", "unlimited", "autorate-ingress"];

/// Words of Cake's that set what it adds to a packet.
const CAKE_OVERHEAD: [&str; 16] = [
    "overhead",
    "raw",
    "conservative",
    "ethernet",
    "ether-vlan",
    "docsis",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "pppoe-ptm",
    "bridged-vcmux",
    "bridged-llcsnap",
    "bridged-ptm",
    "ipoa-vcmux",
    "ipoa-llcsnap",
];

/// What Cake cannot be told twice, and what captures cannot follow.
pub(super) fn cake(path: &str, link: &LinkPlan, words: &str, plan: &Plan, no: &mut Refusals) {
    let has = |one: &str| words.split_whitespace().any(|w| w == one);
    let at = format!("{path}.queue");
    if let Some(word) = CAKE_RATE.iter().find(|w| has(w)) {
        let message = format!("cake takes its bandwidth from the link, not from \"{word}\"");
        no.add(&at, message, "the link's rate");
    }
    let most = 256 - ETHERNET;
    if link.overhead > most {
        no.add(
            &format!("{path}.overhead"),
            "cake adds at most 256 bytes to an IP packet",
            format!("an overhead from 0 to {most}"),
        );
    }
    if link.overhead != 0
        && let Some(word) = CAKE_OVERHEAD.iter().find(|w| has(w))
    {
        let message = format!("the link's overhead and cake's \"{word}\" are the same thing");
        no.add(&format!("{path}.overhead"), message, "one of them");
    }
    if plan.offloads && plan.record.captures && !has("no-split-gso") {
        no.add(
            &at,
            "cake splits what offloads have joined, and captures follow packets that stay whole",
            "no-split-gso, offloads = false or captures = false",
        );
    }
}

/// The link's queue; its module is noted.
pub(super) fn queue(
    path: &str,
    link: &LinkPlan,
    kit: &Kit,
    modules: &mut Modules,
    no: &mut Refusals,
) -> Qdisc {
    let at = format!("{path}.queue");
    let qdisc = match &link.queue {
        Algorithm::Kernel { name, args } => {
            if args.chars().any(char::is_control) || name.contains(char::is_whitespace) {
                no.add(&at, "tc reads one line", "words without line breaks");
            }
            Qdisc {
                kind: name.clone(),
                words: args.clone(),
                limit: Limit::Unknown,
                drops_at: drops_at(name),
            }
        }
        Algorithm::Known { name, options } => {
            let kernel = find(aqm::ENTRIES, name).map(|e| e.kernel);
            let Some(Kernel::Tc(kind)) = kernel else {
                no.add(
                    &format!("{at}.aqm"),
                    format!("the kernel has nothing like {name}"),
                    instead(name, kit.qdiscs.keys()),
                );
                return nothing(name);
            };
            let mut tc = Words {
                path: &at,
                options,
                words: String::new(),
                no,
            };
            match *name {
                "fifo" => return fifo(options),
                "codel" => tc.codel(),
                "fq_codel" => tc.fq_codel(),
                "pie" => tc.pie(),
                "cake" => tc.cake(),
                "fq_pie" => tc.fq_pie(),
                "dualpi2" => tc.dualpi2(),
                "red" => tc.red(link),
                _ => tc.by_name(),
            }
            Qdisc {
                kind: kind.to_owned(),
                words: tc.words,
                limit: limit(options),
                drops_at: drops_at(kind),
            }
        }
    };
    modules.qdisc(path, &qdisc.kind, link.module.as_deref(), kit, no);
    qdisc
}

fn nothing(name: &str) -> Qdisc {
    Qdisc {
        kind: name.to_owned(),
        words: String::new(),
        limit: Limit::Unknown,
        drops_at: DropsAt::Enqueue,
    }
}

/// Where the algorithm of a kind drops.
fn drops_at(kind: &str) -> DropsAt {
    match kind {
        "codel" | "fq_codel" | "cake" | "dualpi2" => DropsAt::Dequeue,
        _ => DropsAt::Enqueue,
    }
}

fn limit(options: &Options) -> Limit {
    match options.get("limit") {
        Some(Value::Packets(n)) => Limit::Packets(*n),
        Some(Value::Bytes(b)) => Limit::Bytes(b.0),
        _ => Limit::Unknown,
    }
}

fn fifo(options: &Options) -> Qdisc {
    let limit = limit(options);
    let (kind, words) = match limit {
        Limit::Bytes(n) => ("bfifo", format!("limit {n}")),
        Limit::Packets(n) => ("pfifo", format!("limit {n}")),
        Limit::Unknown => ("pfifo", String::new()),
    };
    Qdisc {
        kind: kind.to_owned(),
        words,
        limit,
        drops_at: DropsAt::Enqueue,
    }
}

/// A time in tc's words; netem and `ip` take nanoseconds.
pub(super) fn time(t: Time) -> String {
    if t.ns().is_multiple_of(1_000) {
        format!("{}us", t.ns() / 1_000)
    } else {
        format!("{}ns", t.ns())
    }
}

/// Words of one queue discipline as they come together.
struct Words<'a> {
    path: &'a str,
    options: &'a Options,
    words: String,
    no: &'a mut Refusals,
}

impl Words<'_> {
    fn word(&mut self, word: &str) {
        if !self.words.is_empty() {
            self.words.push(' ');
        }
        self.words.push_str(word);
    }

    fn pair(&mut self, name: &str, value: &str) {
        self.word(name);
        self.word(value);
    }

    fn refuse(&mut self, option: &str, message: &str, expected: &str) {
        self.no
            .add(&format!("{}.{option}", self.path), message, expected);
    }

    /// A whole number of packets or of another kind without unit.
    fn number(&mut self, name: &str) {
        let value = match self.options.get(name) {
            Some(Value::Packets(n)) => n.to_string(),
            Some(Value::Bytes(b)) => b.0.to_string(),
            Some(Value::Int(i)) => i.to_string(),
            _ => return,
        };
        self.pair(name, &value);
    }

    /// A time that tc counts in microseconds.
    fn micros(&mut self, name: &str) {
        let Some(Value::Time(t)) = self.options.get(name) else {
            return;
        };
        if !t.ns().is_multiple_of(1_000) {
            self.refuse(
                name,
                "tc counts this time in microseconds",
                "whole microseconds",
            );
        }
        if t.ns() / 1_000 > u64::from(u32::MAX) {
            self.refuse(name, "tc has 32 bits for this time", "at most 4294 s");
        }
        self.pair(name, &format!("{}us", t.ns() / 1_000));
    }

    /// A flag with one word for each state.
    fn flag(&mut self, name: &str, on: &str, off: &str) {
        match self.options.get(name) {
            Some(Value::Bool(true)) => self.word(on),
            Some(Value::Bool(false)) if !off.is_empty() => self.word(off),
            _ => {}
        }
    }

    fn codel(&mut self) {
        self.no_sce();
        self.number("limit");
        self.micros("target");
        self.micros("interval");
        self.flag("ecn", "ecn", "noecn");
        self.micros("ce_threshold");
    }

    fn cake(&mut self) {
        for (name, only) in [("sce", Value::Word("off")), ("fresh", Value::Word("linux"))] {
            if self.options.get(name).is_some_and(|v| *v != only) {
                let message = match name {
                    "sce" => "Linux's cake has no SCE",
                    _ => "cake of Linux marks the second packet over the target",
                };
                let expected = format!("{name} = {}", super::cc::quoted(&only));
                self.refuse(name, message, &expected);
            }
        }
        self.word(self.options.word("tins"));
        self.word(self.options.word("flow"));
        self.micros("rtt");
        self.word(match self.options.word("ack_filter") {
            "on" => "ack-filter",
            "aggressive" => "ack-filter-aggressive",
            _ => "no-ack-filter",
        });
        self.number("overhead");
        // Without the word Cake has none.
        if self.options.int("mpu") > 0 {
            self.number("mpu");
        }
        self.word(self.options.word("atm"));
        if let Some(Value::Bytes(bytes)) = self.options.get("memlimit") {
            if bytes.0 > u64::from(u32::MAX) {
                self.refuse("memlimit", "tc has 32 bits for it", "less than 4gb");
            }
            self.pair("memlimit", &bytes.0.to_string());
        }
        self.flag("ingress", "ingress", "egress");
        self.flag("wash", "wash", "nowash");
        self.flag("split_gso", "split-gso", "no-split-gso");
    }

    fn fq_codel(&mut self) {
        self.codel();
        self.number("flows");
        self.number("quantum");
        self.memory_limit();
        self.number("drop_batch");
    }

    fn no_sce(&mut self) {
        if self.options.word("sce") != "off" {
            self.refuse("sce", "Linux has no SCE marks in CoDel", "sce = \"off\"");
        }
    }

    /// Bytes in tc's 32 bits.
    fn memory_limit(&mut self) {
        if self.options.bytes("memory_limit") > u64::from(u32::MAX) {
            let message = "tc has 32 bits for this size";
            self.refuse("memory_limit", message, "less than 4 GiB");
        }
        self.number("memory_limit");
    }

    fn pie(&mut self) {
        if self.options.word("version") != THIS_LINUX {
            let expected = format!("version = \"{THIS_LINUX}\"");
            self.refuse("version", "the kernel's pie is its own", &expected);
        }
        self.controller();
    }

    fn fq_pie(&mut self) {
        self.controller();
        self.number("flows");
        self.number("quantum");
        self.memory_limit();
        self.number("ecn_prob");
    }

    fn dualpi2(&mut self) {
        const LINUX: &str = "linux-6.17";
        if self.options.word("version") != LINUX {
            let expected = format!("version = \"{LINUX}\"");
            self.refuse("version", "the kernel's dualpi2 is its own", &expected);
            return;
        }
        for (name, only) in [
            ("scheduler", Value::Word("credit")),
            ("arithmetic", Value::Word("div64")),
            ("timer", Value::Word("hrtimer")),
            ("step_rule", Value::Word("enqueue")),
            ("reset_statistics", Value::Bool(false)),
        ] {
            if self.options.get(name).is_some_and(|v| *v != only) {
                let message = format!("dualpi2 of Linux has no other {name}");
                let expected = format!("{name} = {}", super::cc::quoted(&only));
                self.refuse(name, &message, &expected);
            }
        }
        if self.options.get("l_drop").is_some() {
            let expected = "overload = \"drop\" or \"overflow\"";
            self.refuse("l_drop", "dualpi2 of Linux has no l_drop", expected);
        }
        // Linux keeps both in 32 bits of nanoseconds.
        for name in ["tupdate", "step_thresh"] {
            if matches!(self.options.get(name), Some(Value::Time(t)) if t.ns() > u64::from(u32::MAX))
            {
                self.refuse(name, "Linux has 32 bits for it, in ns", "at most 4294ms");
            }
        }
        if matches!(self.options.get("limit"), Some(Value::Packets(n)) if *n > u64::from(u32::MAX))
        {
            self.refuse("limit", "tc has 32 bits for it", "at most 4294967295p");
        }
        self.number("limit");
        if let Some(Value::Bytes(bytes)) = self.options.get("memlimit") {
            if bytes.0 > u64::from(u32::MAX) {
                self.refuse("memlimit", "tc has 32 bits for it", "less than 4gb");
            }
            self.number("memlimit");
        }
        self.micros("target");
        self.micros("tupdate");
        for gain in ["alpha", "beta"] {
            self.pair(gain, &self.options.float(gain).to_string());
        }
        self.number("coupling_factor");
        match self.options.get("step_thresh") {
            Some(Value::Packets(n)) => {
                if *n > u64::from(u32::MAX) {
                    self.refuse(
                        "step_thresh",
                        "tc has 32 bits for it",
                        "at most 4294967295p",
                    );
                }
                self.pair("step_thresh", &format!("{n}p"));
            }
            _ => self.micros("step_thresh"),
        }
        self.number("min_qlen_step");
        self.flag("any_ect", "any_ect", "l4s_ect");
        self.word(match self.options.get("overload") {
            Some(Value::Word("overflow")) => "overflow",
            _ => "drop_on_overload",
        });
        self.word(match self.options.word("drop") {
            "enqueue" => "drop_enqueue",
            _ => "drop_dequeue",
        });
        let protection = format!("{}%", self.options.int("classic_protection"));
        self.pair("classic_protection", &protection);
        self.flag("split_gso", "split_gso", "no_split_gso");
    }

    /// What pie and fq_pie share.
    fn controller(&mut self) {
        for gain in ["alpha", "beta"] {
            if self.options.int(gain) == 0 {
                self.refuse(gain, "tc takes 0 for the default", "at least 1");
            }
        }
        self.number("limit");
        self.micros("target");
        self.micros("tupdate");
        self.number("alpha");
        self.number("beta");
        self.flag("ecn", "ecn", "noecn");
        self.flag("bytemode", "bytemode", "nobytemode");
        self.flag(
            "dq_rate_estimator",
            "dq_rate_estimator",
            "no_dq_rate_estimator",
        );
    }

    /// An entry without a template of its own: every option by its name.
    fn by_name(&mut self) {
        for (name, value) in self.options.iter() {
            match value {
                Value::Bool(true) => self.word(name),
                Value::Bool(false) => {}
                Value::Time(_) => self.micros(name),
                Value::Rate(rate) => self.pair(name, &format!("{}bit", rate.0)),
                Value::Word(word) => self.pair(name, word),
                Value::Float(f) => self.pair(name, &f.to_string()),
                Value::Table(_) => self.refuse(name, "tc has no tables", "no table"),
                _ => self.number(name),
            }
        }
    }

    fn red(&mut self, link: &LinkPlan) {
        let options = self.options;
        for (name, only) in [
            ("gentle", Value::Bool(false)),
            ("uniformise", Value::Word("linux")),
            ("idle", Value::Word("hold")),
            ("include_arriving", Value::Bool(false)),
        ] {
            if options.get(name).is_some_and(|v| *v != only) {
                let expected = format!("{name} = {}", super::cc::quoted(&only));
                let message = match name {
                    "idle" => "below a shaper RED of Linux never sees an idle time".to_owned(),
                    _ => format!("RED of Linux has no {name}"),
                };
                self.refuse(name, &message, &expected);
            }
        }
        let mut bytes = |name: &str| match options.get(name) {
            Some(Value::Bytes(b)) => b.0,
            _ => {
                self.refuse(
                    name,
                    "RED of Linux counts bytes",
                    "a size in bytes such as \"64kb\"",
                );
                0
            }
        };
        let (limit, min, max) = (bytes("limit"), bytes("min"), bytes("max"));
        let avpkt = bytes("avpkt");
        if limit == 0 || min == 0 || max == 0 || avpkt == 0 {
            return;
        }
        let weight = options.float("weight");
        let Some(wlog) = wlog_of(weight) else {
            let (below, above) = around(weight);
            let expected = match above {
                Some(above) => format!("weight = {below} or {above}"),
                None => format!("weight = {below}"),
            };
            self.refuse("weight", "tc has powers of two for it", &expected);
            return;
        };
        let Some(burst) = burst_of(min, avpkt, wlog) else {
            let message = format!(
                "no burst gives this weight with min {min} and avpkt {avpkt} (tc derives Wlog from them)"
            );
            self.refuse("weight", &message, "another weight, or min above avpkt");
            return;
        };
        // The kernel's average is a 32-bit number with Wlog binary digits.
        if 64 - max.leading_zeros() + wlog >= 32 {
            let most = format!("max below {} bytes at this weight", 1_u64 << (31 - wlog));
            self.refuse("max", "the kernel's average has no room for it", &most);
            return;
        }
        let probability = options.float("probability");
        let delta = max.saturating_sub(min).max(1) as f64;
        if probability / delta * 2_147_483_648.0 <= 1.0 {
            let least = format!("at least {}", delta / 2_147_483_648.0);
            self.refuse("probability", "tc has no word for a slope so small", &least);
            return;
        }
        // 1 does not fit into the 32 binary digits that tc has for it.
        let probability = probability.min(1.0 - 1.0 / 4_294_967_296.0);
        let bandwidth = match options.get("bandwidth") {
            Some(Value::Rate(rate)) => *rate,
            _ => link.rate.nominal(),
        };
        self.pair("limit", &limit.to_string());
        self.pair("min", &min.to_string());
        self.pair("max", &max.to_string());
        self.pair("avpkt", &avpkt.to_string());
        self.pair("burst", &burst.to_string());
        self.pair("probability", &probability.to_string());
        self.pair("bandwidth", &format!("{}bit", bandwidth.0));
        self.flag("ecn", "ecn", "");
    }
}

/// The exponent of the power of two that a weight is, within 5 %; tc's
/// smallest exponent is 1.
fn wlog_of(weight: f64) -> Option<u32> {
    (1..=30).find(|w| (weight * f64::from(1_u32 << w) - 1.0).abs() <= 0.05)
}

/// The powers of two around a weight that tc can say.
fn around(weight: f64) -> (f64, Option<f64>) {
    let below = (1..=30)
        .map(|w| 1.0 / f64::from(1_u32 << w))
        .find(|p| *p <= weight)
        .unwrap_or(1.0 / f64::from(1_u32 << 30));
    (below, (below < 0.5).then_some(below * 2.0))
}

/// The smallest burst (packets) from which tc derives this exponent.
///
/// tc takes the smallest exponent at which a burst into an empty queue does
/// not bring the average above `min`: the average of `burst` samples of a
/// growing queue is `burst + 1 - (1 - (1 - W)^burst) / W`.
fn burst_of(min: u64, avpkt: u64, wlog: u32) -> Option<u64> {
    let min_packets = min as f64 / avpkt as f64;
    let holds = |burst: u64, wlog: u32| {
        let weight = 1.0 / f64::from(1_u32 << wlog);
        let excess = burst as f64 + 1.0 - min_packets;
        excess <= (1.0 - (1.0 - weight).powf(burst as f64)) / weight
    };
    // A longer burst needs a larger exponent: the first that does not hold at
    // the exponent before is found by bisection.
    let (mut low, mut high) = (min_packets.ceil() as u64, 1 << 31);
    if wlog > 1 {
        while low < high {
            let middle = low.midpoint(high);
            if holds(middle, wlog - 1) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
    }
    let burst = low.max(1);
    (burst as f64 + 1.0 - min_packets >= 1.0 && holds(burst, wlog)).then_some(burst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_gives_the_weight() {
        // What `tc -d qdisc show` prints as ewma for these bursts: tests/kernel.
        for (min, avpkt, wlog) in [(33_333, 1000, 9), (30_000, 1500, 9), (30_000, 1000, 1)] {
            let burst = burst_of(min, avpkt, wlog).unwrap();
            let weight = |w: u32| 0.5_f64.powi(w as i32);
            let a = burst as f64 + 1.0 - min as f64 / avpkt as f64;
            let f = |w: u32| (1.0 - (1.0 - weight(w)).powf(burst as f64)) / weight(w);
            assert!(a >= 1.0 && a <= f(wlog), "{min} {wlog}: {burst}");
            assert!(wlog == 1 || a > f(wlog - 1), "{min} {wlog}: {burst}");
        }
        // A threshold below one packet leaves no burst.
        assert_eq!(burst_of(900, 1000, 9), None);
    }

    #[test]
    fn weights_are_powers_of_two() {
        assert_eq!(wlog_of(0.002), Some(9));
        assert_eq!(wlog_of(0.5), Some(1));
        assert_eq!(wlog_of(1.0), None);
        assert_eq!(wlog_of(0.0015), None);
        assert_eq!(around(0.0015), (1.0 / 1024.0, Some(1.0 / 512.0)));
        assert_eq!(around(1.0), (0.5, None));
    }

    #[test]
    fn times_keep_nanoseconds() {
        assert_eq!(time(Time::from_ms(10)), "10000us");
        assert_eq!(time(Time(12_345)), "12345ns");
    }
}

//! SCE marks (Some Congestion Experienced). A mark changes ECT(0) to ECT(1). The probability of a
//! mark rises linearly with the sojourn time, along a line that is called the ramp. Cake also uses
//! this ramp. This file also adds SCE marking to CoDel.
//!
//! Neither Linux nor the SCE reference code has such a ramp in codel or fq_codel. tailback uses the
//! ramp that Cake has in the reference code, but with CoDel's target instead of Cobalt's. As in
//! CoDel, a packet is "above the target" if its sojourn time is at least the target and more than
//! one MTU stays queued. With `on`, the probability rises from 0 at half the target to 1 at the
//! target. With `single`, the probability is 0 up to the target and rises to 1 at twice the target.
//! For `single`, the draft specifies the same slope as for `on`. The reference code uses half of
//! this slope. tailback follows the reference code.
//!
//! The SCE mark of a packet is decided last, after CoDel's marks and `ce_threshold`. Only packets
//! with ECT(0) get SCE marks, so an SCE mark never overwrites a CE mark.

use tailback_record::Cause;

use super::Sink;
use crate::packet::{Ecn, Packet};
use crate::registry::kernel::{Words, only};
use crate::registry::{Kind, Opt, Options, Value};
use crate::rng::Stream;
use crate::units::Time;

/// Option: SCE marking.
pub const OPTION: Opt = Opt {
    name: "sce",
    doc: "How ECT(0) packets get SCE marks. \"on\": the probability of a mark rises from 0 at half the target to 1 at the target. \"single\": the probability rises from 0 at the target to 1 at twice the target. \"off\": never. Linux does not have the option sce.",
    kind: Kind::Word(&["off", "on", "single"]),
    default: Some("off"),
    tc: None,
};

/// Writes the option for tc.
pub fn spell(words: &mut Words<'_>, option: &'static str) {
    let message = "Linux has no SCE marks in CoDel";
    only(words, option, Value::Word("off"), message);
}

/// How a queue discipline sets SCE marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ramp {
    /// The queue sets no SCE marks.
    Off,
    /// The probability of a mark at the target. The probability is 1 for `"on"`, and 1/N if Cake's
    /// option `sce` is a number N.
    Knee(f64),
    /// The probability of a mark rises from 0 at the target. The probability reaches 1 when the
    /// sojourn time exceeds the target by this multiple of the target.
    Single(f64),
}

impl Ramp {
    /// Returns the probability of a mark. `sojourn` and `target` are in ns. `over` is true if CoDel
    /// counts the packet as above the target. At low rates, `over` is true only if several packets
    /// are queued.
    #[inline]
    pub fn probability(self, target: i64, sojourn: i64, over: bool) -> f64 {
        let (t, s) = (target as f64, sojourn as f64);
        match self {
            _ if s <= t / 2.0 => 0.0,
            Ramp::Off => 0.0,
            Ramp::Knee(knee) if over => (s - t) * (1.0 - knee) / t + knee,
            Ramp::Knee(knee) => (s - t / 2.0) * knee / (t / 2.0),
            Ramp::Single(width) if over => (s - t) / (t * width),
            Ramp::Single(_) => 0.0,
        }
    }
}

/// Decides which packets of one queue get SCE marks.
#[derive(Clone, Debug)]
pub struct Marker {
    /// CoDel's target, in ns.
    target: i64,
    ramp: Ramp,
    rng: Stream,
}

impl Marker {
    /// Reads the options [`OPTION`] and `target`. Returns `None` if SCE is off.
    pub fn of(options: &Options, rng: Stream) -> Option<Marker> {
        let ramp = match options.word("sce") {
            "off" => return None,
            "single" => Ramp::Single(1.0),
            _ => Ramp::Knee(1.0),
        };
        Some(Marker {
            target: options.time("target").ns() as i64,
            ramp,
            rng,
        })
    }

    /// Returns the probability of a mark. It may exceed 1.
    fn probability(&self, sojourn: Time, over: bool) -> f64 {
        let sojourn = sojourn.ns() as i64;
        self.ramp.probability(self.target, sojourn, over)
    }

    /// Decides whether to mark a packet that is now leaving. `over` is true if CoDel counts the
    /// packet as above the target.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet, over: bool, now: Time, sink: &mut Sink) {
        if packet.ecn != Ecn::Ect0 {
            return;
        }
        let p = self.probability(now.since(packet.stamp), over);
        if p >= 1.0 || (p > 0.0 && self.rng.chance(p)) {
            sink.mark(packet, Cause::SceMark, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(single: bool) -> Marker {
        Marker {
            target: 5_000_000,
            ramp: if single {
                Ramp::Single(1.0)
            } else {
                Ramp::Knee(1.0)
            },
            rng: Stream::new(1, "sce", "test"),
        }
    }

    #[test]
    fn the_ramp_point_by_point() {
        let on = marker(false);
        let us = Time::from_us;
        for (sojourn, over, p) in [
            (2_500, false, 0.0),
            (3_000, false, 0.2),
            (3_750, false, 0.5),
            (5_000, false, 1.0),
            (5_000, true, 1.0),
            (9_000, true, 1.0),
        ] {
            assert!(
                (on.probability(us(sojourn), over) - p).abs() < 1e-12,
                "{sojourn}"
            );
        }
        // If a packet is the only one in the queue, CoDel does not count it as above the target.
        // SCE still marks it.
        assert!(on.probability(us(9_000), false) > 1.0);
        let single = marker(true);
        for (sojourn, over, p) in [
            (4_999, false, 0.0),
            (9_000, false, 0.0),
            (5_000, true, 0.0),
            (7_500, true, 0.5),
            (10_000, true, 1.0),
        ] {
            assert!(
                (single.probability(us(sojourn), over) - p).abs() < 1e-12,
                "{sojourn}"
            );
        }
    }

    #[test]
    fn only_ect0_is_marked_and_as_often_as_the_ramp_says() {
        let mut sink = Sink::new(1, Time::ZERO);
        let mut on = marker(false);
        let now = Time::from_us(3_750);
        let mut marked = 0;
        for _ in 0..10_000 {
            let mut packet = Packet::new(0, 1514, Ecn::Ect0);
            on.mark(&mut packet, false, now, &mut sink);
            marked += u32::from(packet.ecn == Ecn::Ect1);
        }
        // The expected number of marks is 5000, with a standard error of 50.
        assert!(marked.abs_diff(5_000) < 200, "{marked}");
        assert_eq!(sink.meter.counts.get(Cause::SceMark), u64::from(marked));
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ce] {
            let mut packet = Packet::new(0, 1514, ecn);
            on.mark(&mut packet, true, Time::from_ms(50), &mut sink);
            assert_eq!(packet.ecn, ecn);
        }
    }
}

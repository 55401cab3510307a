//! Parses the rtnetlink statistics of a queue discipline.

use tailback_engine::registry::kernel::Xstats;

const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;

const MOST_GAUGES: usize = 4;

/// The queue length and the counters of a qdisc.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    pub packets: u32,
    pub bytes: u32,
    /// Packets dropped since the qdisc was created.
    pub drops: u32,
    /// Packets sent since the qdisc was created.
    pub sent_packets: u32,
    /// Bytes sent since the qdisc was created.
    pub sent_bytes: u64,
    /// Packets marked CE since the qdisc was created. `None` if the qdisc does not count marks, or
    /// if the position of the counter is unknown.
    pub marks: Option<u32>,
    /// Sampled internal values (gauges), in the order of the registry.
    pub gauges: [Option<f64>; MOST_GAUGES],
}

impl Statistics {
    /// Returns these statistics after subtracting the counters of `base`.
    pub fn since(&self, base: &Statistics) -> Statistics {
        Statistics {
            drops: self.drops.wrapping_sub(base.drops),
            sent_packets: self.sent_packets.wrapping_sub(base.sent_packets),
            sent_bytes: self.sent_bytes.wrapping_sub(base.sent_bytes),
            marks: self.marks.map(|m| m.wrapping_sub(base.marks.unwrap_or(0))),
            ..*self
        }
    }
}

/// Parses the attributes of a message about a queue discipline. `xstats` is the layout of the
/// discipline's own statistics, if known.
pub fn statistics(attributes: &[u8], xstats: Option<&Xstats>) -> Statistics {
    let mut statistics = Statistics::default();
    let Some(inner) = attribute(attributes, TCA_STATS2) else {
        return statistics;
    };
    if let Some(basic) = attribute(inner, TCA_STATS_BASIC).filter(|b| b.len() >= 12) {
        let bytes = [word(basic, 0), word(basic, 4)].map(u64::from);
        statistics.sent_bytes = bytes[0] | bytes[1] << 32;
        statistics.sent_packets = word(basic, 8);
    }
    if let Some(queue) = attribute(inner, TCA_STATS_QUEUE).filter(|q| q.len() >= 12) {
        statistics.packets = word(queue, 0);
        statistics.bytes = word(queue, 4);
        statistics.drops = word(queue, 8);
    }
    let own = attribute(inner, TCA_STATS_APP).unwrap_or(&[]);
    if let Some(xstats) = xstats.filter(|xstats| own.starts_with(xstats.tag)) {
        statistics.marks = marks(xstats, own);
        for (value, gauge) in statistics.gauges.iter_mut().zip(xstats.gauges) {
            *value = gauge.read(own);
        }
    }
    statistics
}

/// Returns the number of marks from a queue discipline's own statistics. Returns `None` if a
/// counter is missing. In an older kernel, the struct may lack counters.
fn marks(xstats: &Xstats, own: &[u8]) -> Option<u32> {
    xstats.marks?.iter().try_fold(0_u32, |sum, &at| {
        let counted = own.get(at..at + 4)?;
        Some(sum.wrapping_add(word(counted, 0)))
    })
}

pub fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let length = usize::from(half(attributes, 0)).clamp(4, attributes.len());
        // The two highest bits of an attribute's type are flags.
        if half(attributes, 2) & 0x3fff == wanted {
            return Some(&attributes[4..length]);
        }
        attributes = &attributes[align(length).min(attributes.len())..];
    }
    None
}

/// Rounds a length up to a multiple of four bytes. The next attribute begins at the rounded length.
pub fn align(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// Reads a 16-bit number in native byte order.
pub fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// Reads a 32-bit number in native byte order.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_engine::aqm;
    use tailback_engine::registry::kernel::Kernel;

    fn told(kind: &str, own: &[u8]) -> Statistics {
        let attribute = |number: u16, inner: &[u8]| {
            let mut bytes = (inner.len() as u16 + 4).to_ne_bytes().to_vec();
            bytes.extend(number.to_ne_bytes());
            bytes.extend(inner);
            bytes
        };
        let message = attribute(TCA_STATS2, &attribute(TCA_STATS_APP, own));
        statistics(&message, aqm::face(kind).map(|face| &face.xstats))
    }

    #[test]
    fn marks_are_those_of_the_kind() {
        let own: Vec<u8> = (0..12_u32).flat_map(u32::to_ne_bytes).collect();
        for (kind, marks) in [
            ("codel", Some(6 + 8)),
            ("fq_codel", Some(3 + 7)),
            ("red", Some(3)),
            ("pie", Some(9)),
            ("fq_pie", Some(4)),
            ("dualpi2", Some(6)),
            ("pfifo", Some(0)),
            ("bfifo", Some(0)),
            ("cake", None),
            ("sfq", None),
        ] {
            assert_eq!(told(kind, &own).marks, marks, "{kind}");
        }
        assert_eq!(
            told("codel", &own[..32]).marks,
            None,
            "an older, shorter struct"
        );
        // The type of the statistics is TCA_FQ_CODEL_XSTATS_CLASS, which has no count of marks.
        assert_eq!(told("fq_codel", &own[4..]).marks, None);
    }

    #[test]
    fn codel_tells_its_state() {
        let own: Vec<u8> = (0..12_u32).flat_map(u32::to_ne_bytes).collect();
        let told_of_it = told("codel", &own);
        assert_eq!(told_of_it.gauges[..2], [Some(1.0), Some(1.0)]);
        let most = aqm::ENTRIES.iter().filter_map(|entry| match entry.kernel {
            Kernel::Qdisc(face) => Some(face.xstats.gauges.len()),
            _ => None,
        });
        assert!(most.max() <= Some(MOST_GAUGES));
    }

    #[test]
    fn counts_begin_anew_after_the_warm_up() {
        let base = Statistics {
            drops: u32::MAX,
            marks: Some(2),
            ..Statistics::default()
        };
        let now = Statistics {
            packets: 5,
            drops: 1,
            marks: Some(9),
            ..Statistics::default()
        };
        let since = now.since(&base);
        assert_eq!((since.packets, since.drops, since.marks), (5, 2, Some(7)));
    }
}

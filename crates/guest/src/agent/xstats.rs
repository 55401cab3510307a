//! What rtnetlink tells of a queue discipline, read from its attributes.

const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;

/// What a qdisc holds and has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets queued.
    pub packets: u32,
    /// Bytes queued.
    pub bytes: u32,
    /// Packets dropped since it was made.
    pub drops: u32,
    /// Packets sent since it was made.
    pub sent_packets: u32,
    /// Bytes sent since it was made.
    pub sent_bytes: u64,
    /// Packets marked CE since it was made; `None`: it does not count them, or
    /// where is not known here.
    pub marks: Option<u32>,
    /// CoDel's count and whether it is dropping; `None`: it is not CoDel.
    pub codel: Option<[u32; 2]>,
}

impl Statistics {
    /// What has been counted since; what is queued stays as it is now.
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

/// What a message about a queue discipline of this kind says in its attributes.
pub fn statistics(attributes: &[u8], kind: &[u8]) -> Statistics {
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
    statistics.marks = marks(kind, own);
    if kind == b"codel" && own.len() >= 32 {
        statistics.codel = Some([word(own, 4), u32::from(word(own, 28) != 0)]);
    }
    statistics
}

/// The marks in what a kind says of itself, `struct tc_KIND_xstats`.
fn marks(kind: &[u8], own: &[u8]) -> Option<u32> {
    let places: &[usize] = match kind {
        b"pfifo" | b"bfifo" => &[],
        // ecn_mark and, by ce_threshold, ce_mark
        b"codel" => &[24, 32],
        b"fq_codel" if own.starts_with(&[0; 4]) => &[12, 28],
        b"red" => &[12],
        b"pie" => &[36],
        b"fq_pie" => &[16],
        // ecn_mark, which step_marks (at 28) are a part of
        b"dualpi2" => &[24],
        _ => return None,
    };
    places.iter().try_fold(0_u32, |sum, &at| {
        let counted = own.get(at..at + 4)?;
        Some(sum.wrapping_add(word(counted, 0)))
    })
}

/// The payload of the first attribute of a type.
pub fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let length = usize::from(half(attributes, 0)).clamp(4, attributes.len());
        // The two highest bits say how it is to be read.
        if half(attributes, 2) & 0x3fff == wanted {
            return Some(&attributes[4..length]);
        }
        attributes = &attributes[align(length).min(attributes.len())..];
    }
    None
}

/// Attributes begin at multiples of four bytes.
pub fn align(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// A number of two bytes, of the machine's order.
pub fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

/// One of four.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_the_kind() {
        let own: Vec<u8> = (0..12_u32).flat_map(u32::to_ne_bytes).collect();
        assert_eq!(marks(b"codel", &own), Some(6 + 8));
        assert_eq!(marks(b"fq_codel", &own), Some(3 + 7));
        assert_eq!(marks(b"red", &own), Some(3));
        assert_eq!(marks(b"pie", &own), Some(9));
        assert_eq!(marks(b"dualpi2", &own), Some(6));
        assert_eq!(marks(b"pfifo", &[]), Some(0));
        assert_eq!(
            marks(b"codel", &own[..32]),
            None,
            "an older, shorter struct"
        );
        assert_eq!(marks(b"cake", &own), None);
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

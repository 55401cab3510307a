//! Reads the burst of a shaper, which is a size, or `"tc"` for the burst that tc computes.

use serde_json::{Value as Json, json};
use tailback_engine::aqm;
use tailback_engine::bucket::{MOST_BURST, MOST_GATHERED, tc_burst};
use tailback_engine::plan::{LinkMode, LinkPlan, RatePlan};
use tailback_engine::registry::{Kind, Value};
use tailback_engine::units::Bytes;

use super::reader::{Bdp, Reader};
use super::value;
use crate::read::{Item, Problem, Toml};

/// The value of the key that stands for the burst that tc computes.
pub(super) const TC: &str = "tc";

/// Describes a burst, for error messages.
pub(super) const EXPECTED: &str = "a size such as \"1600b\" (units b, kb, mb, gb), \"0b\" for none, or \"tc\" for what tc computes";

impl Reader<'_> {
    /// Reads the burst of a link. Call this function after the link's other keys have been read,
    /// because the largest permitted burst depends on the rate.
    pub fn burst(&mut self, item: &Item, link: &LinkPlan, rate_known: bool, bdp: Bdp) -> Bytes {
        let Some(burst) = self.size_of_burst(item, link, bdp) else {
            return Bytes(0);
        };
        if burst.0 == 0 {
            return burst;
        }
        let unfit = if link.mode == LinkMode::Wire {
            Some((
                "a wire has no burst: packets leave at the end of their slots".to_owned(),
                "link = \"shaper\"",
            ))
        } else if matches!(link.rate, RatePlan::Trace(_)) {
            Some((
                "a trace has no burst: it sets when packets leave".to_owned(),
                "a rate or steps",
            ))
        } else if aqm::face(link.queue.name()).is_some_and(|face| face.shaper.is_some()) {
            let queue = link.queue.name();
            Some((
                format!("{queue} shapes traffic to the link's rate itself, without a burst"),
                "another queue",
            ))
        } else if link.count_in_service {
            Some((
                "packets that leave on saved tokens have no slot, so count_in_service cannot count them"
                    .to_owned(),
                "count_in_service = false",
            ))
        } else {
            None
        };
        if let Some((message, instead)) = unfit {
            let expected = format!("burst = \"0b\", or {instead}");
            self.problem(Problem::new(item.node.span, message).expected(expected));
            return Bytes(0);
        }
        let most = most(&link.rate);
        if rate_known && burst > most {
            let expected = format!(
                "at most {}b: what the lowest rate sends in {MOST_GATHERED}, and no more than {}b",
                most.0, MOST_BURST.0
            );
            self.wrong(&item.key, &item.node, expected);
            return Bytes(0);
        }
        burst
    }

    fn size_of_burst(&mut self, item: &Item, link: &LinkPlan, bdp: Bdp) -> Option<Bytes> {
        const SIZE: Kind = Kind::Size {
            packets: false,
            bytes: true,
        };
        let node = &item.node;
        let zero = |text: &str| {
            let number = text.trim().trim_end_matches(['b', 'B']).trim_end();
            number.parse::<f64>() == Ok(0.0)
        };
        match node.string() {
            Some(TC) => return Some(tc_burst(link.rate.nominal())),
            Some(text) if zero(text) => return Some(Bytes(0)),
            None if matches!(node.value, Toml::Integer(0)) => return Some(Bytes(0)),
            _ => {}
        }
        let before = self.problems.len();
        match self.plain(&item.key, SIZE, node, bdp) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => {
                // The size parser's message does not mention "tc", so replace the message.
                if self.problems.len() > before {
                    self.problems.truncate(before);
                    self.wrong(&item.key, node, EXPECTED);
                }
                None
            }
        }
    }
}

/// Returns the largest permitted burst of a link with the given rate.
fn most(rate: &RatePlan) -> Bytes {
    Bytes(rate.lowest().bytes_in(MOST_GATHERED)).min(MOST_BURST)
}

pub(super) fn schema() -> Json {
    json!({ "anyOf": [
        value::pattern(value::BYTES),
        { "enum": [TC] },
        { "type": "integer", "minimum": 0, "maximum": MOST_BURST.0 },
    ] })
}

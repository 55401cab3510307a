//! Algorithms that end slow start earlier than a loss or a mark would. The option `slow_start` of
//! Reno and CUBIC selects one of these algorithms.
//!
//! | value | ends slow start | growth of the window per round |
//! |---|---|---|
//! | `none` | never | doubles each round |
//! | `hystart` | at once, on a long train of ACKs or a rise of the RTT ([`hystart`]) | doubles |
//! | `hystart++` | on a rise of the RTT that lasts ([`hystart_plus_plus`], RFC 9406) | doubles, and after the rise grows by a quarter of that |
//! | `careful-resume` | never; the window jumps to half of a saved window ([`careful_resume`], RFC 9959) | doubles |
//! | `rapid-start` | never; the first reduction depends on the number of delivered segments ([`rapid_start`]) | triples, then doubles |
//! | `search` | when fewer segments are delivered than were sent one round trip earlier ([`search`]) | doubles, then shrinks |
//!
//! All algorithms except HyStart act only in the first slow start, which ends when ssthresh is
//! first reduced. HyStart acts in every slow start, as in Linux.

mod careful_resume;
pub(super) mod hystart;
mod hystart_plus_plus;
mod rapid_start;
mod search;
#[cfg(test)]
mod tests;

use super::view::{Ack, View};
use super::window::{MAX_CWND, Window};
use crate::registry::{Kind, Opt, OptionError, Options, Value};
use crate::units::Time;
use careful_resume::CarefulResume;
use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;
use rapid_start::RapidStart;
use search::Search;

pub(super) const fn option(default: Option<&'static str>, doc: &'static str) -> Opt {
    Opt {
        name: "slow_start",
        doc,
        kind: Kind::Word(&[
            "hystart",
            "hystart++",
            "search",
            "careful-resume",
            "rapid-start",
            "none",
        ]),
        default,
        tc: None,
    }
}

pub(super) const SAVED_WINDOW: Opt = Opt {
    name: "saved_window",
    doc: "Congestion window of an earlier connection, in segments, for slow_start = \"careful-resume\" (RFC 9959).",
    kind: Kind::Int {
        min: 1,
        max: MAX_CWND as i64,
    },
    default: None,
    tc: None,
};

pub(super) const SAVED_RTT: Opt = Opt {
    name: "saved_rtt",
    doc: "Smallest RTT of an earlier connection, for slow_start = \"careful-resume\" (RFC 9959).",
    kind: Kind::Time {
        min: Time::from_us(1),
    },
    default: None,
    tc: None,
};

/// Checks the saved values. The saved values must be set for Careful Resume, and must not be set
/// for other algorithms.
pub(super) fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let resumes = options.get("slow_start") == Some(&Value::Word("careful-resume"));
    let error = |option| {
        let message = match resumes {
            true => format!(
                "careful-resume needs the {option} of an earlier connection: expected {option} too"
            ),
            false => format!(
                "only Careful Resume uses {option}: expected slow_start = \"careful-resume\" too"
            ),
        };
        let option = if resumes { "slow_start" } else { option };
        OptionError { option, message }
    };
    let wrong = ["saved_window", "saved_rtt"].into_iter();
    let wrong = wrong.filter(|option| options.get(option).is_some() != resumes);
    let errors: Vec<OptionError> = wrong.map(error).collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(errors),
    }
}

/// Returns the pacing rate that spreads this many segments over one RTT, in bytes/s. Returns 0
/// before the first RTT sample.
fn over_rtt(view: View<'_>, segments: u32) -> u64 {
    let bytes = u64::from(segments) * u64::from(view.mss);
    (u128::from(bytes) * 1_000_000_000)
        .checked_div(u128::from(view.srtt.ns()))
        .unwrap_or(0) as u64
}

/// Combines CUBIC's option `slow_start` with its older option `hystart`. As in Linux, the older
/// option selects `hystart` or `none`. Replaces the values `hystart` and `none` of `slow_start`
/// with the equivalent value of the older option. So tailback recognises settings with the same
/// meaning and runs them only once.
pub(super) fn finish_cubic(options: &mut Options) -> Result<(), Vec<OptionError>> {
    finish(options)?;
    let Some(Value::Word(word)) = options.get("slow_start") else {
        return Ok(());
    };
    let word = *word;
    if word == "hystart" && !options.bool("hystart") {
        return Err(vec![OptionError {
            option: "slow_start",
            message:
                "hystart = false turns HyStart off: expected no hystart, or slow_start = \"none\""
                    .to_owned(),
        }]);
    }
    // If another algorithm ends slow start, the option `hystart` has no effect.
    options.set("hystart", Value::Bool(word != "none"));
    if matches!(word, "hystart" | "none") {
        options.remove("slow_start");
    }
    Ok(())
}

/// The algorithm that ends slow start, with its state.
#[derive(Debug, Default)]
pub(super) enum SlowStart {
    /// Slow start ends only at a loss or a mark.
    #[default]
    Standard,
    HyStart(Box<HyStart>),
    CarefulResume(Box<CarefulResume>),
    RapidStart(Box<RapidStart>),
    HyStartPlusPlus(Box<HyStartPlusPlus>),
    Search(Box<Search>),
}

impl SlowStart {
    /// Creates the algorithm that the options select.
    pub fn of(options: &Options) -> SlowStart {
        match options.get("slow_start") {
            Some(Value::Word("hystart")) => SlowStart::HyStart(Box::default()),
            Some(Value::Word("hystart++")) => SlowStart::HyStartPlusPlus(Box::default()),
            Some(Value::Word("careful-resume")) => {
                let window = options.int("saved_window") as u32;
                let resume = CarefulResume::new(window, options.time("saved_rtt"));
                SlowStart::CarefulResume(Box::new(resume))
            }
            Some(Value::Word("rapid-start")) => SlowStart::RapidStart(Box::default()),
            Some(Value::Word("search")) => SlowStart::Search(Box::default()),
            _ => SlowStart::Standard,
        }
    }

    /// Starts the first slow start. Called when the connection is established.
    #[inline]
    pub fn init(&mut self, view: View<'_>, window: &mut Window) {
        match self {
            SlowStart::Standard => {}
            SlowStart::CarefulResume(resume) => resume.init(view, window),
            SlowStart::RapidStart(rapid) => rapid.init(view, window),
            SlowStart::HyStart(hystart) => hystart.restart(view),
            SlowStart::HyStartPlusPlus(hystart) => hystart.init(view, window),
            SlowStart::Search(search) => search.init(window),
        }
    }

    /// Processes an ACK. Ends slow start if the algorithm decides so.
    #[inline]
    pub fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        match self {
            SlowStart::Standard => {}
            SlowStart::CarefulResume(resume) => resume.pkts_acked(view, window, ack),
            SlowStart::RapidStart(rapid) => rapid.pkts_acked(view, window, ack),
            SlowStart::HyStart(hystart) => hystart.pkts_acked(view, window, ack),
            SlowStart::HyStartPlusPlus(hystart) => hystart.pkts_acked(view, window, ack),
            SlowStart::Search(search) => search.pkts_acked(view, window, ack),
        }
    }

    /// Returns how many of the segments in an ACK increase the window in slow start.
    #[inline]
    pub fn counted(&mut self, view: View<'_>, window: &Window, acked: u32) -> u32 {
        match self {
            SlowStart::CarefulResume(resume) => resume.counted(acked),
            SlowStart::RapidStart(rapid) => rapid.counted(view, window, acked),
            SlowStart::HyStartPlusPlus(hystart) => hystart.counted(window, acked),
            _ => acked,
        }
    }

    /// Returns whether SEARCH is reducing the window to ssthresh. During this reduction, the window
    /// must not grow.
    #[inline]
    pub fn drains(&self) -> bool {
        matches!(self, SlowStart::Search(search) if search.drains())
    }

    pub fn paces(&self) -> bool {
        matches!(self, SlowStart::CarefulResume(_) | SlowStart::RapidStart(_))
    }

    /// Returns ssthresh after a reduction. If the algorithm does not determine ssthresh, returns
    /// the congestion control's own value, `otherwise`.
    #[inline]
    pub fn ssthresh(&mut self, view: View<'_>, window: &Window, otherwise: u32) -> u32 {
        match self {
            SlowStart::CarefulResume(resume) => resume.ssthresh(view, otherwise),
            SlowStart::RapidStart(rapid) => rapid.ssthresh(view, window, otherwise),
            _ => otherwise,
        }
    }

    /// Removes and returns the estimate of the path's capacity in segments, once the first recovery
    /// has ended. Only Rapid Start estimates this capacity.
    pub fn take_path(&mut self) -> Option<u32> {
        match self {
            SlowStart::RapidStart(rapid) => rapid.take_path(),
            _ => None,
        }
    }

    /// Records a timeout. After a timeout, slow start begins again.
    pub fn timeout(&mut self, view: View<'_>, window: &mut Window) {
        match self {
            SlowStart::HyStart(hystart) => hystart.restart(view),
            SlowStart::RapidStart(rapid) => rapid.timeout(window),
            _ => {}
        }
    }
}

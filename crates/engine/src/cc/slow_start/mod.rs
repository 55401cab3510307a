//! How slow start ends before a loss or a mark ends it: the option `slow_start` of Reno and CUBIC.
//!
//! | word | ends slow start | growth meanwhile |
//! |---|---|---|
//! | `none` | never | doubles each round |
//! | `hystart` | on a long train of ACKs, or a rise of the RTT, at once ([`hystart`]) | doubles |
//! | `hystart++` | on a rise of the RTT that lasts ([`hystart_plus_plus`], RFC 9406) | doubles, then a quarter of that |
//! | `search` | when deliveries lag behind what was sent a round trip before ([`search`]) | doubles, then drains |
//!
//! All but HyStart act in the first slow start only, that is while ssthresh is what the connection
//! began with: later ones know where the last loss was. HyStart acts in each, as in Linux.

pub(super) mod hystart;
mod hystart_plus_plus;
mod search;
#[cfg(test)]
mod tests;

use super::view::{Ack, View};
use super::window::Window;
use crate::registry::{Kind, Opt, OptionError, Options, Value};
use hystart::HyStart;
use hystart_plus_plus::HyStartPlusPlus;
use search::Search;

/// The option.
pub(super) const fn option(default: Option<&'static str>, doc: &'static str) -> Opt {
    Opt {
        name: "slow_start",
        doc,
        kind: Kind::Word(&["hystart", "hystart++", "search", "none"]),
        default,
        tc: None,
    }
}

/// Brings CUBIC's `slow_start` together with its older option `hystart`, which is Linux's switch
/// for two of its words: what is the same has one spelling, and one run.
pub(super) fn finish_cubic(options: &mut Options) -> Result<(), Vec<OptionError>> {
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
    // HyStart's switch means nothing where slow start ends in another way.
    options.set("hystart", Value::Bool(word != "none"));
    if matches!(word, "hystart" | "none") {
        options.remove("slow_start");
    }
    Ok(())
}

/// What ends slow start, with its state.
#[derive(Debug, Default)]
pub(super) enum SlowStart {
    /// A loss or a mark.
    #[default]
    Standard,
    /// HyStart.
    HyStart(Box<HyStart>),
    /// HyStart++.
    HyStartPlusPlus(Box<HyStartPlusPlus>),
    /// SEARCH.
    Search(Box<Search>),
}

impl SlowStart {
    /// From complete options.
    pub fn of(options: &Options) -> SlowStart {
        match options.get("slow_start") {
            Some(Value::Word("hystart")) => SlowStart::HyStart(Box::default()),
            Some(Value::Word("hystart++")) => SlowStart::HyStartPlusPlus(Box::default()),
            Some(Value::Word("search")) => SlowStart::Search(Box::default()),
            _ => SlowStart::Standard,
        }
    }

    /// The hook of that name: the first slow start begins.
    #[inline]
    pub fn init(&mut self, view: View<'_>, window: &Window) {
        match self {
            SlowStart::Standard => {}
            SlowStart::HyStart(hystart) => hystart.restart(view),
            SlowStart::HyStartPlusPlus(hystart) => hystart.init(view, window),
            SlowStart::Search(search) => search.init(window),
        }
    }

    /// The hook of that name: may set ssthresh, and says why then.
    #[inline]
    pub fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        match self {
            SlowStart::Standard => {}
            SlowStart::HyStart(hystart) => hystart.pkts_acked(view, window, ack),
            SlowStart::HyStartPlusPlus(hystart) => hystart.pkts_acked(view, window, ack),
            SlowStart::Search(search) => search.pkts_acked(view, window, ack),
        }
    }

    /// What of an ACK's segments slow start counts.
    #[inline]
    pub fn counted(&mut self, window: &Window, acked: u32) -> u32 {
        match self {
            SlowStart::HyStartPlusPlus(hystart) => hystart.counted(window, acked),
            _ => acked,
        }
    }

    /// Whether the window is on its way down to ssthresh and must not grow.
    #[inline]
    pub fn drains(&self) -> bool {
        matches!(self, SlowStart::Search(search) if search.drains())
    }

    /// A timeout: slow start begins again.
    pub fn timeout(&mut self, view: View<'_>) {
        if let SlowStart::HyStart(hystart) = self {
            hystart.restart(view);
        }
    }
}

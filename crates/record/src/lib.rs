//! Definitions of tailback's measurements: histograms, counters by cause, time series, the outcome
//! of a run and its summary.
//!
//! The simulator, the kernel engine's guest agent and the bindings all use this crate, so that
//! measurements have the same definition in every engine. Times are integer nanoseconds, sizes are
//! bytes, and rates are bit/s.

pub mod account;
#[cfg(feature = "folder")]
pub mod brief;
#[cfg(feature = "folder")]
pub mod catalogue;
pub mod cause;
pub mod class;
pub mod completions;
#[cfg(feature = "folder")]
mod durable;
pub mod fetch;
#[cfg(feature = "folder")]
pub mod folder;
pub mod foreign;
#[cfg(feature = "pcapng")]
pub mod frame;
pub mod frames;
pub mod histogram;
pub mod meter;
pub mod outcome;
mod paged;
#[cfg(feature = "pcapng")]
pub mod pcapng;
pub mod program;
pub mod responsiveness;
pub mod sample;
#[cfg(feature = "folder")]
pub mod scratch;
#[cfg(feature = "folder")]
pub mod seal;
pub mod series;
pub mod stat;
#[cfg(feature = "folder")]
pub mod stored;
pub mod summary;
#[cfg(feature = "folder")]
mod table;

pub use cause::{Cause, Counts, Effect, Seen};
pub use class::{ClassFlow, ClassOutcome, ClassPlan, LinkSamples};
pub use completions::{Completion, Completions};
pub use frames::{FrameOutcome, FrameRules, Frames};
pub use histogram::Histogram;
pub use meter::{Measured, Meter};
pub use outcome::{
    EchoOutcome, FlowOutcome, LinkOutcome, Outcome, PacketCount, SenderSamples, Totals,
    TrafficOutcome,
};
pub use program::{Ended, LeftFile, Measures, ProgramOutcome, TupleOutcome};
pub use responsiveness::{Confidence, ResponsivenessOutcome};
pub use sample::{FlowSampler, FlowState, LinkSampler, LinkState, ProgramSampler, ProgramState};
pub use series::{Series, SeriesId};
pub use stat::Stat;
pub use summary::Summary;

/// Returns a quotient, or `None` if the denominator is not above 0.
fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

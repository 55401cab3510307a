//! What tailback measures, and nothing of how: histograms, counters by cause,
//! time series, the outcome of a run and its summary.
//!
//! Shared by the simulator, the kernel engine's guest agent and the bindings,
//! so that the same measurement has the same definition whoever took it.
//! Times are integer nanoseconds, sizes bytes, rates bit/s.

pub mod cause;
pub mod class;
pub mod completions;
#[cfg(feature = "folder")]
pub mod folder;
#[cfg(feature = "pcapng")]
pub mod frame;
pub mod histogram;
pub mod outcome;
#[cfg(feature = "pcapng")]
pub mod pcapng;
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

pub use cause::{Cause, Counts, FlowCounts};
pub use class::{ClassFlow, ClassOutcome, ClassPlan, ClassRecorder, LinkSamples};
pub use completions::{Completion, Completions};
pub use histogram::Histogram;
pub use outcome::{FlowOutcome, LinkOutcome, Outcome, PacketCount, Totals, TrafficOutcome};
pub use series::{Series, SeriesId};
pub use stat::Stat;
pub use summary::Summary;

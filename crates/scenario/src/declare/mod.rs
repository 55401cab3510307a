//! Declares what a scenario file may contain, and reads these contents from the parsed tree. Keys
//! of tables are declared with the plan ([`tailback_engine::keys`]), and options with the entries
//! of the engine's registries. This folder has a file for each kind of value. Each file contains
//! the description, the schema and the reader of its kind of value.

mod burst;
mod choice;
mod elsewhere;
mod fields;
mod files;
mod in_phase;
mod kinds;

mod metrics;
mod name;
mod paths;
mod pauses;
mod program;
mod rate;
mod reader;
mod registries;
mod schedule;
mod schema;
mod trace;
mod value;

use tailback_engine::units::Time;

pub(crate) use choice::{Choice, wrong_option};
pub(crate) use fields::Fields;
pub(crate) use in_phase::InPhase;
pub(crate) use kinds::expectation;
pub use metrics::{Assert, MetricName, metrics};
pub(crate) use metrics::{GAIN, HARM};
pub(crate) use name::is_name;
pub use paths::{KeyPath, key_paths};
pub(crate) use reader::{Bdp, Reader};
pub(crate) use registries::entries;
pub use schema::json_schema;
pub(crate) use trace::Traces;

/// The longest time in a scenario, about twelve days. In nanoseconds, the sum of a few such times
/// fits in 64 bits.
pub(crate) const MAX_TIME: Time = Time::from_secs(1_000_000);

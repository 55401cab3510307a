//! Random scenarios and random input, and the rules that must hold for all scenarios and inputs.
//!
//! | module | content |
//! |---|---|
//! | [`generate`] | a scenario from a seed, drawn from the registries and the schema |
//! | [`trial`] | the trial of a scenario: loads it for both engines, runs it twice, checks the results |
//! | [`finding`] | the failures that a check reports |
//! | `invariants` | rules that hold for every run |
//! | [`laws`] | the effects that a change of a scenario must have on its results, or must not have |
//! | [`swarm`] | many trials in parallel |
//! | [`reduce`] | reduction of a failing scenario to a smaller one |
//! | [`heap`] | measurement of the memory that a run needs |
//! | [`readers`] | every reader of untrusted bytes, for the fuzz targets |
//! | [`traces`] | the traces that scenarios of the swarm use |

mod draw;
pub mod finding;
pub mod generate;
pub mod heap;
mod invariants;
pub mod laws;
pub mod readers;
pub mod reduce;
pub mod swarm;
pub mod traces;
pub mod trial;

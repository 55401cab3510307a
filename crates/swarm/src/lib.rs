//! Random scenarios and random input, and the rules that must hold for them.
//!
//! | module | what |
//! |---|---|
//! | [`generate`] | a scenario from a seed, drawn from the registries and the schema |
//! | [`trial`] | tries a scenario: loads it for both engines, runs it twice, checks the results |
//! | [`finding`] | the failures that a check reports |
//! | `invariants` | rules that hold for every run |
//! | [`laws`] | the effects that a change of a scenario must have on its results, or must not have |
//! | [`swarm`] | many trials |
//! | [`reduce`] | makes a failing scenario smaller |
//! | [`heap`] | how much memory a run needs |
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

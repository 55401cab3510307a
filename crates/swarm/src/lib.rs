//! Random scenarios and random input, and what must hold whatever they are.
//!
//! | module | what |
//! |---|---|
//! | [`generate`] | a scenario from a seed, drawn from the registries and the schema |
//! | [`trial`] | a scenario tried: loaded for both engines, run, run again, looked at |
//! | [`finding`] | what a check reports |
//! | `invariants` | what must hold of every run |
//! | [`laws`] | what a change of a scenario must do to its results, or must not |
//! | [`swarm`] | many trials |
//! | [`reduce`] | a scenario that fails, made smaller |
//! | [`heap`] | how much memory a run takes |
//! | [`readers`] | every reader of foreign bytes, for the fuzz targets |
//! | [`traces`] | the traces that scenarios of the swarm name |

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

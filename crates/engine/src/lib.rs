//! The simulator: it sends packets through links and queues between Linux-like TCP endpoints. The
//! simulator is deterministic, and uses neither I/O nor a wall clock.
//!
//! Reading order: [`units`], [`packet`], the two main traits ([`aqm::Queue`] and
//! [`cc::CongestionControl`]), [`registry`], [`plan`], then [`network`].

// The conformance tests are compiled twice, as part of this crate and in tests/. The tests refer to
// this crate by its name, as a program that uses the crate does. The next line makes the crate's
// name valid inside the crate.
#[cfg(test)]
extern crate self as tailback_engine;

pub mod aqm;
pub mod bucket;
pub mod calendar;
pub mod capture;
pub mod cc;
pub mod crates;
pub mod endpoint;
pub mod hosts;
pub mod impairments;
pub mod keys;
pub mod link;
pub mod network;
pub mod packet;
pub mod plan;
pub mod profiles;
pub mod programs;
pub mod rate;
pub mod registry;
mod ring;
pub mod rng;
pub mod tcp;
pub mod traffic;
pub mod units;
pub mod wheel;

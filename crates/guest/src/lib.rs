//! The kernel engine: runs a plan on the real Linux TCP stack and queue disciplines.
//!
//! | module | runs on | purpose |
//! |---|---|---|
//! | [`map`] | host | maps a plan to a [`job::Job`], or rejects it before boot |
//! | [`job`] | both | the input of the guest |
//! | [`result`] | both | the result of the guest |
//! | the binary | guest | the agent: sets up namespaces, runs flows, captures and counts packets |

pub mod job;
pub mod map;
pub mod result;

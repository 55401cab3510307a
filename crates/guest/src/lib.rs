//! The kernel engine: a plan on the real Linux TCP stack and queue disciplines.
//!
//! | module | where it runs | what |
//! |---|---|---|
//! | [`map`] | host | a plan becomes a [`job::Job`], or is refused before boot |
//! | [`job`] | both | what the guest is told |
//! | [`result`] | both | what the guest hands back |
//! | the binary | guest | the agent: sets up namespaces, runs flows, captures, counts |

pub mod job;
pub mod map;
pub mod result;

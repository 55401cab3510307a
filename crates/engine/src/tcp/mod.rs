//! TCP as Linux does it: sender, receiver and what they share.

pub mod conn;

//! The agent: the first process of the guest.

fn main() {}

//! Puts the parts of a plan together and runs them.

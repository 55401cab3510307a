//! Encodes the tokens of poll events. A token contains the kind and the index of the socket or
//! other descriptor that caused the event.

pub const TIMER: u64 = 0;
/// The listener of a flow. The index is the flow's index.
pub const LISTENER: u64 = 1;
/// The sender of a flow. The index is the flow's index.
pub const SENDER: u64 = 2;
/// The receiver of a flow. The index is the flow's index.
pub const RECEIVER: u64 = 3;
/// The capture ring of a sender's namespace. The index is the namespace's index.
pub const SENDER_RING: u64 = 4;
/// The listener of a source's connections.
pub const REQUEST_LISTENER: u64 = 5;
/// A client of a source.
pub const REQUEST_CLIENT: u64 = 6;
/// A server of a source.
pub const REQUEST_SERVER: u64 = 7;
/// The exit of a program. The index is the program's index.
pub const PROGRAM_EXIT: u64 = 8;
/// The output of a program. The index is twice the program's index, plus 1 for standard error.
pub const PROGRAM_OUTPUT: u64 = 9;
/// Both ends of a source whose receiving end echoes packets or sends reports. The index is the
/// source's index.
pub const ECHO: u64 = 10;

/// Number of the bit at which the source's index begins in the index of a source's client or
/// server. The lower bits are the client's or server's index.
pub const REQUEST_SOURCE_BITS: u32 = 16;

pub fn token(kind: u64, index: usize) -> u64 {
    kind << 32 | index as u64
}

pub fn parts(token: u64) -> (u64, usize) {
    (token >> 32, (token & 0xffff_ffff) as usize)
}

/// Splits an index into the index of the source, and the index of the source's client or server.
pub fn of_source(index: usize) -> (usize, usize) {
    (
        index >> REQUEST_SOURCE_BITS,
        index & ((1 << REQUEST_SOURCE_BITS) - 1),
    )
}

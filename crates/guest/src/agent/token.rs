//! The kind and the index of a descriptor, encoded in the token of its events.

/// The timer of the next event.
pub const TIMER: u64 = 0;
/// The listener of a flow, by the flow's number. The next two kinds are its sender and its
/// receiver.
pub const LISTENER: u64 = 1;
pub const SENDER: u64 = 2;
pub const RECEIVER: u64 = 3;
/// The capture ring in a sender's namespace, by the namespace's number.
pub const SENDER_RING: u64 = 4;
/// The listener of a source's connections. The next two kinds are its clients and its servers.
pub const REQUEST_LISTENER: u64 = 5;
pub const REQUEST_CLIENT: u64 = 6;
pub const REQUEST_SERVER: u64 = 7;
/// The exit of a program, by the program's number. The next kind is the program's output. Its
/// number is twice the program's number, plus one for standard error.
pub const PROGRAM_EXIT: u64 = 8;
pub const PROGRAM_OUTPUT: u64 = 9;
/// Both ends of a source whose datagrams are echoed, by the source's number.
pub const ECHO: u64 = 10;

/// In a token's index, the source's number begins at this bit. The lower bits are the client's
/// number.
pub const REQUEST_SOURCE_BITS: u32 = 16;

/// Returns the token of a descriptor of this kind.
pub fn token(kind: u64, index: usize) -> u64 {
    kind << 32 | index as u64
}

/// Returns the kind and the index of a token.
pub fn parts(token: u64) -> (u64, usize) {
    (token >> 32, (token & 0xffff_ffff) as usize)
}

/// Returns the source and the client in the index of a source's token.
pub fn of_source(index: usize) -> (usize, usize) {
    (
        index >> REQUEST_SOURCE_BITS,
        index & ((1 << REQUEST_SOURCE_BITS) - 1),
    )
}

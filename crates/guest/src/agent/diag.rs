//! Reads TCP socket information over sock_diag, for one socket or for many together. `ss -ti`
//! prints the same information, but to run `ss`, the agent would have to start a process.

use std::io;
use std::net::IpAddr;

use crate::agent::sys::{self, Socket};
use crate::agent::tcp::Info;
use crate::agent::xstats::{attribute, half, word};

/// A sock_diag connection in one namespace.
pub struct Diag {
    socket: Socket,
    buffer: Vec<u8>,
}

const NETLINK_SOCK_DIAG: i32 = 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
/// Lengths of `struct nlmsghdr`, `struct inet_diag_req_v2` and `struct inet_diag_msg`, in bytes.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
const INET_DIAG_INFO: u16 = 2;
/// Number of sockets that one request asks about. The buffer of the netlink socket can hold the
/// answers about this many sockets.
const BATCH: usize = 64;
/// Upper limit of the length of an answer, in bytes.
const ANSWER: usize = 1024;
/// States of sockets that are not connections: TIME_WAIT, LISTEN, NEW_SYN_RECV.
const NO_CONNECTION: u32 = 1 << 6 | 1 << 10 | 1 << 12;

impl Diag {
    pub fn new() -> io::Result<Diag> {
        Ok(Diag {
            socket: Socket::new(libc::AF_NETLINK, libc::SOCK_RAW, NETLINK_SOCK_DIAG)?,
            // The kernel sends messages of at most this length, in bytes.
            buffer: vec![0; 1 << 15],
        })
    }

    /// Returns the information about the TCP connection between two ends, or `None` if it does not
    /// exist.
    pub fn info(
        &mut self,
        local: (IpAddr, u16),
        remote: (IpAddr, u16),
    ) -> io::Result<Option<Info>> {
        sys::send_netlink(&self.socket, &request(local, remote))?;
        let n = self.socket.receive(&mut self.buffer)?;
        Ok(answer(&self.buffer[..n]))
    }

    /// Reads the information about the connections in `asked`. Calls `take` with the index of each
    /// connection and its information.
    ///
    /// The agent does not ask for a dump of all sockets in the namespace. For a dump, the kernel
    /// searches its whole hash table of connections, which takes longer than an answer about each
    /// connection.
    pub fn each(&mut self, asked: &Asked, mut take: impl FnMut(usize, Info)) -> io::Result<()> {
        for batch in asked.messages.chunks(BATCH * (HEADER + REQUEST)) {
            sys::send_netlink(&self.socket, batch)?;
            let mut missing = batch.len() / (HEADER + REQUEST);
            self.buffer.resize(BATCH * ANSWER, 0);
            while missing > 0 {
                let (buffers, _) = self.buffer.split_at_mut(missing * ANSWER);
                let lengths = self.socket.receive_each(buffers, ANSWER)?;
                missing -= lengths.len();
                for (message, length) in self.buffer.chunks(ANSWER).zip(lengths) {
                    let message = &message[..length];
                    if is_connection(message)
                        && let Some(info) = answer(message)
                    {
                        take(word(message, 8) as usize, info);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The connections to ask about in one message.
#[derive(Default)]
pub struct Asked {
    messages: Vec<u8>,
}

impl Asked {
    pub fn add(&mut self, local: (IpAddr, u16), remote: (IpAddr, u16)) {
        let mut message = request(local, remote);
        let number = self.messages.len() / message.len();
        message[8..12].copy_from_slice(&(number as u32).to_ne_bytes());
        self.messages.extend(message);
    }
}

/// Returns whether an answer is about a connection. If the connection does not exist, the kernel
/// answers about the listening socket instead.
fn is_connection(message: &[u8]) -> bool {
    let state = message.get(HEADER + 1).copied().unwrap_or_default();
    message.len() >= HEADER + MESSAGE && state < 32 && NO_CONNECTION >> state & 1 == 0
}

fn request(local: (IpAddr, u16), remote: (IpAddr, u16)) -> [u8; HEADER + REQUEST] {
    let mut message = [0_u8; HEADER + REQUEST];
    let length = message.len() as u32;
    message[0..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    message[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    let request = &mut message[HEADER..];
    // Family, protocol and requested extensions. All socket states are requested below.
    request[0] = match local.0 {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    };
    request[1] = libc::IPPROTO_TCP as u8;
    request[2] = 1 << (INET_DIAG_INFO - 1);
    request[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
    // The fields of struct inet_diag_sockid are ports, addresses, interface and cookie (none).
    request[8..10].copy_from_slice(&local.1.to_be_bytes());
    request[10..12].copy_from_slice(&remote.1.to_be_bytes());
    for (at, address) in [(12, local.0), (28, remote.0)] {
        match address {
            IpAddr::V4(v4) => request[at..at + 4].copy_from_slice(&v4.octets()),
            IpAddr::V6(v6) => request[at..at + 16].copy_from_slice(&v6.octets()),
        }
    }
    request[48..56].fill(0xff);
    message
}

/// Returns the information in an answer, or `None` if the answer is an error.
fn answer(message: &[u8]) -> Option<Info> {
    if message.len() < HEADER + MESSAGE || half(message, 4) != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let length = (word(message, 0) as usize).clamp(HEADER + MESSAGE, message.len());
    attribute(&message[HEADER + MESSAGE..length], INET_DIAG_INFO).map(Info::parse)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn asks_for_one_socket_and_reads_its_information() {
        let address = |d| IpAddr::from(Ipv4Addr::new(10, 3, 0, d));
        let asked = request((address(1), 5201), (address(2), 40_000));
        assert_eq!(&asked[..4], &72_u32.to_ne_bytes());
        assert_eq!(asked[16..19], [2, 6, 2]);
        assert_eq!(asked[24..28], [20, 81, 156, 64], "5201, 40000");
        assert_eq!(asked[28..32], [10, 3, 0, 1]);
        assert_eq!(asked[44..48], [10, 3, 0, 2]);
        let mut told = vec![0_u8; HEADER + MESSAGE];
        told[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        let mut info = vec![0_u8; 104];
        info[80] = 42;
        told.extend((info.len() as u16 + 4).to_ne_bytes());
        told.extend(INET_DIAG_INFO.to_ne_bytes());
        told.extend(info);
        let length = told.len() as u32;
        told[..4].copy_from_slice(&length.to_ne_bytes());
        assert_eq!(answer(&told).map(|info| info.cwnd), Some(42));
        assert_eq!(answer(&told[..40]), None);
        told[4] = 2; // an error message
        assert_eq!(answer(&told), None);
    }
}

//! Reads the statistics of queue disciplines over rtnetlink. `tc -s` prints the same statistics,
//! but to run `tc`, the agent would have to start a process for each sample.

use std::io;

use tailback_engine::aqm;
use tailback_engine::registry::kernel::Xstats;

use super::sys::{self, Socket};
use super::xstats::{self, align, attribute, half, word};

pub use super::xstats::Statistics;

/// An rtnetlink connection in one namespace, for the qdisc of one device.
pub struct Probe {
    socket: Socket,
    device: i32,
    kind: Vec<u8>,
    /// The handle of the qdisc, once it is known. Once the handle is known, the probe requests only
    /// the statistics of this qdisc.
    handle: Option<u32>,
    xstats: Option<&'static Xstats>,
    buffer: Vec<u8>,
}

const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLM_F_REQUEST: u16 = 1;
/// Makes the kernel also send the answer to the socket that sent the request. Without this flag,
/// older kernels send the answer only to other sockets.
const NLM_F_ECHO: u16 = 8;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Total size of `struct nlmsghdr` and `struct tcmsg`, in bytes.
const HEADER: usize = 16;
const TCMSG: usize = 20;
const TCA_KIND: u16 = 1;

impl Probe {
    pub fn new(device: &str, kind: &str) -> io::Result<Probe> {
        let socket = Socket::new(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        Ok(Probe {
            socket,
            device: sys::device_index(device)?,
            kind: kind.as_bytes().to_vec(),
            handle: None,
            xstats: aqm::face(kind).map(|face| &face.xstats),
            buffer: vec![0; 1 << 16],
        })
    }

    /// Reads the current statistics. Returns `None` if the qdisc does not exist.
    pub fn read(&mut self) -> io::Result<Option<Statistics>> {
        if let Some(handle) = self.handle {
            self.ask(NLM_F_REQUEST | NLM_F_ECHO, handle)?;
            let n = self.socket.receive(&mut self.buffer)?;
            let said = &self.buffer[..n];
            if n >= HEADER + TCMSG && half(said, 4) == RTM_NEWQDISC {
                let length = (word(said, 0) as usize).clamp(HEADER + TCMSG, n);
                let attributes = &said[HEADER + TCMSG..length];
                if self.is_it(attributes) {
                    return Ok(Some(xstats::statistics(attributes, self.xstats)));
                }
            }
            self.handle = None;
        }
        self.ask(NLM_F_REQUEST | NLM_F_DUMP, 0)?;
        let mut found = None;
        loop {
            let n = self.socket.receive(&mut self.buffer)?;
            let mut rest = &self.buffer[..n];
            while rest.len() >= HEADER {
                let length = (word(rest, 0) as usize).clamp(HEADER, rest.len());
                match half(rest, 4) {
                    NLMSG_DONE | NLMSG_ERROR => return Ok(found),
                    RTM_NEWQDISC if length >= HEADER + TCMSG => {
                        let device = word(rest, HEADER + 4) as i32;
                        let attributes = &rest[HEADER + TCMSG..length];
                        if device == self.device && self.is_it(attributes) {
                            self.handle = Some(word(rest, HEADER + 8)).filter(|h| *h != 0);
                            found = Some(xstats::statistics(attributes, self.xstats));
                        }
                    }
                    _ => {}
                }
                rest = &rest[align(length).min(rest.len())..];
            }
        }
    }

    fn ask(&self, flags: u16, handle: u32) -> io::Result<()> {
        let mut request = [0_u8; HEADER + TCMSG];
        request[0..4].copy_from_slice(&((HEADER + TCMSG) as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&RTM_GETQDISC.to_ne_bytes());
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        request[HEADER + 4..HEADER + 8].copy_from_slice(&self.device.to_ne_bytes());
        request[HEADER + 8..HEADER + 12].copy_from_slice(&handle.to_ne_bytes());
        sys::send_netlink(&self.socket, &request)
    }

    fn is_it(&self, attributes: &[u8]) -> bool {
        attribute(attributes, TCA_KIND)
            .is_some_and(|kind| kind.strip_suffix(&[0]).unwrap_or(kind) == self.kind)
    }
}

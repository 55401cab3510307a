//! Runs the commands of an `ip` batch over rtnetlink. Starting `ip` would take longer than running
//! all these commands. If this module does not support a command, the agent runs `ip`.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use super::sys::{self, Socket};
use super::xstats::{align, half, word};

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
/// `NLM_F_CREATE | NLM_F_EXCL`: create the object, and fail if it already exists.
const NLM_F_NEW: u16 = 0x600;
const NLMSG_ERROR: u16 = 2;
/// Length of `struct nlmsghdr`, in bytes.
const HEADER: usize = 16;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_QUICKACK: u16 = 15;

const UP: u32 = libc::IFF_UP as u32;
const NO_ARP: u32 = libc::IFF_NOARP as u32;

/// One device of a pair: its name and its namespace.
pub type End<'a> = (&'a str, &'a File);

/// The index of the command that failed, and the error.
pub type Failed = (usize, io::Error);

/// The netlink requests of a batch.
#[derive(Default)]
pub struct Requests {
    bytes: Vec<u8>,
    count: u32,
    /// Name and index of the device in the latest command.
    device: Option<(String, i32)>,
}

impl Requests {
    /// Returns the requests for these commands in the current namespace, or `None` if this module
    /// does not support one of the commands.
    pub fn of(lines: &[String]) -> Option<Requests> {
        let mut requests = Requests::default();
        for line in lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            match *words.as_slice() {
                ["link", "set", "dev", device, "up"] => requests.set(device, UP, None),
                ["link", "set", "dev", device, "gso_max_segs", most] => {
                    requests.set(device, 0, Some(most.parse().ok()?));
                }
                ["address", "add", address, "dev", device] => {
                    requests.address(host(address)?, device)?;
                }
                ["route", "add", to, "dev", device, ref rest @ ..] => {
                    requests.route(host(to)?, device, rest)?;
                }
                _ => return None,
            }
        }
        Some(requests)
    }

    /// Adds a pair of devices with the same hardware address and without ARP.
    pub fn pair(&mut self, [a, b]: [End<'_>; 2], mtu: u32, address: [u8; 6]) {
        let end = |(name, namespace): End<'_>| {
            let mut body = link(NO_ARP, NO_ARP);
            put_name(&mut body, IFLA_IFNAME, name);
            put(&mut body, IFLA_ADDRESS, &address);
            put(&mut body, IFLA_MTU, &mtu.to_ne_bytes());
            put(
                &mut body,
                IFLA_NET_NS_FD,
                &namespace.as_raw_fd().to_ne_bytes(),
            );
            body
        };
        let (mut data, mut info) = (Vec::new(), Vec::new());
        put(&mut data, VETH_INFO_PEER, &end(b));
        put_name(&mut info, IFLA_INFO_KIND, "veth");
        put(&mut info, IFLA_INFO_DATA, &data);
        let mut body = end(a);
        put(&mut body, IFLA_LINKINFO, &info);
        self.push(RTM_NEWLINK, NLM_F_NEW, &body);
    }

    pub fn run(mut self) -> Result<(), Failed> {
        if self.count == 0 {
            return Ok(());
        }
        let whole = |error| (usize::MAX, error);
        let socket =
            Socket::new(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE).map_err(whole)?;
        // The kernel reports every error, but it reports success only for the last request.
        let mut at = 0;
        while at + align(word(&self.bytes, at) as usize) < self.bytes.len() {
            at += align(word(&self.bytes, at) as usize);
        }
        let flags = half(&self.bytes, at + 6) | NLM_F_ACK;
        self.bytes[at + 6..at + 8].copy_from_slice(&flags.to_ne_bytes());
        sys::send_netlink(&socket, &self.bytes).map_err(whole)?;
        let mut buffer = vec![0; 1 << 12];
        let n = socket.receive(&mut buffer).map_err(whole)?;
        if n < HEADER + 4 || half(&buffer, 4) != NLMSG_ERROR {
            return Err(whole(io::ErrorKind::InvalidData.into()));
        }
        match (word(&buffer, HEADER) as i32).wrapping_neg() {
            0 => Ok(()),
            error => {
                let number = word(&buffer, 8) as usize;
                Err((number, io::Error::from_raw_os_error(error)))
            }
        }
    }

    fn set(&mut self, device: &str, flags: u32, most_segments: Option<u32>) {
        let mut body = link(flags, flags);
        put_name(&mut body, IFLA_IFNAME, device);
        if let Some(most) = most_segments {
            put(&mut body, IFLA_GSO_MAX_SEGS, &most.to_ne_bytes());
        }
        self.push(RTM_NEWLINK, 0, &body);
    }

    fn address(&mut self, address: Ipv4Addr, device: &str) -> Option<()> {
        let index = self.index(device)?;
        // The fields of struct ifaddrmsg are family, prefix, flags, scope (universe) and device.
        let mut body = vec![libc::AF_INET as u8, 32, 0, 0];
        body.extend(index.to_ne_bytes());
        put(&mut body, IFA_LOCAL, &address.octets());
        put(&mut body, IFA_ADDRESS, &address.octets());
        self.push(RTM_NEWADDR, NLM_F_NEW, &body);
        Some(())
    }

    fn route(&mut self, to: Ipv4Addr, device: &str, rest: &[&str]) -> Option<()> {
        let index = self.index(device)?;
        // The fields of struct rtmsg are family, prefixes, TOS, table (main), protocol (boot),
        // scope (link), type (unicast) and flags.
        let mut body = vec![libc::AF_INET as u8, 32, 0, 0, 254, 3, 253, 1, 0, 0, 0, 0];
        put(&mut body, RTA_DST, &to.octets());
        let mut metrics = Vec::new();
        for pair in rest.chunks(2) {
            let [name, value] = *pair else { return None };
            match name {
                "src" => {
                    let source: Ipv4Addr = value.parse().ok()?;
                    put(&mut body, RTA_PREFSRC, &source.octets());
                }
                "initcwnd" => put_metric(&mut metrics, RTAX_INITCWND, value)?,
                "quickack" => put_metric(&mut metrics, RTAX_QUICKACK, value)?,
                _ => return None,
            }
        }
        if !metrics.is_empty() {
            put(&mut body, RTA_METRICS, &metrics);
        }
        put(&mut body, RTA_OIF, &index.to_ne_bytes());
        self.push(RTM_NEWROUTE, NLM_F_NEW, &body);
        Some(())
    }

    fn index(&mut self, device: &str) -> Option<i32> {
        if let Some((name, index)) = &self.device
            && name == device
        {
            return Some(*index);
        }
        let index = sys::device_index(device).ok()?;
        self.device = Some((device.to_owned(), index));
        Some(index)
    }

    fn push(&mut self, kind: u16, flags: u16, body: &[u8]) {
        let bytes = &mut self.bytes;
        bytes.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        // The kernel's error messages contain this sequence number.
        bytes.extend(self.count.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes.resize(align(bytes.len()), 0);
        self.count += 1;
    }
}

/// Parses the address of a single host. The text ends with the prefix length /32.
fn host(text: &str) -> Option<Ipv4Addr> {
    text.strip_suffix("/32")?.parse().ok()
}

/// Returns a `struct ifinfomsg`. The index is 0, because an attribute names the device.
fn link(flags: u32, change: u32) -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(flags.to_ne_bytes());
    body.extend(change.to_ne_bytes());
    body
}

fn put(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend(((value.len() + 4) as u16).to_ne_bytes());
    into.extend(kind.to_ne_bytes());
    into.extend(value);
    into.resize(align(into.len()), 0);
}

fn put_name(into: &mut Vec<u8>, kind: u16, name: &str) {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    put(into, kind, &bytes);
}

fn put_metric(into: &mut Vec<u8>, kind: u16, value: &str) -> Option<()> {
    let value: u32 = value.parse().ok()?;
    put(into, kind, &value.to_ne_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(lines: &[&str]) -> Option<Requests> {
        let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        Requests::of(&lines)
    }

    #[test]
    fn lines_become_numbered_requests() {
        let made = requests(&[
            "link set dev lo up",
            "address add 10.1.0.1/32 dev lo",
            "link set dev data gso_max_segs 1",
            "route add 10.2.0.1/32 dev lo src 10.1.0.1 initcwnd 4 quickack 1",
        ])
        .expect("all known");
        let mut kinds = Vec::new();
        let mut at = 0;
        while at < made.bytes.len() {
            kinds.push((half(&made.bytes, at + 4), word(&made.bytes, at + 8)));
            at += align(word(&made.bytes, at) as usize);
        }
        assert_eq!(at, made.bytes.len());
        assert_eq!(kinds, [(16, 0), (20, 1), (16, 2), (24, 3)]);
        // The last request contains the destination, the source, the metrics 11 and 15, and the
        // device.
        let route = &made.bytes[made.bytes.len() - 56..];
        assert_eq!(
            route[12..28],
            [8, 0, 1, 0, 10, 2, 0, 1, 8, 0, 7, 0, 10, 1, 0, 1]
        );
        assert_eq!(route[28..36], [20, 0, 8, 0, 8, 0, 11, 0]);
        assert_eq!(route[36..48], [4, 0, 0, 0, 8, 0, 15, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn what_is_not_known_is_for_ip() {
        for line in [
            "link set dev data addrgenmode none",
            "address add fd00::1/128 dev lo nodad",
            "route add 10.2.0.1/32 dev lo via 10.0.0.1",
            "route add 10.2.0.0/24 dev lo",
            "route add 10.2.0.1/32 dev lo src",
        ] {
            assert!(requests(&["link set dev lo up", line]).is_none(), "{line}");
        }
    }
}

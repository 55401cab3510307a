//! Starts the kernel timer that RED's adaptive mode needs.
//!
//! tc sets the flag `adaptive` in `TCA_RED_FLAGS` (since 5.7), and Linux accepts and prints it. But
//! `__red_change` starts the timer only if the flag is also set in `struct tc_red_qopt`, and tc
//! does not set it there. The agent therefore reads the queue's options and sets them again, with
//! the flags copied to `struct tc_red_qopt`.

use std::io;

use super::sys::{self, Socket};
use super::xstats::{align, attribute, half, word};

const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Lengths of `struct nlmsghdr` and `struct tcmsg`, in bytes.
const HEADER: usize = 16;
const TCMSG: usize = 20;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_RED_PARMS: u16 = 1;
const TCA_RED_STAB: u16 = 2;
const TCA_RED_MAX_P: u16 = 3;
/// Length of `struct tc_red_qopt`, in bytes.
const PARMS: usize = 16;

/// Sets the options of a device's RED queue again, with the flags copied to `struct tc_red_qopt`.
/// The device must be in the current namespace.
pub fn start(device: &str) -> Result<(), String> {
    let what = |e: io::Error| format!("red of {device}: {e}");
    let index = sys::device_index(device).map_err(what)?;
    let socket =
        Socket::new(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE).map_err(what)?;
    let (tcmsg, options) = shown(&socket, index)
        .map_err(what)?
        .ok_or_else(|| format!("red of {device}: it does not exist"))?;
    let [Some(parms), Some(max_p)] =
        [TCA_RED_PARMS, TCA_RED_MAX_P].map(|kind| attribute(&options, kind))
    else {
        return Err(format!("red of {device}: without parameters"));
    };
    let mut nested = Vec::new();
    put(&mut nested, TCA_RED_PARMS, &parms[..PARMS.min(parms.len())]);
    // The kernel uses this table to compute how the average queue length decays while the queue is
    // idle. A table of zeros suffices, because a RED queue inside a shaper is never idle.
    put(&mut nested, TCA_RED_STAB, &[0; 256]);
    put(&mut nested, TCA_RED_MAX_P, max_p);
    let mut body = tcmsg;
    put(&mut body, TCA_KIND, b"red\0");
    put(&mut body, TCA_OPTIONS, &nested);
    send(&socket, RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK, &body).map_err(what)?;
    let mut buffer = vec![0; 1 << 12];
    let n = socket.receive(&mut buffer).map_err(what)?;
    match n >= HEADER + 4 && half(&buffer, 4) == NLMSG_ERROR {
        true if word(&buffer, HEADER) == 0 => Ok(()),
        true => {
            let error = (word(&buffer, HEADER) as i32).wrapping_neg();
            Err(what(io::Error::from_raw_os_error(error)))
        }
        false => Err(format!("red of {device}: no answer")),
    }
}

/// Returns the handle (`struct tcmsg`) and the options of a device's RED queue.
fn shown(socket: &Socket, device: i32) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    send(
        socket,
        RTM_GETQDISC,
        NLM_F_REQUEST | NLM_F_DUMP,
        &[0; TCMSG],
    )?;
    let mut buffer = vec![0; 1 << 16];
    let mut found = None;
    loop {
        let n = socket.receive(&mut buffer)?;
        let mut rest = &buffer[..n];
        while rest.len() >= HEADER {
            let length = (word(rest, 0) as usize).clamp(HEADER, rest.len());
            match half(rest, 4) {
                NLMSG_DONE | NLMSG_ERROR => return Ok(found),
                RTM_NEWQDISC if length >= HEADER + TCMSG => {
                    let (tcmsg, attributes) = rest[HEADER..length].split_at(TCMSG);
                    if word(tcmsg, 4) as i32 == device
                        && attribute(attributes, TCA_KIND) == Some(b"red\0")
                        && let Some(options) = attribute(attributes, TCA_OPTIONS)
                    {
                        found = Some((tcmsg.to_vec(), options.to_vec()));
                    }
                }
                _ => {}
            }
            rest = &rest[align(length).min(rest.len())..];
        }
    }
}

fn send(socket: &Socket, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    sys::send_netlink(socket, &message)
}

fn put(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend((4 + value.len() as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(align(message.len()), 0);
}

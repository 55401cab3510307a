//! Creates and changes queue disciplines of tailback's own kernel modules, which tc does not
//! support. These modules read their options as text, which the agent sends over rtnetlink in one
//! attribute.

use std::io;

use super::sys::{self, Socket};
use super::xstats::{align, half, word};

const RTM_NEWQDISC: u16 = 36;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
/// With these flags, the kernel creates the queue discipline. The new queue discipline replaces an
/// existing one, such as the default queue of a class.
const NLM_F_CREATE_OR_REPLACE: u16 = 0x500;
const NLMSG_ERROR: u16 = 2;
/// `TC_H_ROOT`, the parent handle of a device's root queue discipline.
const ROOT: u32 = u32::MAX;
/// Length of `struct nlmsghdr`, in bytes.
const HEADER: usize = 16;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// Type of the attribute within the options that contains the text.
const TEXT: u16 = 1;

/// Runs a tc command in the current namespace. `qdisc add dev out parent 1:1 handle 10: wred limit
/// 1000p` creates a queue discipline. `qdisc change dev out root handle f: outage closed 1` changes
/// the options of an existing queue discipline.
pub fn apply(line: &str) -> io::Result<()> {
    let message = message(line, sys::device_index).ok_or(io::ErrorKind::InvalidInput)??;
    let socket = Socket::new(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    sys::send_netlink(&socket, &message)?;
    let mut buffer = vec![0; 1 << 12];
    let n = socket.receive(&mut buffer)?;
    if n < HEADER + 4 || half(&buffer, 4) != NLMSG_ERROR {
        return Err(io::ErrorKind::InvalidData.into());
    }
    match (word(&buffer, HEADER) as i32).wrapping_neg() {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Returns the netlink message for a command, or `None` if the command has another form.
fn message(line: &str, index: impl FnOnce(&str) -> io::Result<i32>) -> Option<io::Result<Vec<u8>>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (["qdisc", what, "dev", device], rest) = words.split_first_chunk()? else {
        return None;
    };
    let flags = match *what {
        "add" => NLM_F_CREATE_OR_REPLACE,
        "change" => 0,
        _ => return None,
    };
    let (parent, rest) = match rest {
        ["root", rest @ ..] => (ROOT, rest),
        ["parent", parent, rest @ ..] => (handle(parent)?, rest),
        _ => return None,
    };
    let ["handle", own, kind, text @ ..] = rest else {
        return None;
    };
    let own = handle(own)?;
    Some(index(device).map(|index| {
        // The fields of struct tcmsg are family, padding, device, handle, parent and info.
        let mut body = vec![0; 4];
        body.extend(index.to_ne_bytes());
        body.extend(own.to_ne_bytes());
        body.extend(parent.to_ne_bytes());
        body.extend([0; 4]);
        put(&mut body, TCA_KIND, &terminated(kind));
        let mut options = Vec::new();
        put(&mut options, TEXT, &terminated(&text.join(" ")));
        put(&mut body, TCA_OPTIONS, &options);
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(RTM_NEWQDISC.to_ne_bytes());
        let flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        message
    }))
}

/// Parses a handle such as `10:` or `1:1`, whose numbers are hexadecimal.
fn handle(text: &str) -> Option<u32> {
    let (major, minor) = text.split_once(':')?;
    let minor = match minor {
        "" => 0,
        minor => u16::from_str_radix(minor, 16).ok()?,
    };
    let major = u16::from_str_radix(major, 16).ok()?;
    Some(u32::from(major) << 16 | u32::from(minor))
}

fn terminated(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

fn put(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend(((value.len() + 4) as u16).to_ne_bytes());
    into.extend(kind.to_ne_bytes());
    into.extend(value);
    into.resize(align(into.len()), 0);
}

#[cfg(test)]
mod tests {
    use super::super::xstats::attribute;
    use super::*;

    const PLACE: &str = "qdisc add dev out parent 1:1 handle 10:";

    #[test]
    fn options_are_one_text() {
        let line = format!("{PLACE} wred limit 1000p idle hold");
        let message = message(&line, |_| Ok(7)).unwrap().unwrap();
        assert_eq!(word(&message, 0) as usize, message.len());
        assert_eq!(half(&message, 4), RTM_NEWQDISC);
        let tcmsg: Vec<u32> = (1..5).map(|i| word(&message, HEADER + 4 * i)).collect();
        assert_eq!(tcmsg, [7, 0x10_0000, 0x1_0001, 0]);
        let attributes = &message[HEADER + 20..];
        assert_eq!(attribute(attributes, TCA_KIND), Some(&b"wred\0"[..]));
        let options = attribute(attributes, TCA_OPTIONS).unwrap();
        let text = attribute(options, TEXT);
        assert_eq!(text, Some(&b"limit 1000p idle hold\0"[..]));
    }

    #[test]
    fn a_root_is_changed() {
        let line = "qdisc change dev out root handle f: outage closed 1";
        let message = message(line, |_| Ok(7)).unwrap().unwrap();
        // With these flags, the kernel changes a queue discipline but never creates one.
        assert_eq!(half(&message, 6), NLM_F_REQUEST | NLM_F_ACK);
        let tcmsg: Vec<u32> = (1..4).map(|i| word(&message, HEADER + 4 * i)).collect();
        assert_eq!(tcmsg, [7, 0xf_0000, ROOT]);
        let options = attribute(&message[HEADER + 20..], TCA_OPTIONS).unwrap();
        assert_eq!(attribute(options, TEXT), Some(&b"closed 1\0"[..]));
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "qdisc del dev out parent 1:1 handle 10: wred",
            "qdisc add dev out parent 1:1 handle ten wred",
            "qdisc add dev out root wred",
            "qdisc add dev out handle 10: wred limit 9p",
            PLACE,
        ] {
            assert!(message(line, |_| Ok(7)).is_none(), "{line}");
        }
        let line = format!("{PLACE} wred");
        let absent = message(&line, |_| Err(io::ErrorKind::NotFound.into()));
        assert!(absent.unwrap().is_err());
    }
}

//! Checks whether a server is ready. To find out whether a port is open, this module reads the
//! kernel's list of the host's sockets.

use std::fs;

use tailback_guest::job::Ready;

use super::kept::Kept;

/// Returns whether the server is ready. Call this function in the server's network namespace.
/// `since_ns` is the time since the server was started.
pub fn holds(ready: &Ready, output: &Kept, since_ns: u64) -> bool {
    match ready {
        Ready::Tcp(port) => bound("tcp", *port, LISTEN),
        Ready::Udp(port) => bound("udp", *port, UNCONNECTED),
        Ready::Stdout(text) => output.has(text),
        Ready::After(ns) => since_ns >= *ns,
    }
}

/// Returns why the server is not ready yet, for an error message.
pub fn said(ready: &Ready) -> String {
    match ready {
        Ready::Tcp(port) => format!("nothing listens at TCP port {port}"),
        Ready::Udp(port) => format!("no socket is bound to UDP port {port}"),
        Ready::Stdout(text) => format!("it has not written \"{text}\""),
        Ready::After(_) => "its time is not over".to_owned(),
    }
}

/// Socket states in /proc/net.
const LISTEN: &str = "0A";
const UNCONNECTED: &str = "07";

fn bound(protocol: &str, port: u16, state: &str) -> bool {
    ["", "6"].iter().any(|family| {
        // Read the file in this thread's folder, because only this thread is in the host's
        // namespace.
        let path = format!("/proc/thread-self/net/{protocol}{family}");
        fs::read_to_string(path).is_ok_and(|text| has(&text, port, state))
    })
}

/// Returns whether a socket table contains an entry with the given local port and state.
fn has(table: &str, port: u16, state: &str) -> bool {
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().and_then(|local| local.rsplit_once(':'));
        let found = local.and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
        found == Some(port) && words.nth(1) == Some(state)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_found_by_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue\n   \
            0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000\n   \
            1: 0100030A:1F90 0100040A:C350 01 00000000:00000000 00:00000000\n";
        assert!(has(table, 5201, LISTEN));
        assert!(!has(table, 8080, LISTEN) && !has(table, 5202, LISTEN));
        assert!(!has(table, 5201, UNCONNECTED));
    }
}

//! Describes expected and sent packets in words, for error messages.

use tailback_engine::packet::Ecn;
use tailback_engine::units::Time;

use crate::host::Sent;
use crate::script::Segment;

fn seconds(t: Time) -> String {
    format!("{:.4} s", t.ns() as f64 / 1e9)
}

fn blocks(sack: &[(u32, u32)]) -> String {
    let each: Vec<String> = sack.iter().map(|(a, b)| format!(" {a}:{b}")).collect();
    if each.is_empty() {
        String::new()
    } else {
        format!(", SACK{}", each.concat())
    }
}

fn counters(option: Option<[Option<u32>; 3]>) -> String {
    option.map_or(String::new(), |counters| {
        let named = ["e1b", "ceb", "e0b"].iter().zip(counters);
        let each: Vec<String> = named
            .filter_map(|(name, bytes)| Some(format!(" {name} {}", bytes?)))
            .collect();
        format!(", AccECN{}", each.concat())
    })
}

/// Describes an expected packet. If `accurate` is true, describes the packet's ECN flags as the ACE
/// field.
pub(crate) fn describe(packet: &Segment, accurate: bool, from: Time, to: Time) -> String {
    let what = if packet.has('S') {
        "a SYN".to_owned()
    } else if packet.is_empty() {
        format!("ACK {}", packet.ack.unwrap_or(0))
    } else {
        format!("data {}:{}", packet.start, packet.end)
    };
    let marks: String = if accurate {
        format!(", ACE {}", packet.ace())
    } else {
        [('E', ", ECE"), ('W', ", CWR")]
            .iter()
            .filter(|(f, _)| packet.has(*f) && !packet.has('S'))
            .map(|(_, name)| *name)
            .collect()
    };
    let ecn = packet
        .ecn
        .as_ref()
        .map_or(String::new(), |e| format!(", {e}"));
    let until = if to > from {
        format!(" to {}", seconds(to))
    } else {
        String::new()
    };
    let sack = blocks(packet.sack());
    let option = counters(packet.accecn());
    let at = seconds(from);
    format!("{what}{marks}{ecn}{option}{sack} at {at}{until}")
}

pub(crate) fn told(sent: &Sent) -> String {
    let what = if sent.syn {
        "a SYN".to_owned()
    } else if sent.start == sent.end {
        format!("ACK {}", sent.ack)
    } else {
        format!("data {}:{}", sent.start, sent.end)
    };
    let marks = match sent.ace {
        Some(ace) => format!(", ACE {ace}"),
        None => {
            let ece = if sent.ece { ", ECE" } else { "" };
            let cwr = if sent.cwr { ", CWR" } else { "" };
            format!("{ece}{cwr}")
        }
    };
    let ecn = match sent.ecn {
        Ecn::NotEct => "",
        Ecn::Ect0 => ", ect0",
        Ecn::Ect1 => ", ect1",
        Ecn::Ce => ", ce",
    };
    let sack = blocks(&sent.sack);
    let option = counters(sent.accecn);
    format!("{what}{marks}{ecn}{option}{sack} at {}", seconds(sent.at))
}

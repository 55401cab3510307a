//! Calls the readers of the kernel engine. The host reads descriptions of guest kernels, and
//! results from guests. A guest reads its job (the configuration of the run), captured frames, and
//! rtnetlink messages.

use std::sync::{Arc, LazyLock};

use tailback_engine::packet::{Ecn, Packet, Sack, flags};
use tailback_engine::plan::Plan;
use tailback_engine::registry::kernel::Kernel;
use tailback_engine::tcp::accecn::Counters;
use tailback_engine::{aqm, cc};
use tailback_guest::job::Job;
use tailback_guest::map::{Kit, judge, map};
use tailback_guest::result::GuestResult;
use tailback_record::frame::{Envelope, Host, Options, Segment, tcp};
use tailback_scenario::load;

// The agent is a program, not a library. The agent's readers are therefore compiled into this
// crate, too.
#[allow(dead_code, reason = "the agent uses all of it")]
#[path = "../../../guest/src/agent/frame.rs"]
mod frame;
#[allow(dead_code, reason = "the agent uses all of it")]
#[path = "../../../guest/src/agent/rtt.rs"]
mod rtt;
#[allow(dead_code, reason = "the agent uses all of it")]
#[path = "../../../guest/src/agent/xstats.rs"]
mod xstats;

/// A plan with every congestion control and every queue. With this plan, a test checks a guest
/// kernel against all congestion controls and queues.
static EVERYTHING: LazyLock<Arc<Plan>> = LazyLock::new(|| {
    let mut text = "duration = \"1s\"\n".to_owned();
    for entry in aqm::ENTRIES {
        let name = entry.name;
        text += &format!("[links.{name}]\nrate = \"8Mbit\"\nqueue = \"{name}\"\n");
    }
    for entry in cc::ENTRIES {
        let first = aqm::ENTRIES[0].name;
        text += &format!(
            "[[flows]]\ncc = \"{}\"\nroute = [\"{first}\"]\n",
            entry.name
        );
    }
    let scenario = load(text.as_bytes(), "every entry", &[], None);
    scenario.expect("defaults").points.remove(0).plan
});

/// Reads the description of a guest kernel. With this guest kernel, the conversion of the plan must
/// either return a job or report errors.
pub(super) fn kit(bytes: &[u8]) {
    let Ok(kit) = serde_json::from_slice::<Kit>(bytes) else {
        return;
    };
    let refused = judge(&EVERYTHING, &kit);
    assert_eq!(refused.is_empty(), map(&EVERYTHING, 1, &kit).is_ok());
    assert!(refused.iter().all(|refusal| !refusal.message.is_empty()));
}

/// Reads a job. The job must be printable. A job that is written and read again must not change.
pub(super) fn job(bytes: &[u8]) {
    let Ok(job) = serde_json::from_slice::<Job>(bytes) else {
        return;
    };
    let _ = job.to_string();
    let text = serde_json::to_string(&job).expect("plain data");
    let again: Job = serde_json::from_str(&text).expect("what was written");
    // A job read from JSON cannot contain NaN, so equal jobs compare as equal.
    assert_eq!(again, job);
}

/// Reads a guest's result, which must be either rejected or returned unchanged.
pub(super) fn result(bytes: &[u8]) {
    let Ok(result) = postcard::from_bytes::<GuestResult>(bytes) else {
        return;
    };
    // The caller adds up the counters before it stores results, so the sums must not overflow.
    let counts = result.outcome.links.iter().map(|link| link.counts);
    for counts in counts.chain(result.outcome.flows.iter().map(|flow| flow.counts)) {
        let _ = (counts.drops(), counts.marks());
    }
    let written = postcard::to_stdvec(&result).expect("plain data");
    let again: GuestResult = postcard::from_bytes(&written).expect("what was written");
    assert_eq!(postcard::to_stdvec(&again).expect("plain data"), written);
}

/// Reads a capture of frames. A byte with the frame's length precedes each frame. The RTT tracker
/// must accept all frames.
pub(super) fn frames(mut bytes: &[u8]) {
    let mut tracker = rtt::RttTracker::default();
    let mut now = 0;
    while let [length, rest @ ..] = bytes {
        let (captured, behind) = rest.split_at(rest.len().min(usize::from(*length)));
        bytes = behind;
        now += 1_000;
        let Some(frame) = frame::parse(captured).filter(frame::Frame::is_tcp) else {
            continue;
        };
        if frame.payload > 0 {
            tracker.sent(frame.seq, frame.payload, now);
        } else {
            let rtt = tracker.acknowledged(frame.ack, &frame.sack, now);
            assert!(
                rtt.is_none_or(|rtt| rtt < now),
                "a sample of before the run"
            );
        }
    }
}

/// Reads a qdisc's statistics. The first byte selects the qdisc.
pub(super) fn statistics(bytes: &[u8]) {
    if let [kind, attributes @ ..] = bytes {
        let entry = aqm::ENTRIES[usize::from(*kind) % aqm::ENTRIES.len()];
        let now = xstats::statistics(
            attributes,
            match entry.kernel {
                Kernel::Qdisc(face) => Some(&face.xstats),
                _ => None,
            },
        );
        assert_eq!(now.since(&now).drops, 0);
        assert!(
            attributes.len() < 4
                || xstats::attribute(attributes, 1)
                    .is_none_or(|inner| inner.len() < attributes.len())
        );
    }
}

/// Reads numbers from bytes. After the end of the bytes, reads zeros.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn next(&mut self) -> u32 {
        let (now, behind) = self.0.split_at(self.0.len().min(4));
        self.0 = behind;
        let mut word = [0; 4];
        word[..now.len()].copy_from_slice(now);
        u32::from_le_bytes(word)
    }
}

/// Writes an ACK with options into limited space, and parses its frame. The parser must find the
/// same SACK blocks, no matter which other options the ACK contains.
pub(super) fn options(bytes: &[u8]) {
    let mut words = Words(bytes);
    let shape = words.next();
    let mut packet = Packet::new(0, 66, Ecn::NotEct);
    packet.flags = flags::ACK | flags::ACCECN;
    packet.sack[2] = Sack {
        offset: words.next(),
        len: words.next(),
    };
    let mut options = Options::new((shape & 63) as usize);
    if shape & 64 != 0 {
        options.timestamps(words.next(), words.next(), false);
    }
    let blocks: Vec<(u32, u32)> = (0..shape >> 7 & 7)
        .map(|_| (words.next(), words.next()))
        .collect();
    let has_sack = options.sack(&blocks);
    let counters = Counters::of(&packet)
        .expect("it has the flag")
        .on_the_wire();
    options.accecn(&counters);
    let host = |n| Host {
        mac: [n; 6],
        ip: [10, n, 0, 1],
        port: 5000 + u16::from(n),
    };
    let envelope = Envelope {
        from: host(1),
        to: host(2),
        ecn: 0,
        payload: (shape >> 16) as u16 & 0xFFF,
    };
    let segment = Segment {
        seq: words.next(),
        ack: words.next(),
        flags: tailback_record::frame::flags::ACK,
        window: 1,
        options: options.bytes(),
    };
    let mut written = Vec::new();
    tcp(&envelope, &segment, &mut written);
    let read = frame::parse(&written).expect("TCP over IPv4");
    assert_eq!((read.seq, read.ack), (segment.seq, segment.ack));
    assert_eq!(read.payload, u32::from(envelope.payload));
    let mut expected = frame::Sack::default();
    if has_sack {
        for (to, from) in expected.iter_mut().zip(&blocks) {
            *to = *from;
        }
    }
    assert_eq!(read.sack, expected);
}

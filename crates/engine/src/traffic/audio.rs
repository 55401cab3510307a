//! Audio of a call: the source sends frames of equal size at equal intervals, one frame in each
//! datagram.
//!
//! The defaults are those of the C4 test suite (draft-huitema-ccwg-c4-test): 80 bytes are sent
//! every 20 ms, which is 32 kbit/s. RTP, UDP, IP and Ethernet headers add 54 bytes to each frame.
//! Lost frames are not sent again. During silence, the source continues to send frames of the same
//! size.

use tailback_record::FrameRules;

use super::datagram::{self, Datagrams, MEDIA_HEADERS, Role};
use super::{Build, Source, Step, Transport};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};
use crate::units::{Rate, Time};

/// The option `deadline` of media traffic.
pub const DEADLINE: Opt = Opt {
    name: "deadline",
    doc: "Time from the capture of a frame to its deadline. A frame that is incomplete at its deadline counts as late.",
    kind: Kind::Time { min: Time(1_000) },
    default: Some("150ms"),
    tc: None,
};

/// The registry entry of `audio`.
pub const ENTRY: Entry<Build> = Entry {
    name: "audio",
    doc: "Audio of a call: a datagram of constant size every 20 ms. The source measures the delay \
     of frames, and how many frames are lost or late.",
    follows: "draft-huitema-ccwg-c4-test: 80 bytes every 20 ms",
    options: &[
        Opt {
            name: "frame_time",
            doc: "Time from one frame to the next.",
            kind: Kind::Time {
                min: Time(1_000_000),
            },
            default: Some("20ms"),
            tc: None,
        },
        Opt {
            name: "frame_bytes",
            doc: "Length of a frame in bytes, without headers.",
            kind: Kind::Int { min: 10, max: 1400 },
            default: Some("80"),
            tc: None,
        },
        DEADLINE,
        datagram::ECN,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        source: |options, _| {
            Box::new(Audio {
                datagrams: datagrams(options),
                bytes: options.int("frame_bytes") as u32,
                interval: options.time("frame_time"),
                next: None,
            })
        },
        transport: Transport::Datagrams(datagrams),
    },
};

fn datagrams(options: &Options) -> Datagrams {
    let interval = options.time("frame_time");
    let len = MEDIA_HEADERS + options.int("frame_bytes") as u16;
    let rate = (u128::from(len) * 8 * 1_000_000_000).div_ceil(u128::from(interval.ns()));
    Datagrams {
        rate: Rate(rate as u64),
        len,
        ecn: datagram::ecn_of(options),
        role: Role::Frames {
            rules: FrameRules {
                interval_ns: interval.ns(),
                deadline_ns: options.time("deadline").ns(),
                group: 0,
            },
            report: None,
            may_report: false,
        },
    }
}

struct Audio {
    datagrams: Datagrams,
    bytes: u32,
    interval: Time,
    /// Time of the next frame, or `None` before the first frame.
    next: Option<Time>,
}

impl Source for Audio {
    fn next(&mut self, now: Time) -> Step {
        let due = *self.next.get_or_insert(now);
        if due > now {
            return Step::Wait(due);
        }
        self.next = Some(due + self.interval);
        Step::Frame {
            bytes: self.bytes,
            ecn: self.datagrams.ecn,
        }
    }
}

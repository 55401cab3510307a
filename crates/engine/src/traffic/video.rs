//! Video of a call: the source sends frames at a given frame rate. Each frame is split into
//! datagrams, which are sent as soon as the frame has been captured.
//!
//! The sizes of frames and the times between frames follow the synthetic model of RFC 8593, section
//! 5 (its steady state). Each size and each time is its mean multiplied by 1 + x, where x has a
//! Laplace distribution of scale 0.15. Values of x below -0.9 become -0.9, and values above 0.9
//! become 0.9. The mean size of a frame, in bytes, is bitrate / 8 / frame rate. Key frames are
//! added as in the C4 test suite (draft-huitema-ccwg-c4-test). By default, every 30th frame is a
//! key frame. A key frame is ten times as large as other frames.
//!
//! If `min_bitrate` is set, the bitrate adapts to the path. The bitrate begins at `min_bitrate` and
//! stays between `min_bitrate` and `bitrate`. Every 200 ms the receiver sends a report to the
//! source. Each report contains the share of lost datagrams and the queue delay. The queue delay is
//! the smallest one-way delay in the last 200 ms, minus the smallest one-way delay in the run.
//! Depending on the report, the source then sets the bitrate:
//!
//! * If more than 10 % of the datagrams are lost or the queue delay exceeds 50 ms, the new bitrate
//!   is 0.85 times the rate at which datagrams have arrived.
//! * If less than 2 % of the datagrams are lost and the queue delay is below 25 ms, the new bitrate
//!   is 1.05 times the current bitrate.
//! * Otherwise the bitrate stays the same.
//!
//! If no report arrives for a second, the bitrate is halved. The bitrate is halved at most once a
//! second. The limits of 2 % and 10 %, and the factors 0.85 and 1.05, come from
//! draft-ietf-rmcat-gcc-02. The limits for the queue delay are tailback's own.
//!
//! If `sizes` is set, the sizes of frames are taken in order from a list or a file (such as the
//! traces of RFC 8593, section 6). After the last size, the list starts again. If both `sizes` and
//! `bitrate` are set, all sizes are scaled so that the video has this bitrate.
//!
//! Deviations from RFC 8593: if the bitrate changes, no burst of frames follows. Lost datagrams are
//! not retransmitted. The datagrams of a frame are not paced.

use tailback_record::FrameRules;

use super::audio::DEADLINE;
use super::datagram::{self, Datagrams, MEDIA_HEADERS, Role};
use super::{Build, Report, Source, Step, Transport};
use crate::packet::Ecn;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options, Value};
use crate::rng::Stream;
use crate::units::{Rate, Time};

/// Time from one report of the receiver to the next.
const REPORT: Time = Time(200_000_000);
/// If no report arrives for this long, the bitrate is halved.
const SILENCE: Time = Time(1_000_000_000);
/// The largest mean size of a frame, in bytes.
const LARGEST: f64 = 16e6;
const SIZES: &str = "sizes";
/// The largest deviation of a frame size or interval from its mean, as a share of this mean.
const CUT: f64 = 0.9;

/// The registry entry of `video`.
pub const ENTRY: Entry<Build> = Entry {
    name: "video",
    doc: "Video of a call: frames of varying size, including key frames, at a given frame rate and \
     at a fixed or adaptive bitrate. The source measures the delay of frames, the number of late \
     frames, and stalls.",
    follows: "RFC 8593, section 5; key frames of draft-huitema-ccwg-c4-test",
    options: &[
        Opt {
            name: "bitrate",
            doc: "Mean bitrate of the video, without headers. If min_bitrate is set, `bitrate` is \
                the largest bitrate. Default: 1Mbit. If sizes is set, the default is the bitrate \
                of the frames in sizes.",
            kind: Kind::Rate,
            default: None,
            tc: None,
        },
        Opt {
            name: "min_bitrate",
            doc: "Smallest bitrate of an adaptive video; default: the video does not adapt.",
            kind: Kind::Rate,
            default: None,
            tc: None,
        },
        Opt {
            name: "frame_rate",
            doc: "Frames per second.",
            kind: Kind::Int { min: 1, max: 240 },
            default: Some("30"),
            tc: None,
        },
        Opt {
            name: "key_interval",
            doc: "Number of frames from one key frame to the next. With 0, the video has no key frames, and no frame depends on another frame.",
            kind: Kind::Int {
                min: 0,
                max: 100_000,
            },
            default: Some("30"),
            tc: None,
        },
        Opt {
            name: "key_ratio",
            doc: "Size of a key frame divided by the size of other frames. Not allowed with sizes.",
            kind: Kind::Float {
                min: 1.0,
                max: 100.0,
            },
            default: Some("10"),
            tc: None,
        },
        Opt {
            name: "variation",
            doc: "Scale of the Laplace distribution by which frame sizes and the times between frames vary. With `sizes`, only the times between frames vary by this distribution. With 0, sizes and times are constant.",
            kind: Kind::Float { min: 0.0, max: 0.3 },
            default: Some("0.15"),
            tc: None,
        },
        Opt {
            name: SIZES,
            doc: "Sizes of the frames, in bytes and in order: a list, or a file with one size per \
                line. After the last size, the list starts again. Default: sizes are random.",
            kind: Kind::List(&Kind::Int {
                min: 1,
                max: LARGEST as i64,
            }),
            default: None,
            tc: None,
        },
        DEADLINE,
        Opt {
            name: "packet_size",
            doc: "Length, in bytes, of the Ethernet frame that carries the longest datagram. This \
                length includes 54 bytes of headers.",
            kind: Kind::Int {
                min: 154,
                max: 9014,
            },
            default: Some("1254"),
            tc: None,
        },
        datagram::ECN,
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish,
    build: Build {
        source: |options, stream| Box::new(Video::new(options, stream)),
        transport: Transport::Datagrams(datagrams),
    },
};

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let of_sizes = rate_of_sizes(options);
    let bitrate = of_sizes.unwrap_or(Rate(1_000_000));
    options.set_default("bitrate", Value::Rate(bitrate));
    let most = datagram::rate_of(options, "bitrate");
    let mut errors = Vec::new();
    if least(options).is_some_and(|least| least > most) {
        errors.push(OptionError {
            option: "min_bitrate",
            message: format!("min_bitrate is above bitrate; expected at most {most}"),
        });
    }
    let ratio = options.float("key_ratio");
    let mean = most.0 as f64 / 8.0 / frame_rate(options) as f64;
    let scale = of_sizes.map(|rate| most.0 as f64 / rate.0 as f64);
    let largest = match (scale, options.int("key_interval")) {
        (Some(scale), _) => scale * sizes(options).into_iter().max().unwrap_or_default() as f64,
        (None, 0) => mean,
        (None, group) => mean * group as f64 * ratio / (group as f64 - 1.0 + ratio),
    };
    if largest > LARGEST {
        errors.push(OptionError {
            option: "bitrate",
            message: format!(
                "its largest frames have {largest:.0} bytes; expected at most {LARGEST:.0} (with \
                 a smaller bitrate or more frames per second)"
            ),
        });
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// Returns the sizes of the frames. If the scenario does not set `sizes`, the list is empty.
fn sizes(options: &Options) -> Vec<u32> {
    match options.get(SIZES) {
        Some(Value::List(sizes)) => {
            let bytes = sizes.iter().filter_map(Value::number);
            bytes.map(|bytes| bytes as u32).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the mean bitrate of a video whose frame sizes are given by `sizes`. Returns `None` if
/// `sizes` is not set.
fn rate_of_sizes(options: &Options) -> Option<Rate> {
    let sizes = sizes(options);
    let bytes: u64 = sizes.iter().map(|bytes| u64::from(*bytes)).sum();
    let frames = sizes.len() as u64;
    (frames > 0).then(|| Rate((bytes * 8 * frame_rate(options)).div_ceil(frames)))
}

/// Returns `min_bitrate`, or `None` if the bitrate does not adapt.
fn least(options: &Options) -> Option<Rate> {
    match options.get("min_bitrate") {
        Some(Value::Rate(rate)) => Some(*rate),
        _ => None,
    }
}

fn datagrams(options: &Options) -> Datagrams {
    let (bitrate, frames) = (datagram::rate_of(options, "bitrate").0, frame_rate(options));
    let len = options.int("packet_size") as u16;
    let full = u64::from(len - MEDIA_HEADERS);
    // The last datagram of a frame may be only partly full. So add one datagram for each frame.
    let datagrams = bitrate / 8 / full + frames;
    let interval = Time(1_000_000_000 / frames);
    Datagrams {
        rate: Rate(bitrate + datagrams * u64::from(MEDIA_HEADERS) * 8),
        len,
        ecn: datagram::ecn_of(options),
        role: Role::Frames {
            rules: FrameRules {
                interval_ns: interval.ns(),
                deadline_ns: options.time("deadline").ns(),
                group: options.int("key_interval") as u64,
            },
            report: least(options).map(|_| REPORT),
            may_report: true,
        },
    }
}

fn frame_rate(options: &Options) -> u64 {
    options.int("frame_rate") as u64
}

struct Video {
    stream: Stream,
    ecn: Ecn,
    /// Share of the bytes in a datagram that are media.
    media: f64,
    /// Mean time between frames, in ns.
    interval_ns: f64,
    /// The current bitrate, in bit/s. The bitrate is between `least` and `most`.
    bitrate: f64,
    least: f64,
    most: f64,
    group: u64,
    key_ratio: f64,
    variation: f64,
    /// The sizes of the frames if the scenario sets `sizes`, and the mean bitrate that results from
    /// them.
    sizes: Vec<u32>,
    of_sizes: f64,
    /// How many frames have been captured.
    frames: u64,
    /// When the next frame is captured. `None` before the start.
    next: Option<Time>,
    /// When the last report arrived, or when the bitrate was last halved because no report arrived.
    heard: Option<Time>,
}

impl Video {
    fn new(options: &Options, stream: Stream) -> Video {
        let most = datagram::rate_of(options, "bitrate").0 as f64;
        let least = least(options).map_or(most, |least| least.0 as f64);
        let len = options.int("packet_size") as f64;
        Video {
            stream,
            ecn: datagram::ecn_of(options),
            media: (len - f64::from(MEDIA_HEADERS)) / len,
            interval_ns: 1e9 / frame_rate(options) as f64,
            bitrate: least,
            least,
            most,
            group: options.int("key_interval") as u64,
            key_ratio: options.float("key_ratio"),
            variation: options.float("variation"),
            sizes: sizes(options),
            of_sizes: rate_of_sizes(options).map_or(0.0, |rate| rate.0 as f64),
            frames: 0,
            next: None,
            heard: None,
        }
    }

    /// Draws the ratio of a frame size or interval to its mean.
    fn factor(&mut self) -> f64 {
        if self.variation == 0.0 {
            return 1.0;
        }
        let size = (self.variation * self.stream.exponential()).min(CUT);
        match self.stream.below(2) {
            0 => 1.0 - size,
            _ => 1.0 + size,
        }
    }

    /// Draws the size of the next frame, in bytes.
    fn bytes(&mut self) -> u32 {
        if !self.sizes.is_empty() {
            let size = self.sizes[(self.frames % self.sizes.len() as u64) as usize];
            let scaled = f64::from(size) * (self.bitrate / self.of_sizes);
            return ((scaled + 0.5) as u32).max(1);
        }
        let mean = self.bitrate * self.interval_ns / 8e9;
        let mean = match self.group {
            0 => mean,
            group => {
                let other = mean * group as f64 / (group as f64 - 1.0 + self.key_ratio);
                match self.frames.is_multiple_of(group) {
                    true => other * self.key_ratio,
                    false => other,
                }
            }
        };
        ((mean * self.factor() + 0.5) as u32).max(1)
    }
}

impl Source for Video {
    fn next(&mut self, now: Time) -> Step {
        let due = *self.next.get_or_insert(now);
        if due > now {
            return Step::Wait(due);
        }
        if self.least < self.most && now.since(*self.heard.get_or_insert(now)) >= SILENCE {
            self.bitrate = (self.bitrate / 2.0).max(self.least);
            self.heard = Some(now);
        }
        let bytes = self.bytes();
        self.frames += 1;
        self.next = Some(due + Time(((self.interval_ns * self.factor()) as u64).max(1)));
        Step::Frame {
            bytes,
            ecn: self.ecn,
        }
    }

    fn hear(&mut self, now: Time, report: &Report) {
        self.heard = Some(now);
        let lost = report.expected.saturating_sub(report.received) as f64;
        let lost = if report.expected > 0 {
            lost / report.expected as f64
        } else {
            0.0
        };
        if lost > 0.1 || report.queue_delay > Time::from_ms(50) {
            let arrived = 0.85 * report.rate.0 as f64 * self.media;
            self.bitrate = self.bitrate.min(arrived).max(self.least);
        } else if lost < 0.02 && report.queue_delay < Time::from_ms(25) {
            self.bitrate = (1.05 * self.bitrate).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::complete_defaults;

    fn source(set: &[(&'static str, Value)]) -> Box<dyn Source> {
        let mut options = complete_defaults(&ENTRY);
        for (name, value) in set {
            options.set(name, value.clone());
        }
        (ENTRY.build.source)(&options, Stream::new(1, "video", "traffic"))
    }

    /// Returns when each frame until `end` is sent, and how many bytes it has.
    fn frames(source: &mut dyn Source, end: Time) -> Vec<(Time, u32)> {
        let (mut now, mut all) = (Time::ZERO, Vec::new());
        while now < end {
            match source.next(now) {
                Step::Frame { bytes, .. } => all.push((now, bytes)),
                Step::Wait(until) => now = until,
                other => panic!("{other:?}"),
            }
        }
        all
    }

    /// A few key frames make up a large part of the bytes. In spite of this, the standard error of
    /// the bitrate over 30,000 frames is only 0.3 %.
    #[test]
    fn bitrate_and_frame_rate_have_their_means() {
        for key_interval in [0, 1, 30] {
            let mut source = source(&[("key_interval", Value::Int(key_interval))]);
            let all = frames(&mut *source, Time::from_secs(1_000));
            let bits: f64 = all.iter().map(|(_, bytes)| f64::from(*bytes) * 8.0).sum();
            let (frames, rate) = (all.len() as f64 / 1_000.0, bits / 1_000.0);
            assert!((frames / 30.0 - 1.0).abs() < 0.005, "{frames}");
            assert!((rate / 1e6 - 1.0).abs() < 0.01, "{key_interval}: {rate}");
        }
    }

    /// At 30 frames a second, key frames have 37,500 bytes and other frames have 3,750 bytes. This
    /// gives 1.17 Mbit/s, as in the C4 test suite.
    #[test]
    fn key_frames_are_those_of_c4() {
        let bits = (37_500 + 29 * 3_750) * 8;
        let mut source = source(&[
            ("bitrate", Value::Rate(Rate(bits))),
            ("variation", Value::Float(0.0)),
        ]);
        let all = frames(&mut *source, Time::from_secs(2));
        let sizes: Vec<u32> = all.iter().map(|(_, bytes)| *bytes).collect();
        assert_eq!((sizes[0], sizes[30]), (37_500, 37_500));
        assert!(sizes[1..30].iter().all(|bytes| *bytes == 3_750));
    }

    #[test]
    fn sizes_are_those_of_a_list() {
        let list = |sizes: &[i64]| Value::List(sizes.iter().copied().map(Value::Int).collect());
        let of = |set: &[(&'static str, Value)]| {
            let mut options = crate::registry::defaults(ENTRY.options);
            for (name, value) in set {
                options.set(name, value.clone());
            }
            finish(&mut options).unwrap();
            let mut source = (ENTRY.build.source)(&options, Stream::new(1, "video", "traffic"));
            let all = frames(&mut *source, Time::from_secs(1));
            (
                all.iter()
                    .take(4)
                    .map(|(_, bytes)| *bytes)
                    .collect::<Vec<_>>(),
                options,
            )
        };
        let sizes = ("sizes", list(&[1_000, 200, 300]));
        let (found, options) = of(std::slice::from_ref(&sizes));
        assert_eq!(found, [1_000, 200, 300, 1_000]);
        // The frame sizes are 500 bytes on average, at 30 frames a second.
        assert_eq!(datagram::rate_of(&options, "bitrate"), Rate(120_000));
        let (found, _) = of(&[sizes, ("bitrate", Value::Rate(Rate(240_000)))]);
        assert_eq!(found, [2_000, 400, 600, 2_000]);
        let mut options = crate::registry::defaults(ENTRY.options);
        options.set("sizes", list(&[16_000_000, 1]));
        options.set("bitrate", Value::Rate(Rate(4_000_000_000)));
        assert_eq!(finish(&mut options).unwrap_err()[0].option, "bitrate");
    }

    #[test]
    fn it_adapts_by_its_rule() {
        let mut source = source(&[
            ("min_bitrate", Value::Rate(Rate(200_000))),
            ("variation", Value::Float(0.0)),
            ("key_interval", Value::Int(0)),
        ]);
        let mut bits = |report: Option<Report>, at_ms: u64| {
            let now = Time::from_ms(at_ms);
            if let Some(report) = report {
                source.hear(now, &report);
            }
            loop {
                if let Step::Frame { bytes, .. } = source.next(now) {
                    return u64::from(bytes) * 8 * 30;
                }
            }
        };
        let near = |bits: u64, expected: f64| {
            let off = bits as f64 / expected - 1.0;
            assert!(off.abs() < 0.002, "{bits} instead of {expected}");
        };
        let good = Report {
            expected: 100,
            received: 99,
            rate: Rate(400_000),
            queue_delay: Time::from_ms(24),
        };
        near(bits(None, 0), 200_000.0);
        near(bits(Some(good), 200), 210_000.0);
        (2..60).for_each(|i| _ = bits(Some(good), i * 200));
        near(bits(Some(good), 12_000), 1_000_000.0);
        let lossy = Report {
            received: 95,
            ..good
        };
        near(bits(Some(lossy), 12_200), 1_000_000.0);
        let late = Report {
            queue_delay: Time::from_ms(51),
            rate: Rate(1_254_000),
            ..good
        };
        near(bits(Some(late), 12_400), 1_000_000.0);
        let slow = Report {
            rate: Rate(627_000),
            ..late
        };
        near(bits(Some(slow), 12_600), 0.85 * 600_000.0);
        near(bits(None, 13_599), 510_000.0);
        near(bits(None, 13_600), 255_000.0);
        near(bits(None, 15_000), 200_000.0);
    }
}

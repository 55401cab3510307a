//! Implements the video of a call: a source of frames with an adaptive bit rate, and a viewer that
//! measures the delay of frames.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use tailback_sim::Time;

use crate::Options;

/// Payload of the longest packet, bytes. Its datagram fits into str0m's default MTU of 1150 bytes.
pub(crate) const PAYLOAD: usize = 1100;
/// Bytes that str0m adds to the payload of a packet: RTP header 12, extensions 16, SRTP tag 10.
pub(crate) const OVERHEAD: usize = 38;
/// Ticks per second of RTP timestamps of video.
pub(crate) const CLOCK: u64 = 90_000;

/// A packet of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Number of the frame.
    pub frame: u32,
    /// Index of the packet in its frame.
    pub index: u16,
    /// Number of packets of the frame.
    pub of: u16,
}

impl Piece {
    /// Length of the description of the packet, bytes. The description is at the start of the
    /// payload.
    const BYTES: usize = 8;

    /// Returns a payload of this length that starts with the description. The length is at least
    /// the length of the description.
    pub fn payload(self, bytes: usize) -> Vec<u8> {
        let mut payload = vec![0; bytes.max(Piece::BYTES)];
        payload[..4].copy_from_slice(&self.frame.to_be_bytes());
        payload[4..6].copy_from_slice(&self.index.to_be_bytes());
        payload[6..8].copy_from_slice(&self.of.to_be_bytes());
        payload
    }

    /// Reads the description at the start of a payload.
    pub fn read(payload: &[u8]) -> Option<Piece> {
        let bytes = payload.first_chunk::<{ Piece::BYTES }>()?;
        Some(Piece {
            frame: u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            index: u16::from_be_bytes([bytes[4], bytes[5]]),
            of: u16::from_be_bytes([bytes[6], bytes[7]]),
        })
    }
}

/// A source of frames at a rate that follows the bandwidth estimate.
pub(crate) struct Source {
    options: Options,
    random: Rng,
    rate: f64,
    /// Time of the first frame, once the connection exists.
    began: Option<Time>,
    pub frames: u32,
}

impl Source {
    pub fn new(options: &Options) -> Source {
        Source {
            options: *options,
            random: Rng::with_seed(options.seed ^ 0x5f72_6d65),
            rate: options.start_rate,
            began: None,
            frames: 0,
        }
    }

    /// Starts the source.
    pub fn start(&mut self, now: Time) {
        self.began.get_or_insert(now);
    }

    /// Sets the rate of the video including packet headers, bit/s.
    pub fn follow(&mut self, estimate: f64) {
        self.rate = estimate.clamp(self.options.min_rate, self.options.max_rate);
    }

    /// Returns when the next frame is due.
    pub fn next(&self) -> Option<Time> {
        let after = u64::from(self.frames) * 1_000_000_000 / u64::from(self.options.fps);
        self.began.map(|began| Time(began.ns() + after))
    }

    /// Returns the packets of the next frame and the payload bytes of each.
    pub fn frame(&mut self) -> Vec<(Piece, usize)> {
        let varied = 1.0 + self.options.variation * (2.0 * self.random.f64() - 1.0);
        let bytes = (self.rate / 8.0 / f64::from(self.options.fps) * varied) as usize;
        let packets = bytes.div_ceil(PAYLOAD + OVERHEAD).max(1);
        let frame = self.frames;
        self.frames += 1;
        (0..packets)
            .map(|index| {
                let end = bytes * (index + 1) / packets;
                let length = end - bytes * index / packets;
                let piece = Piece {
                    frame,
                    index: index as u16,
                    of: packets as u16,
                };
                (piece, length.saturating_sub(OVERHEAD))
            })
            .collect()
    }
}

/// Collects frames. For each complete frame, stores the time from the source to the arrival of the
/// frame's last packet.
#[derive(Default)]
pub(crate) struct Viewer {
    /// The incomplete frames, by number. For each of its packets, a frame stores whether the packet
    /// has arrived.
    partial: BTreeMap<u32, Vec<bool>>,
    /// The frames that are complete.
    complete: BTreeSet<u32>,
    delays: Vec<Time>,
}

impl Viewer {
    /// Handles a packet that arrives at `now`, of a frame that the source made at RTP time
    /// `timestamp`.
    pub fn receive(&mut self, now: Time, timestamp: u32, piece: Piece) {
        if self.complete.contains(&piece.frame) {
            return;
        }
        let arrived =
            (self.partial.entry(piece.frame)).or_insert_with(|| vec![false; usize::from(piece.of)]);
        if let Some(packet) = arrived.get_mut(usize::from(piece.index)) {
            *packet = true;
        }
        if arrived.iter().all(|packet| *packet) {
            self.partial.remove(&piece.frame);
            self.complete.insert(piece.frame);
            let ticks = ticks(now).wrapping_sub(timestamp);
            let delay = u64::from(ticks) * 1_000_000_000 / CLOCK;
            self.delays.push(Time(delay));
        }
    }

    /// Returns how many frames are complete.
    pub fn frames(&self) -> usize {
        self.delays.len()
    }

    /// Returns the mean and the 95th percentile of the delays of complete frames, ms.
    pub fn delay_ms(&self) -> Option<(f64, f64)> {
        let mut sorted: Vec<f64> = self.delays.iter().map(|d| d.as_secs_f64() * 1e3).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        Some((mean, sorted[(last as f64 * 0.95).round() as usize]))
    }
}

/// Returns the RTP timestamp of a time.
pub(crate) fn ticks(now: Time) -> u32 {
    (u128::from(now.ns()) * u128::from(CLOCK) / 1_000_000_000) as u32
}

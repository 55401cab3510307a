//! Creates the TCP sockets of flows and requests, and reads the kernel's information about them.

use std::fs::File;
use std::io;

use super::sys::{self, Socket};
use tailback_engine::cc;
use tailback_engine::registry::kernel::Gauge;
use tailback_engine::tcp::growing_segments;
use tailback_guest::job::Flow;

/// Number of bytes per write. If each packet had its own write, the writes would take as long as
/// sending the packets.
const CHUNK: usize = 1 << 20;

/// The amounts of data that may wait in the buffers between TCP and the agent.
#[derive(Clone, Copy)]
pub struct Slack {
    /// Approximate limit of the unsent data in TCP's buffer, in bytes.
    not_sent: i32,
    /// Number of bytes in the receive buffer at which the kernel wakes the receiver.
    low_water: u64,
}

impl Slack {
    /// The amounts for endpoints that the main loop's poll wakes. Each wake-up is expensive, so
    /// large amounts of data may wait.
    pub const POLLED: Slack = Slack {
        not_sent: 1 << 20,
        low_water: 512 << 10,
    };

    /// The amounts for applications that pause. TCP sends the data in its send buffer even during a
    /// pause, so the send buffer should contain little data.
    pub const PAUSED: Slack = Slack {
        not_sent: 64 << 10,
        ..Slack::POLLED
    };

    /// Returns the amounts for endpoints that have their own threads. Waking a thread is cheap, so
    /// only a little data waits, and the data of all flows fits into the processor's cache. The
    /// waiting data still suffices for all segments that a burst of ACKs lets TCP send. A lack of
    /// data therefore never limits the sender.
    pub fn waiting(flows: usize) -> Slack {
        let each = ((1 << 20) / flows.max(1)).clamp(64 << 10, 256 << 10);
        Slack {
            not_sent: each as i32,
            low_water: each as u64,
        }
    }
}

const TCP_NODELAY: i32 = 1;
const TCP_INFO: i32 = 11;
const TCP_CONGESTION: i32 = 13;
const TCP_QUICKACK: i32 = 12;
const TCP_WINDOW_CLAMP: i32 = 10;
const TCP_NOTSENT_LOWAT: i32 = 25;
const TCP_CC_INFO: i32 = 26;
const SO_MAX_PACING_RATE: i32 = 47;

/// The information that `ss -ti` shows about a connection (`struct tcp_info`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Smoothed RTT, in us.
    pub srtt_us: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    /// Number of segments in flight: sent segments minus acknowledged, sacked and lost segments,
    /// plus retransmitted segments.
    pub in_flight: u32,
    pub retransmits: u32,
    pub timeouts: u16,
    pub data_segments: u32,
    pub received_segments: u32,
    pub received_bytes: u64,
    /// How long data was in flight or was waiting to be sent, in us.
    pub busy_us: u64,
    /// How long the receive window limited sending, in us.
    pub rwnd_limited_us: u64,
    /// How long the send buffer limited sending, in us.
    pub sndbuf_limited_us: u64,
    /// State of the connection, as the kernel numbers it.
    pub state: u8,
    /// Congestion state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    pub ca_state: u8,
    /// Segments delivered with a CE mark.
    pub delivered_ce: u32,
    /// Bytes acknowledged. The SYN counts as one byte.
    pub acked_bytes: u64,
}

/// The state of a socket without a connection (`TCP_CLOSE`).
const CLOSED: u8 = 7;

impl Info {
    /// Returns whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.state == CLOSED
    }

    pub fn parse(bytes: &[u8]) -> Info {
        let part = |at: usize, n: usize| bytes.get(at..at + n);
        let word =
            |at: usize| part(at, 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Info {
            srtt_us: word(68),
            cwnd: word(80),
            ssthresh: word(76),
            // The number in flight is unacked - sacked - lost + retrans.
            in_flight: word(24)
                .saturating_add(word(36))
                .saturating_sub(word(28))
                .saturating_sub(word(32)),
            retransmits: word(100),
            timeouts: part(240, 2).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]])),
            data_segments: word(156),
            received_segments: word(152),
            received_bytes: long(128),
            busy_us: long(168),
            rwnd_limited_us: long(176),
            sndbuf_limited_us: long(184),
            state: part(0, 1).map_or(0, |b| b[0]),
            ca_state: part(1, 1).map_or(0, |b| b[0]),
            delivered_ce: word(196),
            acked_bytes: long(120),
        }
    }
}

pub fn info(socket: &Socket) -> io::Result<Info> {
    let mut bytes = [0_u8; 384];
    let n = socket.get(libc::IPPROTO_TCP, TCP_INFO, &mut bytes)?;
    Ok(Info::parse(&bytes[..n]))
}

pub fn gauges<'g>(
    socket: &Socket,
    gauges: &'g [Gauge],
) -> impl Iterator<Item = Option<f64>> + use<'g> {
    let mut bytes = [0_u8; 64];
    let told = match gauges {
        [] => 0,
        _ => (socket.get(libc::IPPROTO_TCP, TCP_CC_INFO, &mut bytes)).unwrap_or_default(),
    };
    gauges.iter().map(move |gauge| gauge.read(&bytes[..told]))
}

/// Creates the receiving end of a flow: a listening socket.
pub fn listener(flow: &Flow, slack: Slack) -> io::Result<Socket> {
    let socket = receiver(flow, slack)?;
    socket.listen(4)?;
    Ok(socket)
}

/// Creates the end that sends the responses to requests: a listening socket. Up to `backlog`
/// connections may wait to be accepted.
pub fn server(flow: &Flow, backlog: i32) -> io::Result<Socket> {
    let socket = sender(flow, Slack::POLLED)?;
    socket.listen(backlog)?;
    Ok(socket)
}

/// Creates the end that receives the response to a request: a socket that connects.
pub fn client(flow: &Flow) -> io::Result<Socket> {
    receiver(flow, Slack::POLLED)
}

/// Returns the congestion control of the receiving end, which decides whether ECN is negotiated. A
/// listening socket with DCTCP negotiates ECN regardless of `net.ipv4.tcp_ecn`. Without ECN, DCTCP
/// behaves like Reno. A congestion control that is not in the registry may also need ECN, so use it
/// at the receiver too.
fn receivers_control(flow: &Flow) -> &str {
    let known = cc::face(&flow.kernel_cc).is_some();
    if known && !flow.ecn {
        return "reno";
    }
    &flow.kernel_cc
}

/// Creates the socket of the receiving end. The socket does not listen or connect yet.
fn receiver(flow: &Flow, slack: Slack) -> io::Result<Socket> {
    let socket = Socket::new(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    socket.set_text(libc::IPPROTO_TCP, TCP_CONGESTION, receivers_control(flow))?;
    clamp_window(flow, &socket)?;
    wake_for(&socket, growth_step(flow, slack, 0))?;
    mark(flow, &socket)?;
    socket.bind(flow.receiver_address, flow.port)?;
    Ok(socket)
}

/// Limits the receive window.
///
/// If the limit is set before the connection exists, the limit determines the window scale. When
/// the first segment arrives, Linux computes which share of a buffer is payload, and replaces the
/// limit (`tcp_measure_rcv_mss`). The caller must therefore set the limit again after [`unbounded`]
/// bytes.
fn clamp_window(flow: &Flow, socket: &Socket) -> io::Result<()> {
    socket.set(libc::IPPROTO_TCP, TCP_WINDOW_CLAMP, &(flow.window as i32))
}

/// Returns the number of payload bytes after which the window must be limited again. Before this
/// point, the window grows from half of the buffer by two segments for each segment that arrives.
/// Every segment is acknowledged at once, as in the simulator ([`growing_segments`]). A sender in
/// slow start does not fill the window while the window grows. The first segment always replaces
/// the limit, even if the window does not grow.
pub fn unbounded(flow: &Flow) -> u64 {
    let segments = growing_segments(u64::from(flow.window), u64::from(flow.mss));
    segments.max(1) * payload(flow)
}

/// Returns the payload of a full segment, in bytes.
fn payload(flow: &Flow) -> u64 {
    u64::from(flow.mss.saturating_sub(flow.option)).max(1)
}

/// Returns the number of further bytes after which the kernel must wake the receiver while the
/// window grows. The receiver has read `read` bytes so far.
///
/// The window grows only into the free part of the buffer (`tcp_grow_window`), by two segments for
/// each segment. The growth ends after a known number of bytes. The growth pauses if two thirds of
/// the remaining bytes wait unread in the buffer. The receiver therefore reads two segments before
/// that point. Near the end of the growth, the receiver reads after each segment. The window then
/// grows as for an application that always reads at once.
pub fn growth_step(flow: &Flow, slack: Slack, read: u64) -> u64 {
    let left = unbounded(flow).saturating_sub(read);
    low_water(flow, slack, read).min(most_unread(left, payload(flow)))
}

/// Returns how many bytes may wait in the buffer while the window grows. The growth ends when the
/// receiver has read `left` more bytes. Each segment has `segment` bytes.
fn most_unread(left: u64, segment: u64) -> u64 {
    let most = (2 * left / 3).saturating_sub(2 * segment);
    if most < segment { 1 } else { most }
}

/// Limits the window again once [`unbounded`] bytes have arrived. After this call, the kernel wakes
/// the receiver less often.
pub fn bound_window(flow: &Flow, slack: Slack, socket: &Socket, read: u64) -> io::Result<()> {
    clamp_window(flow, socket)?;
    wake_for(socket, low_water(flow, slack, read))
}

/// Sets the number of bytes after which the kernel wakes the receiver.
pub fn wake_for(socket: &Socket, bytes: u64) -> io::Result<()> {
    socket.set(libc::SOL_SOCKET, libc::SO_RCVLOWAT, &(bytes as i32))
}

/// Creates the socket of the sending end. The socket does not connect yet.
pub fn sender(flow: &Flow, slack: Slack) -> io::Result<Socket> {
    let socket = Socket::new(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    socket.set_text(libc::IPPROTO_TCP, TCP_CONGESTION, &flow.kernel_cc)?;
    // The kernel doubles the value of this socket option.
    let half = (flow.send_buffer / 2) as i32;
    socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &half)?;
    // With much unsent data, the kernel rarely has to wake the sender. With little unsent data, the
    // data stays in the processor's cache.
    socket.set(libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, &slack.not_sent)?;
    if flow.application.is_some() {
        // Send each segment as soon as the window allows, even if it is not full.
        socket.set(libc::IPPROTO_TCP, TCP_NODELAY, &1_i32)?;
    }
    if flow.pacing {
        // With any finite limit, TCP paces its segments, at a rate that it chooses itself.
        socket.set(libc::SOL_SOCKET, SO_MAX_PACING_RATE, &(u64::MAX >> 1))?;
    }
    mark(flow, &socket)?;
    socket.bind(flow.sender_address, flow.port)?;
    Ok(socket)
}

/// Sets the DSCP, which connections inherit from their listener. TCP itself sets the ECN field.
fn mark(flow: &Flow, socket: &Socket) -> io::Result<()> {
    if flow.dscp > 0 {
        let field = i32::from(flow.dscp) << 2;
        socket.set(libc::IPPROTO_IP, libc::IP_TOS, &field)?;
    }
    Ok(())
}

/// Sets the options of a receiver after it has connected.
pub fn accepted(flow: &Flow, socket: &Socket) -> io::Result<()> {
    if !flow.quickack {
        socket.set(libc::IPPROTO_TCP, TCP_QUICKACK, &0_i32)?;
    }
    Ok(())
}

/// Returns the number of further bytes after which the kernel must wake the receiver. The receiver
/// has read `read` bytes so far. The end of a limited transfer or of a chunk must also wake the
/// receiver.
fn low_water(flow: &Flow, slack: Slack, read: u64) -> u64 {
    let chunks = || Some(flow.application.as_ref()?.chunks.as_ref()?.bytes);
    let left = match (flow.bytes, chunks()) {
        (_, Some(chunk)) => chunk - read % chunk,
        (Some(bytes), _) => bytes.saturating_sub(read),
        _ => u64::MAX,
    };
    slack.low_water.min(left).max(1)
}

/// Returns whether the end of the transfer or of a chunk must wake the receiver.
fn has_ends(flow: &Flow) -> bool {
    let application = flow.application.as_ref();
    flow.bytes.is_some() || application.is_some_and(|all| all.chunks.is_some())
}

/// Reads the available data. Returns the number of bytes read in total.
pub fn read(flow: &Flow, socket: &Socket, mut read: u64) -> io::Result<u64> {
    let before = read;
    // One call reads everything that is available. Data that arrives later causes another event.
    if let Some(n) = socket.discard(1 << 30)? {
        read += n as u64;
    }
    let growing = unbounded(flow);
    if read < growing {
        wake_for(socket, growth_step(flow, Slack::POLLED, read))?;
    } else if has_ends(flow) || before < growing {
        bound_window(flow, Slack::POLLED, socket, read)?;
    } else {
        // Offloads merge segments. Larger segments change the share of payload in a buffer, so set
        // the limit of the window again.
        clamp_window(flow, socket)?;
    }
    Ok(read)
}

/// Writes chunks of `chunk` bytes while the send buffer has space, up to the position `limit` of
/// the stream. A segment ends where a chunk ends. Returns the number of bytes written in total.
pub fn write_chunks(socket: &Socket, chunk: u64, limit: u64, mut written: u64) -> io::Result<u64> {
    const PIECE: usize = 64 << 10;
    static ZEROS: [u8; PIECE] = [0; PIECE];
    while written < limit {
        let left = (chunk - written % chunk).min(limit - written);
        let whole = left <= PIECE as u64;
        let piece = &ZEROS[..left.min(PIECE as u64) as usize];
        let sent = match whole {
            true => socket.send_record(piece)?,
            false => socket.send(piece)?,
        };
        let Some(sent) = sent else {
            break;
        };
        written += sent as u64;
    }
    Ok(written)
}

/// Writes zeros while the send buffer has space, up to the position `limit` of the stream. Returns
/// the number of bytes written in total.
pub fn write(socket: &Socket, zeros: &Zeros, limit: u64, mut written: u64) -> io::Result<u64> {
    loop {
        let left = limit.saturating_sub(written);
        if left == 0 {
            return Ok(written);
        }
        let chunk = (CHUNK as u64).min(left) as usize;
        let Some(n) = zeros.send(socket, chunk)? else {
            return Ok(written);
        };
        written += n as u64;
        if n < chunk {
            // The poll reports when the buffer has space again.
            return Ok(written);
        }
    }
}

/// Zeros to send, up to [`CHUNK`] bytes at a time.
pub enum Zeros {
    /// A file whose pages TCP sends without copying them.
    Pages(File),
    /// Bytes that TCP copies, as most applications send them.
    Copied(Box<[u8]>),
}

impl Zeros {
    /// Makes the zeros that the flows of a run send. With offloads, TCP copies the zeros. A packet
    /// may refer to 17 pieces of memory (`MAX_SKB_FRAGS`). Pages of a file are pieces of 4 kB, so
    /// TCP often could not add data from the next buffer to a packet (`tcp_grow_skb`). Copied data
    /// is in pieces of 32 kB.
    pub fn new(offloads: bool) -> io::Result<Zeros> {
        Ok(match offloads {
            true => Zeros::Copied(vec![0; CHUNK].into()),
            false => Zeros::Pages(sys::zeros(CHUNK)?),
        })
    }

    /// Sends up to `bytes` zeros. Returns the number of zeros sent, or `None` if the send buffer is
    /// full.
    fn send(&self, socket: &Socket, bytes: usize) -> io::Result<Option<usize>> {
        match self {
            Zeros::Pages(file) => socket.send_file(file, bytes),
            Zeros::Copied(zeros) => socket.send(&zeros[..bytes]),
        }
    }

    /// Sends [`CHUNK`] zeros, or as many as the send buffer has space for.
    pub fn send_chunk(&self, socket: &Socket) -> io::Result<Option<usize>> {
        self.send(socket, CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_shared_between_flows() {
        let each = |flows| Slack::waiting(flows).not_sent >> 10;
        assert_eq!([1, 4, 8, 16, 1000].map(each), [256, 256, 128, 64, 64]);
    }

    #[test]
    fn fields_are_where_the_kernel_has_them() {
        // Each word of the test data equals its own offset, so the expected values are the offsets
        // of the fields in include/uapi/linux/tcp.h.
        let bytes: Vec<u8> = (0..64_u32).flat_map(|i| (4 * i).to_ne_bytes()).collect();
        let info = Info::parse(&bytes);
        assert_eq!((info.srtt_us, info.cwnd, info.ssthresh), (68, 80, 76));
        assert_eq!(
            (info.retransmits, info.data_segments, info.timeouts),
            (100, 156, 240)
        );
        assert_eq!(info.in_flight, 24 + 36 - 28 - 32);
        assert_eq!(info.received_bytes, 128 | 132 << 32);
        assert_eq!(info.acked_bytes, 120 | 124 << 32);
        assert_eq!(info.busy_us, 168 | 172 << 32);
        assert_eq!(info.delivered_ce, 196);
        assert_eq!(info.sndbuf_limited_us, 184 | 188 << 32);
        assert_eq!(Info::parse(&bytes[..8]), Info::default(), "an older kernel");
    }

    /// Returns how often the receive window of Linux grows (`tcp_grow_window`), and how often the
    /// receiver reads. The receiver reads as soon as `wake` bytes wait.
    fn grows(window: u64, mss: u64, payload: u64, wake: impl Fn(u64) -> u64) -> (u64, u64) {
        let growing = growing_segments(window, mss) * payload;
        let share = 256 * mss / (mss + 832);
        let clamp = 2 * window * share / 256;
        let (mut size, mut unread, mut read, mut reads, mut grown) = (window - mss, 0, 0, 0, 0);
        let mut lowest = wake(growing);
        while read < growing {
            unread += payload;
            let room = clamp.saturating_sub(unread + size);
            size += room.min(2 * mss);
            grown += u64::from(room > 0);
            if unread >= lowest {
                read += unread;
                reads += 1;
                unread = 0;
                lowest = wake(growing.saturating_sub(read));
            }
        }
        (grown, reads)
    }

    /// The window grows as often as for an application that reads each segment at once. If an
    /// application reads only after 512 kB, the growth stops 59 segments early.
    #[test]
    fn the_window_grows_as_if_each_segment_were_read_at_once() {
        let low = 512 << 10;
        let early = |payload: u64| move |left| most_unread(left, payload).min(low);
        for (window, mss, option) in [
            (32 << 20, 1_448, 0),
            (32 << 20, 1_448, 12),
            (32 << 20, 1_000, 0),
            (3 << 20, 1_448, 0),
            (20_480, 1_448, 0),
        ] {
            let payload = mss - option;
            let (at_once, all) = grows(window, mss, payload, |_| 1);
            let (grown, reads) = grows(window, mss, payload, early(payload));
            assert_eq!(grown, at_once, "{window} {mss} {option}");
            assert!(reads <= all && reads < 40, "{reads} of {all}");
        }
        let (at_once, _) = grows(32 << 20, 1_448, 1_448, |_| 1);
        let (late, _) = grows(32 << 20, 1_448, 1_448, |left| left.min(low));
        assert_eq!((at_once, late), (3_078, 3_019));
    }
}

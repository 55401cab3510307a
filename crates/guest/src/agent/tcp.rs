//! TCP connections: both ends of a flow, and what the kernel tells of them.

use std::fs::File;
use std::io;

use super::sys::Socket;
use tailback_engine::cc;
use tailback_engine::registry::kernel::Gauge;
use tailback_guest::job::Flow;

/// Bytes handed to TCP at once: a call for each packet would cost as much as
/// the packet.
const CHUNK: usize = 1 << 20;

/// What lies between TCP and who uses it.
#[derive(Clone, Copy)]
pub struct Slack {
    /// Bytes that TCP holds unsent at most, about.
    not_sent: i32,
    /// The receiver is woken for so many bytes.
    low_water: u64,
}

impl Slack {
    /// For ends that are woken by [`super::sys::Poll`]: seldom.
    pub const POLLED: Slack = Slack {
        not_sent: 1 << 20,
        low_water: 512 << 10,
    };

    /// For those that are woken inside the kernel, which costs little: what so many flows hold
    /// together stays in the processor's cache. It is never less than what a burst of ACKs
    /// lets go, so that no window looks larger than what there is to send.
    pub fn waiting(flows: usize) -> Slack {
        let each = ((1 << 20) / flows.max(1)).clamp(64 << 10, 256 << 10);
        Slack {
            not_sent: each as i32,
            low_water: each as u64,
        }
    }
}

const TCP_INFO: i32 = 11;
const TCP_CONGESTION: i32 = 13;
const TCP_QUICKACK: i32 = 12;
const TCP_WINDOW_CLAMP: i32 = 10;
const TCP_NOTSENT_LOWAT: i32 = 25;
const TCP_CC_INFO: i32 = 26;
const SO_MAX_PACING_RATE: i32 = 47;

/// What `ss -ti` shows of a connection (`struct tcp_info`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Smoothed RTT, us.
    pub srtt_us: u32,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow-start threshold, segments.
    pub ssthresh: u32,
    /// Sent, neither acknowledged, sacked nor lost, plus retransmitted; segments.
    pub in_flight: u32,
    /// Segments sent again.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u16,
    /// Data segments sent.
    pub data_segments: u32,
    /// Data segments received.
    pub received_segments: u32,
    /// Bytes received in order.
    pub received_bytes: u64,
    /// Time there was data in flight or to be sent, us.
    pub busy_us: u64,
    /// Time the receive window was the limit, us.
    pub rwnd_limited_us: u64,
    /// Time the send buffer was the limit, us.
    pub sndbuf_limited_us: u64,
    /// Congestion state: Open, Disorder, CWR, Recovery, Loss.
    pub ca_state: u8,
    /// Segments delivered with a CE mark.
    pub delivered_ce: u32,
    /// Bytes acknowledged, the SYN counted as one.
    pub acked_bytes: u64,
}

impl Info {
    /// From the kernel's struct.
    pub fn parse(bytes: &[u8]) -> Info {
        let part = |at: usize, n: usize| bytes.get(at..at + n);
        let word =
            |at: usize| part(at, 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Info {
            srtt_us: word(68),
            cwnd: word(80),
            ssthresh: word(76),
            // unacked - sacked - lost + retrans
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
            ca_state: part(1, 1).map_or(0, |b| b[0]),
            delivered_ce: word(196),
            acked_bytes: long(120),
        }
    }
}

/// What a connection says of itself.
pub fn info(socket: &Socket) -> io::Result<Info> {
    let mut bytes = [0_u8; 384];
    let n = socket.get(libc::IPPROTO_TCP, TCP_INFO, &mut bytes)?;
    Ok(Info::parse(&bytes[..n]))
}

/// What the congestion control of a connection tells (`union tcp_cc_info`).
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

/// The receiving end of a flow before it is connected.
pub fn listener(flow: &Flow, slack: Slack) -> io::Result<Socket> {
    let socket = receiver(flow, slack)?;
    socket.listen(4)?;
    Ok(socket)
}

/// The sending end of connections that others begin, up to so many at once.
pub fn server(flow: &Flow, backlog: i32) -> io::Result<Socket> {
    let socket = sender(flow, Slack::POLLED)?;
    socket.listen(backlog)?;
    Ok(socket)
}

/// The receiving end of a connection that it begins.
pub fn client(flow: &Flow) -> io::Result<Socket> {
    receiver(flow, Slack::POLLED)
}

/// The congestion control of the receiving end, which decides about ECN: with DCTCP there ECN is
/// negotiated whatever `net.ipv4.tcp_ecn` says, and without it DCTCP does as Reno. Of one that
/// nothing is known of the receiver may have a part as well.
fn receivers_control(flow: &Flow) -> &str {
    let known = cc::face(&flow.kernel_cc).is_some();
    if known && !flow.ecn {
        return "reno";
    }
    &flow.kernel_cc
}

/// The receiving end.
fn receiver(flow: &Flow, slack: Slack) -> io::Result<Socket> {
    let socket = Socket::new(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    socket.set_text(libc::IPPROTO_TCP, TCP_CONGESTION, receivers_control(flow))?;
    clamp_window(flow, &socket)?;
    wake_for(&socket, low_water(flow, slack, 0).min(unbounded(flow)))?;
    mark(flow, &socket)?;
    socket.bind(flow.receiver_address, flow.port)?;
    Ok(socket)
}

/// Bounds the window that a receiver offers.
///
/// Before a connection is there this decides its window scale. It does not last: when the first
/// segment shows how much of a buffer is payload, Linux takes the bound that follows from its
/// buffer instead (`tcp_measure_rcv_mss`), which is why [`unbounded`] counts.
fn clamp_window(flow: &Flow, socket: &Socket) -> io::Result<()> {
    socket.set(libc::IPPROTO_TCP, TCP_WINDOW_CLAMP, &(flow.window as i32))
}

/// Half of a buffer is window until a segment was seen, then this share of it, in 256ths: payload
/// over `skb->truesize` of a full segment that was not merged with others.
const PAYLOAD_SHARE: u64 = 162;

/// Payload, bytes, after which the window has to be bounded again: so long it grows from half of a buffer
/// to [`PAYLOAD_SHARE`] of it, two segments for each that arrives, and every segment is
/// acknowledged at once. The simulator's receiver does so too, and a sender in slow start has not
/// come near the window by then.
pub fn unbounded(flow: &Flow) -> u64 {
    let mss = u64::from(flow.mss).max(1);
    let room = u64::from(flow.window) * (PAYLOAD_SHARE - 128) / 128;
    (room + mss).div_ceil(2 * mss) * mss
}

/// Bounds the window again, once [`unbounded`] bytes are there; from then on the receiver is
/// woken for more at once.
pub fn bound_window(flow: &Flow, slack: Slack, socket: &Socket, read: u64) -> io::Result<()> {
    clamp_window(flow, socket)?;
    wake_for(socket, low_water(flow, slack, read))
}

fn wake_for(socket: &Socket, bytes: u64) -> io::Result<()> {
    socket.set(libc::SOL_SOCKET, libc::SO_RCVLOWAT, &(bytes as i32))
}

/// The sending end before it is connected.
pub fn sender(flow: &Flow, slack: Slack) -> io::Result<Socket> {
    let socket = Socket::new(libc::AF_INET, libc::SOCK_STREAM, 0)?;
    socket.set_text(libc::IPPROTO_TCP, TCP_CONGESTION, &flow.kernel_cc)?;
    // The call doubles it.
    let half = (flow.send_buffer / 2) as i32;
    socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &half)?;
    // What waits to be sent the first time: enough not to be woken often, and
    // little enough to stay in the processor's cache.
    socket.set(libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, &slack.not_sent)?;
    if flow.pacing {
        // Any bound but "none" makes TCP pace itself at its own rate below it.
        socket.set(libc::SOL_SOCKET, SO_MAX_PACING_RATE, &(u64::MAX >> 1))?;
    }
    mark(flow, &socket)?;
    socket.bind(flow.sender_address, flow.port)?;
    Ok(socket)
}

/// Sets the DSCP; a listener's sockets inherit it, the ECN field is TCP's own.
fn mark(flow: &Flow, socket: &Socket) -> io::Result<()> {
    if flow.dscp > 0 {
        let field = i32::from(flow.dscp) << 2;
        socket.set(libc::IPPROTO_IP, libc::IP_TOS, &field)?;
    }
    Ok(())
}

/// What a receiver does once it is connected.
pub fn accepted(flow: &Flow, socket: &Socket) -> io::Result<()> {
    if !flow.quickack {
        socket.set(libc::IPPROTO_TCP, TCP_QUICKACK, &0_i32)?;
    }
    Ok(())
}

/// For how many bytes the receiver is woken when it has read so many: the
/// last byte of a sized transfer is not waited past.
fn low_water(flow: &Flow, slack: Slack, read: u64) -> u64 {
    let left = flow
        .bytes
        .map_or(u64::MAX, |bytes| bytes.saturating_sub(read));
    slack.low_water.min(left).max(1)
}

/// Reads what there is; gives how much was read in all.
pub fn read(flow: &Flow, socket: &Socket, mut read: u64) -> io::Result<u64> {
    let before = read;
    // One call takes all. What comes meanwhile is told anew.
    if let Some(n) = socket.discard(1 << 30)? {
        read += n as u64;
    }
    let growing = unbounded(flow);
    if read < growing {
        let left = low_water(flow, Slack::POLLED, read).min(growing - read);
        wake_for(socket, left)?;
    } else if flow.bytes.is_some() || before < growing {
        bound_window(flow, Slack::POLLED, socket, read)?;
    } else {
        // Larger segments, merged by offloads, change the share of payload once more.
        clamp_window(flow, socket)?;
    }
    Ok(read)
}

/// Writes what there is room for; gives how much was written in all.
pub fn write(flow: &Flow, socket: &Socket, zeros: &File, mut written: u64) -> io::Result<u64> {
    loop {
        let left = flow.bytes.map_or(u64::MAX, |bytes| bytes - written);
        if left == 0 {
            return Ok(written);
        }
        let chunk = (CHUNK as u64).min(left) as usize;
        let Some(n) = socket.send_file(zeros, chunk)? else {
            return Ok(written);
        };
        written += n as u64;
        if n < chunk {
            // No room for more: the kernel tells when there is.
            return Ok(written);
        }
    }
}

/// Bytes a file of zeros must have for [`write`].
pub const ZEROS: usize = CHUNK;

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
        // Offsets of include/uapi/linux/tcp.h: a word with its own offset.
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
}

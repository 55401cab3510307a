//! Unmodified smoltcp provides the endpoints of a connection in tailback's simulator. One TCP
//! socket connects and sends, and the other TCP socket listens and reads.
//!
//! ```
//! use tailback_sim::Simulation;
//! use tailback_smoltcp::{Options, receiver, sender};
//!
//! let results = Simulation::from_toml(
//!     r#"
//!     duration = "5s"
//!     [bottleneck]
//!     rate = "20Mbit"
//!     queue = "codel"
//!     [[programs]]
//!     name = "tcp"
//!     "#,
//! )?
//! .attach("tcp", sender(&Options::default(), Some(2_000_000)), receiver(&Options::default()))?
//! .run()?;
//! assert!(results.completion_s("tcp").unwrap() < 1.2);
//! # Ok::<(), tailback_sim::Error>(())
//! ```
//!
//! smoltcp sends IP packets, and the simulator adds 14 bytes for the Ethernet header. smoltcp does
//! not use ECN, and its clock has a resolution of a microsecond.

mod kind;

use std::collections::VecDeque;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, ChecksumCapabilities, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};
use tailback_sim::{Ecn, Endpoint, Time, Transmit};

pub use kind::{ENTRY, register};

/// The settings of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Congestion control.
    pub control: CongestionControl,
    /// Whether to use Nagle's algorithm, as smoltcp does by default. Without it, smoltcp sends a
    /// packet as soon as the window allows, even if the packet is only a partial segment. Many
    /// packets are therefore short.
    pub nagle: bool,
    /// Whether the receiver delays acknowledgements, as smoltcp does by default.
    pub delack: bool,
    /// Size of the socket's send buffer and of its receive buffer, bytes. The buffers limit the
    /// window.
    pub buffer: usize,
    /// Seed of the initial sequence numbers.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            control: CongestionControl::Cubic,
            nagle: true,
            delack: true,
            buffer: 1 << 20,
            seed: 1,
        }
    }
}

/// Length of the longest IP packet, bytes.
const MTU: usize = 1500;
/// Bytes of an Ethernet header.
const ETHERNET: u16 = 14;
/// TCP port of the receiver.
const PORT: u16 = 5001;
/// TCP port of the sender.
const CLIENT: u16 = 49_152;
/// The application data, which consists of zeros. A write sends at most this many zeros.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// An endpoint: a smoltcp interface with one TCP socket.
pub struct Smoltcp {
    interface: Interface,
    wire: Wire,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    role: Role,
}

enum Role {
    /// The sender. `left` is the number of bytes that the application must still write.
    Sender {
        left: u64,
        connected: bool,
    },
    Receiver {
        got: u64,
    },
}

/// Returns a sender of `bytes` bytes. If `bytes` is `None`, it sends data without end.
pub fn sender(options: &Options, bytes: Option<u64>) -> Smoltcp {
    let left = bytes.unwrap_or(u64::MAX);
    let role = Role::Sender {
        left,
        connected: false,
    };
    Smoltcp::new(options, 1, role)
}

/// Returns a receiver that reads all data.
pub fn receiver(options: &Options) -> Smoltcp {
    Smoltcp::new(options, 2, Role::Receiver { got: 0 })
}

fn address(host: u8) -> IpAddress {
    IpAddress::v4(10, 0, 0, host)
}

impl Smoltcp {
    fn new(options: &Options, host: u8, role: Role) -> Smoltcp {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = options.seed.wrapping_mul(2).wrapping_add(host.into());
        let mut wire = Wire::default();
        let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let own = IpCidr::new(address(host), 24);
            addresses.push(own).expect("the first address");
        });
        let buffer = || SocketBuffer::new(vec![0; options.buffer]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.set_congestion_control(options.control);
        socket.set_nagle_enabled(options.nagle);
        if !options.delack {
            socket.set_ack_delay(None);
        }
        if let Role::Receiver { .. } = role {
            socket.listen(PORT).expect("a port that is not 0");
        }
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Smoltcp {
            interface,
            wire,
            sockets,
            handle,
            role,
        }
    }

    /// Returns how many bytes this end has read.
    pub fn received_bytes(&self) -> u64 {
        match self.role {
            Role::Sender { .. } => 0,
            Role::Receiver { got } => got,
        }
    }

    /// Processes received packets, lets the application read or write, and collects packets to
    /// send.
    fn poll(&mut self, now: Time) {
        let now = instant(now);
        self.interface.poll(now, &mut self.wire, &mut self.sockets);
        if self.act() {
            self.interface.poll(now, &mut self.wire, &mut self.sockets);
        }
    }

    /// Writes or reads as much data as the socket allows. Returns whether it wrote or read any
    /// data, or changed the connection.
    fn act(&mut self) -> bool {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.handle);
        let mut acted = false;
        match &mut self.role {
            Role::Sender { left, connected } => {
                if !*connected {
                    *connected = true;
                    let context = self.interface.context();
                    let connecting = socket.connect(context, (address(2), PORT), CLIENT);
                    connecting.expect("a socket that is closed");
                    return true;
                }
                while *left > 0 && socket.can_send() {
                    let piece = (ZEROS.len() as u64).min(*left) as usize;
                    match socket.send_slice(&ZEROS[..piece]) {
                        Ok(0) | Err(_) => break,
                        Ok(written) => *left -= written as u64,
                    }
                    acted = true;
                }
                if *left == 0 && socket.may_send() {
                    socket.close();
                    acted = true;
                }
            }
            Role::Receiver { got } => {
                while socket.can_recv() {
                    let read = socket.recv(|data| (data.len(), data.len()));
                    *got += read.unwrap_or_default() as u64;
                    acted = true;
                }
                if socket.state() == State::CloseWait {
                    socket.close();
                    acted = true;
                }
            }
        }
        acted
    }
}

impl Endpoint for Smoltcp {
    fn wake(&mut self, now: Time) {
        self.poll(now);
    }

    fn receive(&mut self, now: Time, datagram: &[u8], _: Ecn) {
        self.wire.arrived.clear();
        self.wire.arrived.extend_from_slice(datagram);
        self.wire.has_arrived = true;
        self.poll(now);
    }

    fn transmit(&mut self, _: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        let packet = self.wire.leaving.pop_front()?;
        self.wire.spare.push(std::mem::replace(datagram, packet));
        Some(Transmit::one(Ecn::NotEct))
    }

    fn next(&mut self) -> Option<Time> {
        let due = self.interface.poll_at(Instant::ZERO, &self.sockets)?;
        Some(Time::from_us(due.total_micros().unsigned_abs()))
    }

    fn is_done(&self) -> bool {
        let state = self.sockets.get::<Socket<'_>>(self.handle).state();
        match self.role {
            // The sender is done once all data and the FIN have been acknowledged.
            Role::Sender { left, connected } => {
                let over = [State::FinWait2, State::TimeWait, State::Closed];
                connected && left == 0 && over.contains(&state)
            }
            Role::Receiver { got } => got > 0 && [State::LastAck, State::Closed].contains(&state),
        }
    }

    fn header_bytes(&self) -> u16 {
        ETHERNET
    }
}

fn instant(now: Time) -> Instant {
    Instant::from_micros((now.ns() / 1000).cast_signed())
}

/// The network device of the interface. It holds one packet that has arrived, and the packets to
/// send. The device reuses its buffers.
#[derive(Default)]
struct Wire {
    arrived: Vec<u8>,
    has_arrived: bool,
    leaving: VecDeque<Vec<u8>>,
    /// Buffers of packets that were sent, to be reused.
    spare: Vec<Vec<u8>>,
}

struct Received<'a>(&'a [u8]);

struct Sending<'a> {
    leaving: &'a mut VecDeque<Vec<u8>>,
    spare: &'a mut Vec<Vec<u8>>,
}

impl Device for Wire {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.max_transmission_unit = MTU;
        capabilities.medium = Medium::Ip;
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sending<'_>)> {
        if !std::mem::take(&mut self.has_arrived) {
            return None;
        }
        let sending = Sending {
            leaving: &mut self.leaving,
            spare: &mut self.spare,
        };
        Some((Received(&self.arrived), sending))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending {
            leaving: &mut self.leaving,
            spare: &mut self.spare,
        })
    }
}

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

impl phy::TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, write: F) -> R {
        let mut packet = self.spare.pop().unwrap_or_default();
        packet.clear();
        packet.resize(len, 0);
        let result = write(&mut packet);
        self.leaving.push_back(packet);
        result
    }
}

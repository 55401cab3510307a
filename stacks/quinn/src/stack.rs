//! Implements [`Endpoint`] with quinn's endpoint and its one connection.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::BytesMut;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent,
    EcnCodepoint, EndpointConfig, ServerConfig, TimeSource, VarInt,
};
use ring::{hkdf, hmac};
use tailback_engine::plan::DATE;
use tailback_sim::{Ecn, Endpoint, EndpointState, Time, Transmit, UDP_IPV4};
use web_time::{Duration, Instant, SystemTime};

use crate::application::Application;
use crate::qlog::Log;
use crate::{Options, Timers, tls};

/// Addresses of both endpoints, which quinn needs. Simulated packets do not contain them.
const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 4433);
const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 2), 50_000);

/// Length of connection ids, as in quinn's own generator.
const CID_BYTES: usize = 8;

/// File name of the qlog. The `quinn` program of the kernel engine uses the same name for the qlog
/// of its first connection.
const LOG: &str = "server-1.sqlog";

/// An endpoint that runs quinn, with its one connection.
pub struct Quinn {
    endpoint: quinn_proto::Endpoint,
    // `Connection` is boxed, because it is large and is moved.
    connection: Option<(ConnectionHandle, Box<Connection>)>,
    /// The settings with which the client will connect. `None` after it has connected.
    connects: Option<ClientConfig>,
    application: Application,
    /// The instant of the start of the run. Its value has no effect, because quinn only uses
    /// differences of instants.
    origin: Instant,
    /// The qlog of the server's connection.
    log: Option<Log>,
    /// Datagrams that the endpoint sends outside of the connection.
    answers: VecDeque<(Vec<u8>, Option<EcnCodepoint>)>,
    ecn: bool,
    burst: usize,
    timers: Timers,
    header: u16,
    /// When the endpoint was first called, and when its transfer ended.
    began: Option<Time>,
    ended: Option<Time>,
    now: Time,
}

/// Generates pseudo-random connection ids. A mixing function computes the ids from a counter that
/// starts at a seed.
struct Ids(u64);

/// Returns the number for this state (SplitMix64).
pub(crate) fn mixed(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl ConnectionIdGenerator for Ids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.0 = self.0.wrapping_add(1);
        ConnectionId::new(&mixed(self.0).to_be_bytes())
    }

    fn cid_len(&self) -> usize {
        CID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

struct FixedDate;

impl TimeSource for FixedDate {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(DATE)
    }
}

impl Quinn {
    pub(crate) fn server(options: &Options) -> Quinn {
        let crypto = QuicServerConfig::try_from(tls::server()).expect("TLS 1.3 with AES-128");
        let token_key = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&[0; 64]);
        let mut config = ServerConfig::new(Arc::new(crypto), Arc::new(token_key));
        let (origin, log) = (Instant::now(), options.qlog.then(|| Log::begun(DATE)));
        let mut transport = options.transport();
        if let Some(log) = &log {
            log.attach(&mut transport, origin);
        }
        config.transport_config(Arc::new(transport));
        config.time_source(Arc::new(FixedDate));
        let application = Application::server();
        Quinn {
            origin,
            log,
            ..Quinn::new(options, 1, Some(Arc::new(config)), None, application)
        }
    }

    pub(crate) fn client(options: &Options, bytes: Option<u64>) -> Quinn {
        let crypto = QuicClientConfig::try_from(tls::client()).expect("TLS 1.3 with AES-128");
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(options.transport()));
        let first = AtomicU64::new(options.seed);
        config.initial_dst_cid_provider(Arc::new(move || {
            let number = mixed(first.fetch_add(1, Ordering::Relaxed));
            ConnectionId::new(&number.to_be_bytes())
        }));
        Quinn::new(options, 2, None, Some(config), Application::client(bytes))
    }

    fn new(
        options: &Options,
        end: u64,
        server: Option<Arc<ServerConfig>>,
        connects: Option<ClientConfig>,
        application: Application,
    ) -> Quinn {
        let seed = mixed(options.seed.wrapping_mul(2).wrapping_add(end));
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_be_bytes());
        let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &bytes)));
        config.rng_seed(Some(bytes));
        config.cid_generator(move || Box::new(Ids(seed)));
        Quinn {
            endpoint: quinn_proto::Endpoint::new(
                Arc::new(config),
                server,
                // Do not allow fragments, so that datagrams that are too long for the path are
                // dropped.
                true,
                None,
            ),
            connection: None,
            connects,
            application,
            origin: Instant::now(),
            log: None,
            answers: VecDeque::new(),
            ecn: options.ecn,
            burst: options.burst.max(1),
            timers: options.timers,
            header: UDP_IPV4 + if options.ipv6 { 20 } else { 0 },
            began: None,
            ended: None,
            now: Time::ZERO,
        }
    }

    /// Returns how many bytes of the stream have arrived here.
    pub fn received_bytes(&self) -> u64 {
        self.application.received()
    }

    /// Returns quinn's own statistics of the connection, if the connection exists.
    pub fn stats(&self) -> Option<quinn_proto::ConnectionStats> {
        Some(self.connection.as_ref()?.1.stats())
    }

    /// If the option `qlog` is set, returns the qlog of the server's connection and empties it.
    pub fn take_qlog(&self) -> Option<Vec<u8>> {
        self.log.as_ref().map(Log::take)
    }

    fn instant(&self, now: Time) -> Instant {
        self.origin + Duration::from_nanos(now.ns())
    }

    fn peer(&self) -> SocketAddr {
        match self.application {
            Application::Server { .. } => CLIENT.into(),
            Application::Client { .. } => SERVER.into(),
        }
    }

    /// Passes events between quinn's endpoint, its connection and the application until none are
    /// left.
    fn settle(&mut self, now: Instant) {
        self.pass_events(now);
        if self.application.is_done() {
            self.ended.get_or_insert(self.now);
        }
    }

    fn pass_events(&mut self, now: Instant) {
        let Some((handle, connection)) = &mut self.connection else {
            return;
        };
        loop {
            let mut idle = true;
            while let Some(event) = connection.poll_endpoint_events() {
                idle = false;
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                idle = false;
                self.application.handle(event, connection);
            }
            if self.application.closes() {
                idle = false;
                connection.close(now, VarInt::from_u32(0), Default::default());
            }
            if idle {
                return;
            }
        }
    }
}

impl Endpoint for Quinn {
    fn wake(&mut self, now: Time) {
        self.now = now;
        self.began.get_or_insert(now);
        let instant = self.instant(now);
        if let Some(config) = self.connects.take() {
            let connected = self
                .endpoint
                .connect(instant, config, SERVER.into(), "sender");
            let (handle, connection) = connected.expect("a first connection");
            self.connection = Some((handle, Box::new(connection)));
        }
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(instant);
        }
        self.settle(instant);
    }

    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        self.now = now;
        let (instant, peer) = (self.instant(now), self.peer());
        let mut answer = Vec::new();
        let codepoint = codepoint(ecn).filter(|_| self.ecn);
        let data = BytesMut::from(datagram);
        match self
            .endpoint
            .handle(instant, peer, None, codepoint, data, &mut answer)
        {
            Some(DatagramEvent::NewConnection(incoming)) => {
                match self.endpoint.accept(incoming, instant, &mut answer, None) {
                    Ok((handle, connection)) => {
                        self.connection = Some((handle, Box::new(connection)));
                    }
                    Err(error) => panic!("the server rejects the client: {}", error.cause),
                }
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                answer.truncate(transmit.size);
                self.answers.push_back((answer, transmit.ecn));
            }
            None => {}
        }
        self.settle(instant);
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((answer, ecn)) = self.answers.pop_front() {
            datagram.extend_from_slice(&answer);
            return Some(Transmit::one(field(ecn.filter(|_| self.ecn))));
        }
        let instant = self.instant(now);
        let (_, connection) = self.connection.as_mut()?;
        let transmit = connection.poll_transmit(instant, self.burst, datagram)?;
        datagram.truncate(transmit.size);
        self.settle(instant);
        Some(Transmit {
            ecn: field(transmit.ecn.filter(|_| self.ecn)),
            segment_size: transmit.segment_size,
        })
    }

    fn next(&mut self) -> Option<Time> {
        let (_, connection) = self.connection.as_mut()?;
        let due = connection.poll_timeout()?;
        let due = Time(due.saturating_duration_since(self.origin).as_nanos() as u64);
        Some(match self.timers {
            Timers::Exact => due,
            Timers::Tokio => {
                let slot = due.ns().div_ceil(MS) * MS;
                let waits = slot.saturating_sub(self.now.ns()).div_ceil(MS) * MS;
                Time(self.now.ns() + waits)
            }
        })
    }

    fn is_done(&self) -> bool {
        self.application.is_done()
    }

    /// Returns the same results that the `quinn` program of the kernel engine writes to its file. A
    /// client reports the rate of the stream: its bytes divided by the time from the start to the
    /// last byte. A server with a qlog reports the number of records that did not fit into the
    /// qlog.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        let Application::Client { got, .. } = self.application else {
            let lost = self.log.as_ref().map(Log::lost);
            return lost
                .map(|lost| ("qlog_records_lost", lost as f64))
                .into_iter()
                .collect();
        };
        let began = self.began.unwrap_or_default();
        let seconds = self.ended.unwrap_or(self.now).since(began).as_secs_f64();
        match seconds > 0.0 {
            true => vec![
                ("goodput_mbit", got as f64 * 8.0 / seconds / 1e6),
                ("seconds", seconds),
            ],
            false => Vec::new(),
        }
    }

    fn take_files(&mut self) -> Vec<(String, Vec<u8>)> {
        let log = self.take_qlog().map(|log| (LOG.to_owned(), log));
        log.into_iter().collect()
    }

    fn header_bytes(&self) -> u16 {
        self.header
    }

    fn state(&self) -> EndpointState {
        let Some((_, connection)) = &self.connection else {
            return EndpointState::default();
        };
        let mtu = f64::from(connection.current_mtu());
        let metrics = connection.congestion_state().metrics();
        EndpointState {
            cwnd: Some(metrics.congestion_window as f64 / mtu),
            // Until the first reduction, quinn's threshold is `u64::MAX`.
            ssthresh: metrics
                .ssthresh
                .filter(|ssthresh| *ssthresh < u64::MAX)
                .map(|ssthresh| ssthresh as f64 / mtu),
            srtt: Some(Time(connection.rtt().as_nanos() as u64)),
            in_flight: None,
        }
    }
}

/// A millisecond, ns.
const MS: u64 = 1_000_000;

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn field(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

//! An endpoint that uses quiche. Its congestion controls are `cubic`, `reno` and `bbr2`, and only
//! `bbr2` is paced. The endpoint does not set ECN, and each system call sends one datagram.
//!
//! The server writes as much as the stream accepts, as quiche's own server does. quiche fills its
//! window to the last byte, even if the last datagram is then small. If this program held back
//! bytes to avoid small datagrams, quiche would treat the connection as application-limited.
//!
//! quiche has no sockets and no timers. In this program, one task sends and receives the datagrams
//! of all connections.

use std::fs::File;
use std::io::{BufWriter, ErrorKind};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use boring::pkey::PKey;
use boring::rand::rand_bytes;
use boring::ssl::{SslContextBuilder, SslMethod};
use boring::x509::X509;
use quiche::{Config, Connection, ConnectionId, Header, MAX_CONN_ID_LEN, PROTOCOL_VERSION, Type};
use quiche::{Error as Quic, RecvInfo};
use tailback_quic::{CHUNK, Failure, IDLE, Options, PROTOCOL, Pieces, WINDOW};
use tailback_quic::{certificate, end_of, run, tell, told_to_end};
use tokio::net::UdpSocket;
use tokio_timerfd::Delay;

/// UDP payload of the largest datagram, in bytes. The value is the same as in quiche's own server
/// and client.
const DATAGRAM: usize = 1350;

/// Id of the client's first stream.
const STREAM: u64 = 0;

/// Time until the next attempt to send if the socket's buffer was full.
const AGAIN: Duration = Duration::from_micros(100);

fn main() -> ExitCode {
    run(&["cubic", "reno", "bbr2"], async |options| {
        if !options.ecn || !options.gso || options.threads > 0 {
            return Err("quiche has no option for ECN, none for GSO and none for threads".into());
        }
        match options.server {
            true => serve(options).await,
            false => fetch(options).await,
        }
    })
}

fn config(options: &Options) -> Result<Config, Failure> {
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    if options.server {
        let (certificate, key) = certificate()?;
        let certificate = X509::from_der(&certificate)?;
        let key = PKey::private_key_from_der(key.secret_der())?;
        tls.set_certificate(&certificate)?;
        tls.set_private_key(&key)?;
    }
    let window = u64::from(WINDOW);
    let mut config = Config::with_boring_ssl_ctx_builder(PROTOCOL_VERSION, tls)?;
    // The server generates a certificate at each start, so the client cannot verify it.
    config.verify_peer(false);
    config.set_application_protos(&[PROTOCOL])?;
    config.set_max_idle_timeout(u64::try_from(IDLE.as_millis())?);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_max_send_udp_payload_size(DATAGRAM);
    config.set_initial_max_data(window);
    config.set_initial_max_stream_data_bidi_local(window);
    config.set_initial_max_stream_data_bidi_remote(window);
    config.set_initial_max_streams_bidi(1);
    config.set_max_connection_window(window);
    config.set_max_stream_window(window);
    config.set_cc_algorithm_name(&options.control)?;
    config.enable_pacing(options.pacing);
    Ok(config)
}

fn any_id() -> Result<[u8; MAX_CONN_ID_LEN], Failure> {
    let mut id = [0; MAX_CONN_ID_LEN];
    rand_bytes(&mut id)?;
    Ok(id)
}

/// A connection, and its next datagram, which may wait for its pacing time.
struct Peer {
    connection: Connection,
    next: Box<[u8; DATAGRAM]>,
    /// Length, send time and destination of the waiting datagram.
    late: Option<(usize, Instant, SocketAddr)>,
}

impl Peer {
    fn new(connection: Connection) -> Peer {
        Peer {
            connection,
            next: Box::new([0; DATAGRAM]),
            late: None,
        }
    }

    fn take(&mut self, datagram: &mut [u8], info: RecvInfo) {
        // quiche drops datagrams of other connections. Ignore errors here, because they are handled
        // when the connection closes.
        let _ = self.connection.recv(datagram, info);
    }

    fn flush(&mut self, socket: &UdpSocket) -> Result<(), Failure> {
        let timeout = self.connection.timeout_instant();
        if timeout.is_some_and(|at| at <= Instant::now()) {
            self.connection.on_timeout();
        }
        loop {
            if let Some((length, at, to)) = self.late {
                // Read the clock again. Without pacing, the send time of a datagram is the time at
                // which quiche made it, which is later than the previous reading.
                let now = Instant::now();
                if at > now {
                    return Ok(());
                }
                match socket.try_send_to(&self.next[..length], to) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        self.late = Some((length, now + AGAIN, to));
                        return Ok(());
                    }
                    sent => sent?,
                };
                self.late = None;
            }
            match self.connection.send(&mut self.next[..]) {
                Ok((length, info)) => self.late = Some((length, info.at, info.to)),
                Err(Quic::Done) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the next time at which this connection must send or handle a timeout.
    fn due(&self) -> Option<Instant> {
        let late = self.late.map(|(_, at, _)| at);
        [late, self.connection.timeout_instant()]
            .into_iter()
            .flatten()
            .min()
    }

    fn end(&mut self, socket: &UdpSocket) -> Result<(), Failure> {
        match self.connection.close(true, 0, b"") {
            Ok(()) | Err(Quic::Done) => self.flush(socket),
            Err(error) => Err(error.into()),
        }
    }
}

/// Waits until a datagram arrives or until this time.
async fn wait(socket: &UdpSocket, timer: &mut Pin<&mut Delay>, until: Option<Instant>) {
    timer
        .as_mut()
        .reset(until.unwrap_or_else(|| Instant::now() + IDLE));
    tokio::select! {
        biased;
        _ = socket.readable() => {}
        _ = timer.as_mut() => {}
    }
}

/// Receives a datagram. Returns its length and sender, or `None` if no datagram is waiting.
fn arrived(socket: &UdpSocket, buffer: &mut [u8]) -> Result<Option<(usize, SocketAddr)>, Failure> {
    match socket.try_recv_from(buffer) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The server's side of one connection.
struct Answer {
    peer: Peer,
    asked: Vec<u8>,
    pieces: Option<Pieces>,
    /// Number of bytes of the current piece that are not written yet.
    piece: usize,
}

impl Answer {
    /// Reads the request, and writes as much of the requested data as the stream accepts.
    fn work(&mut self, zeros: &[u8]) -> Result<(), Failure> {
        if !self.peer.connection.is_established() {
            return Ok(());
        }
        let mut asked = [0; 8];
        while self.asked.len() < asked.len() {
            let room = asked.len() - self.asked.len();
            match self.peer.connection.stream_recv(STREAM, &mut asked[..room]) {
                Ok((length, _)) => self.asked.extend_from_slice(&asked[..length]),
                Err(Quic::Done | Quic::InvalidStreamState(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        asked.copy_from_slice(&self.asked);
        let pieces = self.pieces.get_or_insert_with(|| Pieces::of(asked));
        loop {
            if self.piece == 0 {
                self.piece = pieces.next().unwrap_or(0);
            }
            // After the last piece, end the stream. Ending it again has no effect.
            let end = self.piece == 0;
            let sent = self
                .peer
                .connection
                .stream_send(STREAM, &zeros[..self.piece], end);
            match sent {
                Ok(_) if end => return Ok(()),
                Ok(length) => self.piece -= length,
                Err(Quic::Done | Quic::FinalSize | Quic::InvalidStreamState(_)) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

async fn serve(options: Options) -> Result<(), Failure> {
    let mut config = config(&options)?;
    let socket = UdpSocket::bind(options.address).await?;
    let local = socket.local_addr()?;
    println!("listening");
    let mut clients: Vec<(SocketAddr, Answer)> = Vec::new();
    let (zeros, mut buffer) = (vec![0; CHUNK], vec![0; 1 << 16]);
    let mut known = 0;
    let mut timer = pin!(Delay::new(Instant::now())?);
    let mut told = pin!(told_to_end());
    loop {
        let due = clients.iter().filter_map(|(_, one)| one.peer.due()).min();
        tokio::select! {
            biased;
            () = &mut told => break,
            () = wait(&socket, &mut timer, due) => {}
        }
        while let Some((length, from)) = arrived(&socket, &mut buffer)? {
            let datagram = &mut buffer[..length];
            let info = RecvInfo { from, to: local };
            if let Some((_, one)) = clients.iter_mut().find(|(whose, _)| *whose == from) {
                one.peer.take(datagram, info);
                continue;
            }
            match Header::from_slice(datagram, MAX_CONN_ID_LEN) {
                Ok(header) if header.ty == Type::Initial => {}
                _ => continue,
            }
            let id = any_id()?;
            let id = ConnectionId::from_ref(&id);
            let mut connection = quiche::accept(&id, None, local, from, &mut config)?;
            known += 1;
            if let Some(folder) = &options.qlog {
                std::fs::create_dir_all(folder)?;
                let file = File::create(folder.join(format!("server-{known}.sqlog")))?;
                let writer = Box::new(BufWriter::new(file));
                connection.set_qlog(writer, "quiche".to_owned(), format!("server-{known}"));
            }
            let mut peer = Peer::new(connection);
            peer.take(datagram, info);
            let answer = Answer {
                peer,
                asked: Vec::new(),
                pieces: None,
                piece: 0,
            };
            clients.push((from, answer));
        }
        for (_, one) in &mut clients {
            // A client may disconnect at any time. The server then continues.
            if one.work(&zeros).is_err() {
                one.peer.connection.close(true, 1, b"").ok();
            }
            one.peer.flush(&socket)?;
        }
        clients.retain(|(_, one)| !one.peer.connection.is_closed());
    }
    for (_, one) in &mut clients {
        one.peer.end(&socket)?;
    }
    Ok(())
}

async fn fetch(options: Options) -> Result<(), Failure> {
    let began = Instant::now();
    let mut config = config(&options)?;
    let any = match options.address {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let socket = UdpSocket::bind(any).await?;
    let (local, id) = (socket.local_addr()?, any_id()?);
    let id = ConnectionId::from_ref(&id);
    let connection = quiche::connect(Some("sender"), &id, local, options.address, &mut config)?;
    let mut peer = Peer::new(connection);
    peer.flush(&socket)?;
    let mut buffer = vec![0; CHUNK];
    let mut timer = pin!(Delay::new(Instant::now())?);
    let mut ends = pin!(end_of(&options, began));
    let (mut asked, mut got) = (false, 0);
    let complete = 'all: loop {
        let due = peer.due();
        tokio::select! {
            biased;
            () = &mut ends => break false,
            () = wait(&socket, &mut timer, due) => {}
        }
        while let Some((length, from)) = arrived(&socket, &mut buffer)? {
            peer.take(&mut buffer[..length], RecvInfo { from, to: local });
        }
        if !asked && peer.connection.is_established() {
            let wanted = options.bytes.to_be_bytes();
            asked = peer.connection.stream_send(STREAM, &wanted, true)? == wanted.len();
        }
        while peer.connection.stream_readable(STREAM) {
            match peer.connection.stream_recv(STREAM, &mut buffer) {
                Ok((length, end)) => {
                    got += length as u64;
                    if end {
                        break 'all true;
                    }
                }
                Err(Quic::Done) => break,
                Err(error) => return Err(error.into()),
            }
        }
        peer.flush(&socket)?;
        if peer.connection.is_closed() {
            let why = peer
                .connection
                .local_error()
                .or(peer.connection.peer_error());
            return Err(format!("the connection has ended: {why:?}").into());
        }
    };
    let told = tell(&options, got, began, complete);
    peer.end(&socket)?;
    told
}

//! Implements the applications of the two ends. The client requests a number of bytes over a
//! stream: it writes this number as 8 bytes in big endian. The server sends the requested number of
//! bytes and ends the stream.

use bytes::Bytes;
use quinn_proto::{Connection, Dir, Event, StreamEvent, StreamId, VarInt, WriteError};

/// The application data, which consists of zeros. A write sends at most this many zeros.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The application of one endpoint.
pub(crate) enum Application {
    /// The server, which sends the requested number of bytes.
    Server {
        stream: Option<StreamId>,
        asked: Vec<u8>,
        left: u64,
        done: bool,
    },
    /// The client, which requests bytes.
    Client {
        bytes: u64,
        got: u64,
        done: bool,
        closed: bool,
    },
}

impl Application {
    pub fn server() -> Application {
        Application::Server {
            stream: None,
            asked: Vec::new(),
            left: 0,
            done: false,
        }
    }

    pub fn client(bytes: Option<u64>) -> Application {
        Application::Client {
            bytes: bytes.unwrap_or(u64::MAX),
            got: 0,
            done: false,
            closed: false,
        }
    }

    pub fn is_done(&self) -> bool {
        match self {
            Application::Server { done, .. } | Application::Client { done, .. } => *done,
        }
    }

    /// Returns how many bytes of the stream have arrived.
    pub fn received(&self) -> u64 {
        match self {
            Application::Server { .. } => 0,
            Application::Client { got, .. } => *got,
        }
    }

    /// Returns whether the application must close the connection now.
    pub fn closes(&mut self) -> bool {
        match self {
            Application::Client { done, closed, .. } if *done => !std::mem::replace(closed, true),
            _ => false,
        }
    }

    /// Handles an event of the connection.
    ///
    /// # Panics
    /// If the connection is lost, because the results of the run would then be meaningless.
    pub fn handle(&mut self, event: Event, connection: &mut Connection) {
        match (event, &mut *self) {
            (Event::Connected, Application::Client { bytes, .. }) => {
                let id = connection.streams().open(Dir::Bi).expect("a stream");
                let written = connection.send_stream(id).write(&bytes.to_be_bytes());
                assert_eq!(written, Ok(8), "an empty stream takes 8 bytes");
            }
            (Event::Stream(StreamEvent::Opened { dir }), Application::Server { stream, .. }) => {
                *stream = connection.streams().accept(dir);
                self.read_request(connection);
            }
            (Event::Stream(StreamEvent::Readable { .. }), Application::Server { .. }) => {
                self.read_request(connection);
            }
            (Event::Stream(StreamEvent::Writable { .. }), Application::Server { .. }) => {
                self.write(connection);
            }
            (Event::Stream(StreamEvent::Finished { .. }), Application::Server { done, .. }) => {
                *done = true;
            }
            (Event::Stream(StreamEvent::Readable { id }), Application::Client { .. }) => {
                self.read(id, connection);
            }
            (Event::ConnectionLost { reason }, _) => {
                assert!(
                    self.is_done() || self.is_told(&reason),
                    "the connection is lost: {reason}"
                );
                if let Application::Server { done, .. } = self {
                    *done = true;
                }
            }
            _ => {}
        }
    }

    /// Returns whether this end is the server, and the client has closed the connection because it
    /// has received all data.
    fn is_told(&self, reason: &quinn_proto::ConnectionError) -> bool {
        let closed = matches!(reason, quinn_proto::ConnectionError::ApplicationClosed(close)
            if close.error_code == VarInt::from_u32(0));
        closed && matches!(self, Application::Server { .. })
    }

    fn read_request(&mut self, connection: &mut Connection) {
        let Application::Server {
            stream: Some(id),
            asked,
            left,
            ..
        } = self
        else {
            return;
        };
        let mut stream = connection.recv_stream(*id);
        if let Ok(mut chunks) = stream.read(true) {
            while let Ok(Some(chunk)) = chunks.next(8 - asked.len()) {
                asked.extend_from_slice(&chunk.bytes);
            }
            // `finalize` returns whether to send window updates. The caller always sends them.
            let _ = chunks.finalize();
        }
        if let Ok(bytes) = <[u8; 8]>::try_from(&asked[..]) {
            *left = u64::from_be_bytes(bytes);
            asked.clear();
            self.write(connection);
        }
    }

    fn write(&mut self, connection: &mut Connection) {
        let Application::Server {
            stream: Some(id),
            left,
            ..
        } = self
        else {
            return;
        };
        let mut stream = connection.send_stream(*id);
        while *left > 0 {
            let piece = (ZEROS.len() as u64).min(*left) as usize;
            match stream.write_chunks(&mut [Bytes::from_static(&ZEROS[..piece])]) {
                Ok(written) => *left -= written.bytes as u64,
                Err(WriteError::Blocked) => return,
                // The connection is closing. A later event reports that it was closed.
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => return,
            }
        }
        let _ = stream.finish();
    }

    fn read(&mut self, id: StreamId, connection: &mut Connection) {
        let Application::Client { got, done, .. } = self else {
            return;
        };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(false) else {
            return;
        };
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => *got += chunk.bytes.len() as u64,
                Ok(None) => {
                    *done = true;
                    break;
                }
                Err(_) => break,
            }
        }
        let _ = chunks.finalize();
    }
}

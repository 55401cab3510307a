//! An endpoint that uses quinn, with congestion control `cubic`, `newreno` or `bbr`. quinn always
//! paces.

#[path = "quinn/plain.rs"]
mod plain;

use std::fs::File;
use std::io::BufWriter;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};
use quinn::{QlogConfig, TransportConfig, VarInt};
use rustls::crypto::ring::default_provider;
use tailback_quic::{CHUNK, Failure, IDLE, Options, PROTOCOL, Pieces, WINDOW};
use tailback_quic::{any_certificate, certificate, end_of, run, tell, told_to_end};

use plain::Plain;

fn main() -> ExitCode {
    run(
        &["cubic", "newreno", "bbr"],
        async |options| {
            if !options.pacing {
                return Err("quinn has no option for pacing".into());
            }
            match options.server {
                true => serve(options).await,
                false => fetch(options).await,
            }
        },
    )
}

fn endpoint(
    options: &Options,
    address: SocketAddr,
    server: Option<ServerConfig>,
) -> Result<Endpoint, Failure> {
    let runtime = Arc::new(TokioRuntime);
    let mut socket = runtime.wrap_udp_socket(UdpSocket::bind(address)?)?;
    if !options.ecn {
        socket = Arc::new(Plain(socket));
    }
    let config = EndpointConfig::default();
    let endpoint = Endpoint::new_with_abstract_socket(config, server, socket, runtime)?;
    Ok(endpoint)
}

/// `name` is the file name of the connection's qlog.
fn transport(options: &Options, name: &str) -> Result<Arc<TransportConfig>, Failure> {
    let mut transport = TransportConfig::default();
    match options.control.as_str() {
        "newreno" => transport.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        "bbr" => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        _ => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
    };
    transport
        .enable_segmentation_offload(options.gso)
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW))
        .max_idle_timeout(Some(IDLE.try_into()?));
    if let Some(folder) = &options.qlog {
        transport.qlog_stream(qlog(folder, name)?.into_stream());
    }
    Ok(Arc::new(transport))
}

fn qlog(folder: &Path, name: &str) -> Result<QlogConfig, Failure> {
    std::fs::create_dir_all(folder)?;
    let file = File::create(folder.join(format!("{name}.sqlog")))?;
    let mut config = QlogConfig::default();
    config.writer(Box::new(BufWriter::new(file)));
    Ok(config)
}

async fn serve(options: Options) -> Result<(), Failure> {
    let (certificate, key) = certificate()?;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = endpoint(&options, options.address, Some(config.clone()))?;
    println!("listening");
    let answering = async {
        let number = AtomicU32::new(0);
        while let Some(incoming) = endpoint.accept().await {
            let mut own = config.clone();
            let n = number.fetch_add(1, Ordering::Relaxed) + 1;
            own.transport_config(transport(&options, &format!("server-{n}"))?);
            let Ok(connecting) = incoming.accept_with(Arc::new(own)) else {
                continue;
            };
            // A client may disconnect at any time, so errors of a connection are ignored.
            tokio::spawn(async move { answer(connecting.await?).await });
        }
        Ok(())
    };
    tokio::select! {
        done = answering => done,
        () = told_to_end() => {
            endpoint.close(VarInt::from_u32(0), b"");
            endpoint.wait_idle().await;
            Ok(())
        }
    }
}

async fn answer(connection: quinn::Connection) -> Result<(), Failure> {
    let (mut send, mut receive) = connection.accept_bi().await?;
    let mut asked = [0; 8];
    receive.read_exact(&mut asked).await?;
    let zeros = vec![0; CHUNK];
    for piece in Pieces::of(asked) {
        send.write_all(&zeros[..piece]).await?;
    }
    send.finish()?;
    connection.closed().await;
    Ok(())
}

async fn fetch(options: Options) -> Result<(), Failure> {
    let began = Instant::now();
    let tls = any_certificate(default_provider())?;
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport(&options, "client")?);
    let any = match options.address {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let mut endpoint = endpoint(&options, any.parse()?, None)?;
    endpoint.set_default_client_config(config);
    let connection = endpoint.connect(options.address, "sender")?.await?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&options.bytes.to_be_bytes()).await?;
    let ends = end_of(&options, began);
    tokio::pin!(ends);
    let mut got = 0;
    let complete = loop {
        tokio::select! {
            chunk = receive.read_chunk(CHUNK, false) => match chunk? {
                Some(chunk) => got += chunk.bytes.len() as u64,
                None => break true,
            },
            () = &mut ends => break false,
        }
    };
    let told = tell(&options, got, began, complete);
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    told
}

//! An endpoint that uses s2n-quic, with congestion control `cubic` or `bbr`. s2n-quic always paces,
//! and has no options for ECN and qlog.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Instant;

use bytes::Bytes;
use rustls::crypto::aws_lc_rs::default_provider;
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic};
use s2n_quic::provider::io::tokio::{Builder, Provider};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as provider;
use s2n_quic::{Client, Connection, Server};
use tailback_quic::{CHUNK, Failure, IDLE, Options, PROTOCOL, Pieces, WINDOW};
use tailback_quic::{any_certificate, certificate, end_of, run, tell, told_to_end};

fn main() -> ExitCode {
    run(&["cubic", "bbr"], async |options| {
        if !options.ecn || !options.pacing || options.qlog.is_some() {
            return Err("s2n-quic has no option for ECN, none for pacing and none for qlog".into());
        }
        match options.server {
            true => serve(options).await,
            false => fetch(options).await,
        }
    })
}

fn io(options: &Options, address: SocketAddr) -> Result<Provider, Failure> {
    let builder = Builder::default().with_receive_address(address)?;
    Ok(builder.with_gso(options.gso)?.build()?)
}

fn limits() -> Result<Limits, Failure> {
    let window = u64::from(WINDOW);
    Ok(Limits::new()
        .with_data_window(window)?
        .with_bidirectional_local_data_window(window)?
        .with_bidirectional_remote_data_window(window)?
        .with_max_idle_timeout(IDLE)?)
}

async fn serve(options: Options) -> Result<(), Failure> {
    let (certificate, key) = certificate()?;
    let tls = provider::Server::builder()
        .with_certificate(certificate.as_ref(), key.secret_der())?
        .with_application_protocols([PROTOCOL].iter())?
        .build()?;
    let builder = Server::builder()
        .with_tls(tls)?
        .with_io(io(&options, options.address)?)?
        .with_limits(limits()?)?;
    let mut server = match options.control.as_str() {
        "bbr" => builder
            .with_congestion_controller(Bbr::default())?
            .start()?,
        _ => builder
            .with_congestion_controller(Cubic::default())?
            .start()?,
    };
    println!("listening");
    let answering = async {
        while let Some(connection) = server.accept().await {
            // A client may disconnect at any time, so errors of a connection are ignored.
            tokio::spawn(answer(connection));
        }
    };
    tokio::select! {
        () = answering => {}
        () = told_to_end() => {}
    }
    Ok(())
}

async fn answer(mut connection: Connection) -> Result<(), Failure> {
    let Some(mut stream) = connection.accept_bidirectional_stream().await? else {
        return Ok(());
    };
    let mut asked = Vec::new();
    while asked.len() < 8 {
        let Some(data) = stream.receive().await? else {
            return Ok(());
        };
        asked.extend_from_slice(&data);
    }
    let asked = asked[..8].try_into()?;
    // `Bytes` are shared between writes, not copied.
    let zeros = Bytes::from(vec![0; CHUNK]);
    for piece in Pieces::of(asked) {
        stream.send(zeros.slice(..piece)).await?;
    }
    stream.close().await?;
    Ok(())
}

async fn fetch(options: Options) -> Result<(), Failure> {
    let began = Instant::now();
    let any = match options.address {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let tls = provider::Client::from(any_certificate(default_provider())?);
    let mut client = Client::builder()
        .with_tls(tls)?
        .with_io(io(&options, any.parse()?)?)?
        .with_limits(limits()?)?
        .start()?;
    let connect = Connect::new(options.address).with_server_name("sender");
    let mut connection = client.connect(connect).await?;
    let (mut receive, mut send) = connection.open_bidirectional_stream().await?.split();
    send.send(options.bytes.to_be_bytes().to_vec().into())
        .await?;
    let ends = end_of(&options, began);
    tokio::pin!(ends);
    let mut got = 0;
    let complete = loop {
        tokio::select! {
            data = receive.receive() => match data? {
                Some(data) => got += data.len() as u64,
                None => break true,
            },
            () = &mut ends => break false,
        }
    };
    let told = tell(&options, got, began, complete);
    connection.close(0_u32.into());
    // Without this wait, the server would not receive the close of the connection, and would send
    // probes that are never answered.
    client.wait_idle().await?;
    told
}

//! Makes TLS deterministic for both endpoints. It has fixed keys, a fixed certificate, and a
//! constant instead of random bytes. The handshake and the encryption of packets are real.
//!
//! The keys are not secret, so do not use this module outside of a simulation.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup, WebPkiSupportedAlgorithms, ring, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, NamedGroup, ServerConfig, SignatureScheme,
};
use x25519_dalek::{PublicKey, StaticSecret};

/// The application protocol that both ends announce.
const PROTOCOL: &[u8] = b"tailback";

/// A certificate for "sender" with an Ed25519 key. Signatures with such a key need no random
/// numbers.
const CERTIFICATE: &[u8] = include_bytes!("../keys/certificate.der");
const KEY: &[u8] = include_bytes!("../keys/key.der");

/// The value of every "random" byte.
const BYTE: u8 = 0x7b;

#[derive(Debug)]
struct Constant;

impl SecureRandom for Constant {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), GetRandomFailed> {
        buffer.fill(BYTE);
        Ok(())
    }
}

/// The key exchange X25519, in which both ends have the same key.
#[derive(Debug)]
struct Fixed;

struct Exchange {
    secret: StaticSecret,
    public: PublicKey,
}

impl SupportedKxGroup for Fixed {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = StaticSecret::from([BYTE; 32]);
        let public = PublicKey::from(&secret);
        Ok(Box::new(Exchange { secret, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer: [u8; 32] = (peer.try_into())
            .map_err(|_| Error::General("a key of X25519 has 32 bytes".to_owned()))?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        Ok(SharedSecret::from(&shared.as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        kx_groups: vec![&Fixed],
        secure_random: &Constant,
        ..ring::default_provider()
    })
}

/// Accepts a certificate with any date and chain, but checks the signature of the handshake.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// Returns the TLS settings of a server.
pub(crate) fn server() -> ServerConfig {
    let key = PrivatePkcs8KeyDer::from(KEY);
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![CERTIFICATE.into()], key.into())
        .expect("key and certificate belong together");
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.max_early_data_size = u32::MAX;
    config
}

/// Returns the TLS settings of a client.
pub(crate) fn client() -> ClientConfig {
    let provider = provider();
    let verifier = AnyCertificate(provider.signature_verification_algorithms);
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config
}

//! Provides cryptography for str0m that does not encrypt. Packets have the same lengths as with
//! SRTP.
//!
//! The handshake of DTLS is one datagram in each direction. In a real handshake, signatures have
//! random lengths, so runs would differ.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::crypto::dtls::{
    DtlsCert, DtlsImplError, DtlsInstance, DtlsOutput, DtlsProvider, DtlsVersion, KeyingMaterial,
    ProtocolVersion, SrtpProfile,
};
use str0m::crypto::{
    AeadAes128GcmCipher, AeadAes256GcmCipher, Aes128CmSha1_80Cipher, CryptoError, CryptoProvider,
    Sha1HmacProvider, Sha1Provider, Sha256Provider, SrtpProvider, SupportedAeadAes128Gcm,
    SupportedAeadAes256Gcm, SupportedAes128CmSha1_80,
};

/// The handshake datagram. Its first byte is the DTLS content type `handshake`.
const HELLO: [u8; 200] = {
    let mut hello = [0; 200];
    hello[0] = 22;
    hello
};
/// How long the client waits for an answer before it sends the datagram again, as RFC 6347
/// recommends.
const RETRY: Duration = Duration::from_secs(1);
/// The timeout to report if the handshake does not need one.
const NEVER: Duration = Duration::from_secs(1 << 30);
/// Bytes of the keys and salts of both directions.
const KEYING_BYTES: usize = 2 * (16 + 14);

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        srtp_provider: &Plain,
        sha1_hmac_provider: &Plain,
        sha1_provider: &Plain,
        sha256_provider: &Plain,
        dtls_provider: &Plain,
    })
}

/// Returns the certificate of both ends. Neither end checks it.
pub(crate) fn certificate() -> DtlsCert {
    DtlsCert {
        certificate: vec![0],
        private_key: vec![0],
    }
}

/// The SRTP cipher (none) and the hash functions.
#[derive(Debug)]
struct Plain;

impl SrtpProvider for Plain {
    fn aes_128_cm_sha1_80(&self) -> &'static dyn SupportedAes128CmSha1_80 {
        &Plain
    }

    fn aead_aes_128_gcm(&self) -> &'static dyn SupportedAeadAes128Gcm {
        &Plain
    }

    fn aead_aes_256_gcm(&self) -> &'static dyn SupportedAeadAes256Gcm {
        &Plain
    }

    fn srtp_aes_128_ecb_round(&self, _: &[u8], _: &[u8], _: &mut [u8]) {}

    fn srtp_aes_256_ecb_round(&self, _: &[u8], _: &[u8], _: &mut [u8]) {}
}

impl Sha1HmacProvider for Plain {
    fn sha1_hmac(&self, _: &[u8], _: &[&[u8]]) -> [u8; 20] {
        [0; 20]
    }
}

impl Sha1Provider for Plain {
    fn sha1(&self, _: &[u8]) -> [u8; 20] {
        [0; 20]
    }
}

impl Sha256Provider for Plain {
    fn sha256(&self, _: &[u8]) -> [u8; 32] {
        [0; 32]
    }
}

impl SupportedAes128CmSha1_80 for Plain {
    fn create_cipher(&self, _: [u8; 16], _: bool) -> Box<dyn Aes128CmSha1_80Cipher> {
        Box::new(Plain)
    }
}

impl Aes128CmSha1_80Cipher for Plain {
    fn encrypt(
        &mut self,
        _: &[u8; 16],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), CryptoError> {
        output[..input.len()].copy_from_slice(input);
        Ok(())
    }

    fn decrypt(
        &mut self,
        iv: &[u8; 16],
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), CryptoError> {
        self.encrypt(iv, input, output)
    }
}

/// Panic message of the AEAD ciphers, which are not implemented.
const UNUSED: &str = "the handshake chooses AES-128 in counter mode";

impl SupportedAeadAes128Gcm for Plain {
    fn create_cipher(&self, _: [u8; 16], _: bool) -> Box<dyn AeadAes128GcmCipher> {
        unreachable!("{UNUSED}")
    }
}

impl SupportedAeadAes256Gcm for Plain {
    fn create_cipher(&self, _: [u8; 32], _: bool) -> Box<dyn AeadAes256GcmCipher> {
        unreachable!("{UNUSED}")
    }
}

impl DtlsProvider for Plain {
    fn generate_certificate(&self) -> Option<DtlsCert> {
        Some(certificate())
    }

    fn new_dtls(
        &self,
        _: &DtlsCert,
        now: Instant,
        _: DtlsVersion,
        _: Option<usize>,
    ) -> Result<Box<dyn DtlsInstance>, CryptoError> {
        Ok(Box::new(Handshake {
            now,
            active: false,
            sends: false,
            retry: None,
            outputs: VecDeque::new(),
        }))
    }
}

/// A handshake of one datagram in each direction. The client repeats its datagram until the answer
/// arrives.
#[derive(Debug)]
struct Handshake {
    now: Instant,
    active: bool,
    /// Whether a datagram is waiting to be sent.
    sends: bool,
    /// When the client sends its datagram again.
    retry: Option<Instant>,
    /// Outputs to return once the peer's datagram has arrived.
    outputs: VecDeque<Step>,
}

#[derive(Debug)]
enum Step {
    Keys,
    Connected,
}

impl DtlsInstance for Handshake {
    fn set_active(&mut self, active: bool) {
        self.active = active;
        self.sends = active;
    }

    fn handle_packet(&mut self, packet: &[u8]) -> Result<(), DtlsImplError> {
        // str0m starts the client with an empty packet.
        if packet.is_empty() {
            return Ok(());
        }
        self.retry = None;
        self.sends = !self.active;
        self.outputs = [Step::Keys, Step::Connected].into();
        Ok(())
    }

    fn poll_output<'a>(&mut self, buf: &'a mut [u8]) -> DtlsOutput<'a> {
        if std::mem::take(&mut self.sends) {
            if self.active {
                self.retry = Some(self.now + RETRY);
            }
            let packet = &mut buf[..HELLO.len()];
            packet.copy_from_slice(&HELLO);
            return DtlsOutput::Packet(packet);
        }
        match self.outputs.pop_front() {
            Some(Step::Keys) => {
                let keying = KeyingMaterial::new(&[0; KEYING_BYTES]);
                DtlsOutput::KeyingMaterial(keying, SrtpProfile::AES128_CM_SHA1_80)
            }
            Some(Step::Connected) => DtlsOutput::Connected,
            None => DtlsOutput::Timeout(self.retry.unwrap_or(self.now + NEVER)),
        }
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), DtlsImplError> {
        self.now = now;
        if self.retry.is_some_and(|retry| retry <= now) {
            self.retry = None;
            self.sends = true;
        }
        Ok(())
    }

    fn send_application_data(&mut self, data: &[u8]) -> Result<usize, DtlsImplError> {
        Ok(data.len())
    }

    fn is_active(&self) -> bool {
        self.active
    }

    fn protocol_version(&self) -> Option<ProtocolVersion> {
        None
    }

    fn close(&mut self) -> Result<(), DtlsImplError> {
        Ok(())
    }
}

//! ECN in the sender. This module sets the ECN field and the flags of packets, and reads the echo
//! in ACKs (RFC 3168, RFC 9768; Linux `tcp_ecn.h`).

use super::accecn::{self, Answer, Delivered, Sending};
use crate::cc::EcnNeed;
use crate::packet::{Ecn, Packet, flags};
use crate::plan::EcnFeedback;

/// The echoes that an ACK carries in its flags: ECN-Echo, and the echo of SCE marks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo {
    pub ece: bool,
    pub esce: bool,
}

/// The kind of ECN that was negotiated, and the flags to send.
#[derive(Clone, Debug)]
pub(super) struct EcnSender {
    on: bool,
    /// Whether retransmissions and SYNs are also ECN-capable, as with Accurate ECN and with
    /// congestion controls that require ECN.
    always: bool,
    ect: Ecn,
    asks_accurate: bool,
    /// Whether the congestion control needs more feedback than ECN of RFC 3168 gives.
    needs_accurate: bool,
    /// The state of Accurate ECN. `None` if Accurate ECN is not negotiated.
    accurate: Option<Box<Sending>>,
    /// Whether the next new data segment carries CWR.
    queue_cwr: bool,
}

impl EcnSender {
    pub fn new(wanted: bool, need: EcnNeed, feedback: EcnFeedback) -> EcnSender {
        let needs_accurate = need == EcnNeed::Accurate;
        let asks_accurate = wanted && (needs_accurate || feedback == EcnFeedback::AccEcn);
        EcnSender {
            on: wanted && (asks_accurate || feedback != EcnFeedback::None),
            always: wanted && matches!(need, EcnNeed::Dctcp(_) | EcnNeed::Accurate),
            ect: if needs_accurate { Ecn::Ect1 } else { Ecn::Ect0 },
            asks_accurate,
            needs_accurate,
            accurate: None,
            queue_cwr: false,
        }
    }

    /// Sets the ECN field and flags of a SYN. According to RFC 3168 section 6.1.1, a SYN is not
    /// ECN-capable. Linux makes an exception for congestion controls that need ECN.
    pub fn on_syn(&self, syn: &mut Packet) {
        self.on_repeated(syn);
        if self.asks_accurate {
            syn.flags |= accecn::REQUEST;
        }
    }

    /// Records that this end has accepted Accurate ECN. `third` is the third and last packet of the
    /// handshake. This packet reports with which ECN field the SYN-ACK arrived. The SYN-ACK was
    /// sent as Not-ECT (Linux `tcp_accecn_third_ack`). If the path has cleared the report, ECN is
    /// turned off. With `fallback`, ECN is also turned off if the report contains a field that a
    /// queue cannot have set. Returns the number of marked packets that have arrived.
    pub fn grant(&mut self, third: &Packet, fallback: bool) -> u64 {
        self.accurate = Some(Box::default());
        self.always = true;
        let pure = third.payload == 0;
        let valid = match accecn::ace(third.flags) {
            0 => false,
            // The packet carries data, or its ACE field has no meaning. So the packet does not
            // report an ECN field.
            1 | 5 | 7 => return 0,
            _ if !pure => return 0,
            2 => return 0,
            _ => !fallback,
        };
        if !valid {
            (self.on, self.always) = (false, false);
        }
        u64::from(valid && accecn::ace(third.flags) == 6)
    }

    /// Processes the SYN-ACK's answer to the request for Accurate ECN (Linux `tcp_ecn_rcv_synack`).
    /// Returns the number of marked segments that have arrived. Returns `None` if the congestion
    /// control needs Accurate ECN and the other end does not support it.
    pub fn negotiate(&mut self, syn_ack: &Packet) -> Option<u64> {
        if !self.asks_accurate {
            return Some(0);
        }
        match accecn::answer(syn_ack.flags) {
            Answer::AccEcn { syn_ce } => {
                self.accurate = Some(Box::default());
                self.always = true;
                return Some(u64::from(syn_ce));
            }
            Answer::Rfc3168 if !self.needs_accurate => {}
            Answer::Rfc3168 | Answer::None => {
                self.on = false;
                self.always = false;
            }
        }
        (!self.needs_accurate).then_some(0)
    }

    #[inline]
    pub fn on_new(&mut self, packet: &mut Packet) {
        if self.on {
            packet.ecn = self.ect;
            if std::mem::take(&mut self.queue_cwr) {
                packet.flags |= flags::CWR;
            }
        }
    }

    /// Sets the ECN field of a retransmission. According to RFC 3168 section 6.1.5, a
    /// retransmission is not ECN-capable.
    pub fn on_repeated(&self, packet: &mut Packet) {
        if self.always {
            packet.ecn = self.ect;
        }
    }

    /// Records that a reduction begins. The next data segment then carries CWR, except with
    /// Accurate ECN.
    pub fn begin_cwr(&mut self) {
        self.queue_cwr = self.on && self.accurate.is_none();
    }

    /// Records that a reduction was undone, so that CWR is not sent.
    pub fn withdraw_cwr(&mut self) {
        self.queue_cwr = false;
    }

    #[inline]
    pub fn is_accurate(&self) -> bool {
        self.accurate.is_some()
    }

    /// Reads the echo in an ACK. Accurate ECN has no echo, because it uses the same flags as a
    /// counter.
    #[inline]
    pub fn echo(&self, ack: &Packet) -> Echo {
        let bits = self.on && self.accurate.is_none();
        Echo {
            ece: bits && ack.has(flags::ECE),
            esce: bits && ack.has(flags::ESCE),
        }
    }

    /// With Accurate ECN, returns how many segments an ACK newly reports as marked. The sender has
    /// already counted `counted` segments as marked. `delivered` describes the segments that the
    /// ACK delivers.
    #[inline]
    pub fn marked(
        &mut self,
        ack: &Packet,
        delivered: Delivered,
        counted: u64,
        mss: u16,
    ) -> Option<u32> {
        let accurate = self.accurate.as_mut()?;
        Some(accurate.process(ack, delivered, counted, mss))
    }

    /// With Accurate ECN, returns how many bytes arrived at the other end with ECT(1), CE and
    /// ECT(0), as that end has reported.
    pub fn arrived(&self) -> Option<[u32; 3]> {
        self.accurate.as_ref().map(|accurate| accurate.bytes)
    }
}

//! This impairment models how the ingress and the egress of a tunnel set the ECN field (RFC 6040).
//! Inside the tunnel, each packet has an additional outer header, with its own ECN field.
//!
//! Use this impairment twice: add the impairment to the last link before the tunnel, with
//! `end = "ingress"`, and to the last link of the tunnel, with `end = "egress"`. Queues between the
//! ingress and the egress read and mark the outer header. The mode `full-functionality` is from RFC
//! 3168 section 9.1.
//!
//! | mode | ingress: outer header | egress |
//! |---|---|---|
//! | `normal` | ECN field of the packet (RFC 6040 section 4.1) | RFC 6040 section 4.2 |
//! | `compatibility` | Not-ECT (RFC 6040 section 4.1) | RFC 6040 section 4.2 |
//! | `full-functionality` | ECN field of the packet; ECT(0) replaces CE | copies only CE to the inner header |
//!
//! Deviations: tunnels cannot be nested. A second ingress does not change a packet that is already
//! in a tunnel. An egress does not change a packet without an outer header. The outer headers of
//! this model add no bytes to packets. To add the bytes of an outer header, set the link's
//! `overhead`.

use tailback_record::Cause;

use super::options::{no_time, passes_all};
use super::{Build, Fate, Impairment, Way};
use crate::packet::{Ecn, Packet};
use crate::registry::kernel::{Kernel, Refused};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, no_finish};

const INGRESS: &str = "ingress";
const NORMAL: &str = "normal";
const COMPATIBILITY: &str = "compatibility";
const FULL: &str = "full-functionality";

pub const ENTRY: Entry<Build> = Entry {
    name: "tunnel",
    doc: "Models the ingress or the egress of a tunnel. The ingress adds an outer header with an \
     ECN field; the egress removes the outer header and merges the two ECN fields.",
    follows: "RFC 6040 section 4; RFC 3168 section 9.1 (full-functionality)",
    options: &[
        Opt {
            name: "end",
            doc: "\"ingress\": adds an outer header to packets; \"egress\": removes the outer \
             header.",
            kind: Kind::Word(&[INGRESS, "egress"]),
            default: Some(INGRESS),
            tc: None,
        },
        Opt {
            name: "mode",
            doc: "How the ingress and the egress of the tunnel set the ECN fields. \"normal\" and \"compatibility\": modes of RFC 6040, which differ at the ingress. \"full-functionality\": the mode of RFC 3168.",
            kind: Kind::Word(&[NORMAL, COMPATIBILITY, FULL]),
            default: Some(NORMAL),
            tc: None,
        },
    ],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        make: |options, _| {
            let full = options.word("mode") == FULL;
            Box::new(match options.word("end") {
                INGRESS if full => Tunnel::Ingress(|inner| match inner {
                    Ecn::Ce => Ecn::Ect0,
                    inner => inner,
                }),
                INGRESS if options.word("mode") == COMPATIBILITY => {
                    Tunnel::Ingress(|_| Ecn::NotEct)
                }
                INGRESS => Tunnel::Ingress(|inner| inner),
                _ if full => Tunnel::Egress(decapsulate_full),
                _ => Tunnel::Egress(decapsulate),
            })
        },
        netem: |_| {
            Err(Refused::new(
                "kind",
                "netem does not change the ECN field",
                "--engine sim",
            ))
        },
        longest: no_time,
        long_run: passes_all,
        copies: false,
    },
};

/// Computes the ECN field of a packet that leaves a tunnel, from the ECN fields of the inner and
/// the outer header. `None` means that the packet is dropped.
type Combine = fn(Ecn, Ecn) -> Option<Ecn>;

/// One end of a tunnel, with the function that computes the ECN field at this end.
enum Tunnel {
    /// Computes the ECN field of the outer header from the ECN field of the packet.
    Ingress(fn(Ecn) -> Ecn),
    Egress(Combine),
}

/// Combines the inner and the outer field as in RFC 6040 section 4.2, figure 4.
fn decapsulate(inner: Ecn, outer: Ecn) -> Option<Ecn> {
    match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => None,
        (Ecn::NotEct, _) => Some(Ecn::NotEct),
        (Ecn::Ce, _) | (_, Ecn::Ce) => Some(Ecn::Ce),
        (Ecn::Ect0, Ecn::Ect1) => Some(Ecn::Ect1),
        (inner, _) => Some(inner),
    }
}

/// Combines the inner and the outer field as in RFC 3168 section 9.1.1.
fn decapsulate_full(inner: Ecn, outer: Ecn) -> Option<Ecn> {
    match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => None,
        (Ecn::NotEct, _) => Some(Ecn::NotEct),
        (_, Ecn::Ce) => Some(Ecn::Ce),
        (inner, _) => Some(inner),
    }
}

impl Impairment for Tunnel {
    fn meet(&mut self, packet: &mut Packet, _: &mut Way) -> Fate {
        match (self, packet.inner_ecn()) {
            (Tunnel::Ingress(outer), None) => {
                let inner = packet.ecn;
                packet.set_inner_ecn(Some(inner));
                packet.ecn = outer(inner);
            }
            (Tunnel::Egress(combine), Some(inner)) => {
                let outer = packet.ecn;
                packet.set_inner_ecn(None);
                packet.ecn = inner;
                match combine(inner, outer) {
                    Some(ecn) => packet.ecn = ecn,
                    None => return Fate::Lost(Cause::Middlebox),
                }
            }
            (Tunnel::Ingress(_), Some(_)) | (Tunnel::Egress(_), None) => {}
        }
        Fate::Goes
    }
}

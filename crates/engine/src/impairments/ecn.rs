//! This impairment models middleboxes that do not support ECN correctly. These middleboxes clear
//! the ECN field, remove marks, or drop packets that are ECN-capable.

use tailback_record::Cause;

use super::options::no_time;
use super::{Build, Fate, Impairment, LongRun, Way};
use crate::packet::{Ecn, Packet};
use crate::registry::kernel::{Kernel, Refused};
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, Options, no_finish};

#[derive(Clone, Copy)]
enum Middlebox {
    Bleaches,
    Hides,
    Drops,
}

const BLEACH: &str = "bleach";
const HIDE: &str = "hide";
const DROP: &str = "drop";

pub const ENTRY: Entry<Build> = Entry {
    name: "ecn",
    doc: "Models a middlebox that does not support ECN. The middlebox clears the ECN field, \
        removes marks, or drops ECN-capable packets.",
    follows: "RFC 3168 section 18",
    options: &[Opt {
        name: "action",
        doc: "\"bleach\": every packet becomes Not-ECT; \"hide\": CE becomes ECT(0); \"drop\": packets with ECT or CE are lost.",
        kind: Kind::Word(&[BLEACH, HIDE, DROP]),
        default: Some(BLEACH),
        tc: None,
    }],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish: no_finish,
    build: Build {
        make: |options, _| Box::new(Middlebox::of(options)),
        netem: |_| {
            Err(Refused::new(
                "kind",
                "netem does not change the ECN field",
                "--engine sim",
            ))
        },
        longest: no_time,
        long_run: |options, ecn| match options.word("action") {
            DROP if ecn => LongRun::losing(1.0),
            _ => LongRun::default(),
        },
        copies: false,
    },
};

impl Middlebox {
    fn of(options: &Options) -> Middlebox {
        match options.word("action") {
            BLEACH => Middlebox::Bleaches,
            HIDE => Middlebox::Hides,
            _ => Middlebox::Drops,
        }
    }
}

impl Impairment for Middlebox {
    fn changeable(&self) -> &'static [&'static str] {
        &["action"]
    }

    fn change(&mut self, options: &Options) {
        *self = Middlebox::of(options);
    }

    fn meet(&mut self, packet: &mut Packet, _: &mut Way) -> Fate {
        match self {
            Middlebox::Bleaches => packet.ecn = Ecn::NotEct,
            Middlebox::Hides if packet.ecn == Ecn::Ce => packet.ecn = Ecn::Ect0,
            Middlebox::Drops if packet.ecn.is_capable() => {
                return Fate::Lost(Cause::Middlebox);
            }
            Middlebox::Hides | Middlebox::Drops => {}
        }
        Fate::Goes
    }
}

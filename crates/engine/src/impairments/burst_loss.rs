//! Packets are lost in bursts, according to the Gilbert-Elliott model, as in Linux `sch_netem`.
//!
//! In this model, a channel is either good or bad. At each packet, a good channel becomes bad with
//! probability `p`, and a bad channel becomes good with probability `r`. A packet that arrives in
//! the good state is lost with probability `good_loss`. In the bad state, the probability of loss
//! is `bad_loss`.
//!
//! Gilbert's simpler model loses every packet in the bad state and none in the good state.
//! Gilbert's model has two parameters: the mean loss, and the mean length of a burst in packets. On
//! average, `burst` packets arrive before a bad channel becomes good, so `r = 1/burst`. A share
//! `loss` of the packets arrives in the bad state, so `p = r * loss / (1 - loss)`.
//!
//! Deviations: `during` can limit the impairment to intervals of time. In the simulator, the
//! channel keeps its state between two intervals of `during`. On the kernel engine, the channel is
//! good at the start of each interval.

use tailback_record::Cause;

use super::options::{all_of, error, float, no_time, percent, share};
use super::{Build, Fate, Impairment, LongRun, Netem, Way};
use crate::packet::Packet;
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options};
use crate::rng::Stream;

pub const ENTRY: Entry<Build> = Entry {
    name: "burst_loss",
    doc: "Loses packets in bursts (Gilbert-Elliott model). Set either `loss` and `burst`, or the model's four parameters.",
    follows: "Linux sch_netem, loss gemodel",
    options: &[
        share(
            "loss",
            "Mean share of packets lost; used together with `burst`. Default: 0.01 unless `p` is set.",
            None,
        ),
        Opt {
            name: "burst",
            doc: "Mean number of packets lost in a row. Default: 4 unless `p` is set.",
            kind: Kind::Float { min: 1.0, max: 1e6 },
            default: None,
            tc: None,
        },
        share(
            "p",
            "Probability, at each packet, that a good channel turns bad; replaces `loss` and `burst`.",
            None,
        ),
        share(
            "r",
            "Probability, at each packet, that a bad channel turns good; used together with `p`. Default: 1 - p.",
            None,
        ),
        share(
            "bad_loss",
            "Probability of loss in the bad state (netem's 1-h).",
            Some("1"),
        ),
        share(
            "good_loss",
            "Probability of loss in the good state (netem's 1-k).",
            Some("0"),
        ),
    ],
    kernel: Kernel::Agent,
    rules: Rules::NONE,
    finish,
    build: Build {
        make: |options, stream| Box::new(BurstLoss::new(options, stream)),
        netem: |options| {
            let Chain { p, r, bad, good } = Chain::of(options);
            let words = [p, r, bad, good].map(percent).join(" ");
            Ok(Netem::losing(format!("loss gemodel {words}")))
        },
        longest: no_time,
        long_run: |options, _| Chain::of(options).long_run(),
        copies: false,
    },
};

/// The Gilbert-Elliott parameters, computed from the options of either model.
#[derive(Clone, Copy)]
struct Chain {
    p: f64,
    r: f64,
    bad: f64,
    good: f64,
}

impl Chain {
    fn of(options: &Options) -> Chain {
        let (bad, good) = (options.float("bad_loss"), options.float("good_loss"));
        if let Some(p) = float(options, "p") {
            let r = float(options, "r").unwrap_or(1.0 - p);
            return Chain { p, r, bad, good };
        }
        let loss = float(options, "loss").unwrap_or(0.01);
        let r = 1.0 / float(options, "burst").unwrap_or(4.0);
        // If the loss is 1, the formula for `p` would divide by 0. With a loss of 1, the channel
        // becomes bad at the first packet and stays bad.
        if loss >= 1.0 {
            let (p, r) = (1.0, 0.0);
            return Chain {
                p,
                r,
                bad,
                good: 1.0,
            };
        }
        let p = r * loss / (1.0 - loss);
        Chain { p, r, bad, good }
    }

    /// Returns the loss averaged over the good and the bad state. The channel alternates between
    /// the good state, for `1 / p` packets on average, and the bad state, for `1 / r` packets.
    fn long_run(self) -> LongRun {
        let Chain { p, r, bad, good } = self;
        let in_bad = if p > 0.0 { p / (p + r) } else { 0.0 };
        let in_good = 1.0 - in_bad;
        // A period in the bad state counts as one burst, if packets are lost in it.
        let begins = if bad > 0.0 { in_good * p } else { 0.0 };
        let lost = in_bad * bad + in_good * good;
        LongRun {
            lost,
            bursts: (begins + in_good * good).min(lost),
            ..LongRun::default()
        }
    }
}

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let given = |name| float(options, name).is_some();
    let means = ["loss", "burst"].into_iter().filter(|name| given(name));
    if given("p") {
        let message = |name| format!("`{name}` does not go with `p`; remove one of them");
        return all_of(means.map(|name| error(name, &message(name))).collect());
    }
    let mut errors = Vec::new();
    if given("r") {
        errors.push(error(
            "r",
            "`r` needs `p`; set it too, or set `loss` and `burst` instead",
        ));
    }
    if options.float("bad_loss") < 1.0 || options.float("good_loss") > 0.0 {
        let message = "a mean loss needs a bad state that loses every packet and a good one that loses none; set `p` and `r` instead";
        errors.extend(means.map(|name| error(name, message)));
    } else if Chain::of(options).p > 1.0 {
        errors.push(error(
            "loss",
            "bursts of this length cannot reach this loss; set at most burst / (burst + 1)",
        ));
    }
    all_of(errors)
}

struct BurstLoss {
    chain: Chain,
    is_bad: bool,
    stream: Stream,
}

impl BurstLoss {
    fn new(options: &Options, stream: Stream) -> BurstLoss {
        BurstLoss {
            chain: Chain::of(options),
            is_bad: false,
            stream,
        }
    }
}

impl Impairment for BurstLoss {
    fn changeable(&self) -> &'static [&'static str] {
        &["loss", "burst", "p", "r", "bad_loss", "good_loss"]
    }

    fn change(&mut self, options: &Options) {
        self.chain = Chain::of(options);
    }

    fn meet(&mut self, _: &mut Packet, _: &mut Way) -> Fate {
        let Chain { p, r, bad, good } = self.chain;
        let (turns, loss) = if self.is_bad { (r, bad) } else { (p, good) };
        self.is_bad ^= self.stream.chance(turns);
        if self.stream.chance(loss) {
            Fate::Lost(Cause::Loss)
        } else {
            Fate::Goes
        }
    }
}

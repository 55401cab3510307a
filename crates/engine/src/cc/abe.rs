//! The reduction factors of Reno and CUBIC. With ABE (RFC 8511), a separate factor applies to
//! ECN-Echo.
//!
//! If only `beta_ecn` is set (`abe = "linux"`), the sender responds to ECN-Echo as in Linux, but
//! multiplies cwnd by `beta_ecn`. As in Linux, the sender computes ssthresh from cwnd, and PRR
//! spreads the reduction over a round trip. In all other respects, the response follows RFC 8511
//! section 3. The sender responds once per RTT, because CWR lasts until all data that was sent
//! before CWR has been acknowledged. If a loss is found during CWR, the sender repairs the loss
//! without a further reduction. For any other loss, the sender multiplies cwnd by `beta`. ssthresh
//! is at least two segments.
//!
//! With `abe = "rfc8511"`, the sender responds to ECN-Echo by multiplying FlightSize instead of
//! cwnd by the factor. FlightSize is the data that remains unacknowledged after the ACK that
//! carries ECN-Echo. The response to losses is the same as with `abe = "linux"`.
//!
//! `abe = "freebsd"` follows `cc_newreno.c` of FreeBSD 14. FreeBSD multiplies cwnd by a factor in
//! whole percent, and rounds the result down to whole segments. The window falls to ssthresh at
//! once, without PRR. The window does not grow until one RTT has passed. The option
//! `abe_frlossreduce` is off by default, like FreeBSD's sysctl `net.inet.tcp.cc.abe_frlossreduce`.
//! With this option, a loss within one RTT after ECN-Echo lowers ssthresh further, to the value
//! that the loss alone would have caused. FreeBSD's CUBIC does not support ABE. In tailback, CUBIC
//! with `abe = "freebsd"` follows the rule of FreeBSD's NewReno.

use super::contract::{Control, Signal};
use super::view::View;
use super::window::Window;
use crate::registry::kernel::StandIn;
use crate::registry::rules::{At, Chosen, Finding, Rules, Standard};
use crate::registry::{Kind, Opt, OptionError, Options};

const RANGE: Kind = Kind::Float {
    min: 0.001,
    max: 0.999,
};

pub const fn beta(default: &'static str, doc: &'static str) -> Opt {
    Opt {
        name: "beta",
        doc,
        kind: RANGE,
        default: Some(default),
        tc: None,
    }
}

pub const fn beta_ecn(doc: &'static str) -> Opt {
    Opt {
        name: "beta_ecn",
        doc,
        kind: RANGE,
        default: None,
        tc: None,
    }
}

pub const READING: Opt = Opt {
    name: "abe",
    doc: "How ECN-Echo reduces the window by beta_ecn. \"linux\": multiply cwnd; PRR spreads the reduction over a round trip. \"rfc8511\": multiply FlightSize. \"freebsd\": multiply cwnd immediately by beta_ecn, which is rounded to a whole percent.",
    kind: Kind::Word(&["linux", "rfc8511", "freebsd"]),
    default: Some("linux"),
    tc: None,
};

pub const FRLOSSREDUCE: Opt = Opt {
    name: "abe_frlossreduce",
    doc: "Whether a loss within an RTT after ECN-Echo lowers ssthresh further: to beta times the window before ECN-Echo. FreeBSD has a sysctl for this response; the option requires abe = \"freebsd\".",
    kind: Kind::Bool,
    default: Some("false"),
    tc: None,
};

pub(super) fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    let mut errors = Vec::new();
    let reading = options.word("abe");
    if reading != "linux" && options.get("beta_ecn").is_none() {
        errors.push(OptionError {
            option: "abe",
            message: format!("{reading} is a way to apply beta_ecn: expected beta_ecn too"),
        });
    }
    if options.bool("abe_frlossreduce") && reading != "freebsd" {
        errors.push(OptionError {
            option: "abe_frlossreduce",
            message: "only FreeBSD has it: expected abe = \"freebsd\"".to_owned(),
        });
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}

/// If a separate factor for ECN-Echo is set, the flow must use ECN. ECN-Echo must not reduce the
/// window by more than a loss does.
pub(super) const RULES: Rules = Rules {
    checks,
    at_link: Rules::NONE.at_link,
    standard: Some(Standard {
        departs: |options| {
            let marks = options.get("beta_ecn");
            marks.is_some() && marks != options.get("beta")
        },
        restore: |options| {
            for name in ["abe", "abe_frlossreduce", "beta_ecn"] {
                options.remove(name);
            }
        },
    }),
};

fn checks(chosen: &Chosen<'_>) -> Vec<Finding> {
    let Chosen { name, options, ecn } = *chosen;
    if options.get("beta_ecn").is_none() {
        return Vec::new();
    }
    let (loss, marks) = (options.float("beta"), options.float("beta_ecn"));
    if !ecn {
        vec![Finding {
            at: At::Ecn,
            warning: false,
            message: format!(
                "beta_ecn of {name} sets the response to CE marks, which a flow without ECN never gets"
            ),
            expected: "ecn = true, or no beta_ecn",
        }]
    } else if marks < loss {
        vec![Finding {
            at: At::Option("beta_ecn"),
            warning: true,
            message: format!(
                "beta_ecn = {marks} of {name} is below beta = {loss}: a mark then reduces the window more than a loss"
            ),
            expected: "beta_ecn of at least beta, as in RFC 8511",
        }]
    } else {
        Vec::new()
    }
}

/// Describes tailback's kernel module that replaces a congestion control of Linux. The module is
/// needed if `beta_ecn` is set. Linux has no such option.
pub(super) const fn stand_in(name: &'static str, module: &'static str) -> StandIn {
    StandIn {
        option: "beta_ecn",
        needed: |options| {
            let factor = options.get("beta_ecn");
            factor.is_some() && factor != options.get("beta")
        },
        parameters: None,
        growth_by_acks: None,
        name,
        module,
        since: None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Linux,
    Rfc8511,
    Freebsd,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    /// The integer that represents a factor of 1.
    scale: u32,
    /// Factor after a loss, as a multiple of 1/`scale`.
    pub loss: u32,
    /// Factor after ECN-Echo, as a multiple of 1/`scale`. With `abe = "freebsd"`, this factor is a
    /// whole number of percent.
    pub ecn: u32,
    reading: Reading,
    /// Whether a loss within the RTT after ECN-Echo lowers ssthresh further.
    further: bool,
}

impl Backoff {
    pub fn same(beta: u32, scale: u32) -> Backoff {
        Backoff {
            scale,
            loss: beta,
            ecn: beta,
            reading: Reading::Linux,
            further: false,
        }
    }

    /// Reads complete options. Rounds the factors to multiples of 1/`scale`. Without `beta_ecn`,
    /// `beta` also applies to ECN-Echo.
    pub fn of(options: &Options, scale: u32) -> Backoff {
        let fixed = |factor: f64| libm::round(factor * f64::from(scale)) as u32;
        let reading = match options.word("abe") {
            "rfc8511" => Reading::Rfc8511,
            "freebsd" => Reading::Freebsd,
            _ => Reading::Linux,
        };
        let loss = fixed(options.float("beta"));
        let ecn = match options.get("beta_ecn") {
            None => loss,
            Some(_) if reading == Reading::Freebsd => {
                fixed(libm::round(options.float("beta_ecn") * 100.0) / 100.0)
            }
            Some(_) => fixed(options.float("beta_ecn")),
        };
        Backoff {
            scale,
            loss,
            ecn,
            reading,
            further: options.bool("abe_frlossreduce"),
        }
    }

    #[inline]
    pub fn factor(&self, signal: Signal) -> u32 {
        match signal {
            Signal::Ecn => self.ecn,
            Signal::Loss => self.loss,
        }
    }

    /// Multiplies a window by a factor, which is in units of 1/`scale`. Rounds down.
    #[inline]
    pub fn part(&self, window: u32, factor: u32) -> u32 {
        (u64::from(window) * u64::from(factor) / u64::from(self.scale)) as u32
    }

    /// Returns the new ssthresh for a reduction (RFC 5681 equation (4), RFC 9438 section 4.6, and
    /// for ECN RFC 8511 section 3).
    #[inline]
    pub fn ssthresh(&self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
        let window = if signal == Signal::Ecn && self.reading == Reading::Rfc8511 {
            view.flight.packets_out()
        } else {
            window.cwnd
        };
        self.part(window, self.factor(signal)).max(2)
    }

    /// Returns which changes of the window the congestion control itself makes. This depends on
    /// `abe`.
    pub fn control(&self) -> Control {
        match self.reading {
            Reading::Freebsd => Control::Cwr,
            Reading::Linux | Reading::Rfc8511 => Control::Growth,
        }
    }

    /// With `abe = "freebsd"`, the congestion controls call this function from their `cwr_begin`.
    pub fn cwr_begin(&self, window: &mut Window) {
        window.cwnd = window.ssthresh.min(window.cwnd);
        window.cwnd_cnt = 0;
    }

    /// With `abe = "freebsd"`, the congestion controls call this function from their `loss_in_cwr`.
    pub fn loss_in_cwr(&self, window: &mut Window) {
        if self.further && self.ecn > 0 {
            let left = u64::from(window.ssthresh) * u64::from(self.loss) / u64::from(self.ecn);
            window.ssthresh = (left as u32).clamp(2, window.ssthresh.max(2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, Host, options};
    use super::super::{CaState, cubic, reno};
    use super::*;
    use crate::registry::Value;
    use crate::units::Time;

    const ECN: (&str, Value) = ("beta_ecn", Value::Float(0.8));
    const RFC: (&str, Value) = ("abe", Value::Word("rfc8511"));
    const FREEBSD: (&str, Value) = ("abe", Value::Word("freebsd"));
    const FURTHER: (&str, Value) = ("abe_frlossreduce", Value::Bool(true));

    fn reno(set: &[(&'static str, Value)], cwnd: u32) -> Host {
        let cc = (reno::ENTRY.build)(&options(&reno::ENTRY, set));
        let mut host = Host::new(cc, cwnd, Time::from_ms(20));
        host.window.ssthresh = cwnd;
        host
    }

    fn ssthresh(set: &[(&'static str, Value)], cwnd: u32, out: u32, ecn: bool) -> u32 {
        let mut cc = (reno::ENTRY.build)(&options(&reno::ENTRY, set));
        let signal = if ecn { Signal::Ecn } else { Signal::Loss };
        testing::ssthresh(&mut *cc, cwnd, out, signal)
    }

    #[test]
    fn flight_size_of_rfc_8511_and_the_floor() {
        // The window is 40 segments, but the application uses only 10 of them. Linux multiplies the
        // window of 40 by the factor.
        assert_eq!(ssthresh(&[ECN], 40, 10, true), 32);
        assert_eq!(ssthresh(&[ECN, RFC], 40, 10, true), 8);
        assert_eq!(ssthresh(&[ECN, FREEBSD], 40, 10, true), 32);
        // After a loss, Linux multiplies cwnd by the factor for losses.
        assert_eq!(ssthresh(&[ECN, RFC], 40, 10, false), 20);
        for set in [vec![ECN], vec![ECN, RFC], vec![ECN, FREEBSD]] {
            assert_eq!(ssthresh(&set, 2, 2, true), 2, "{set:?}");
            assert_eq!(ssthresh(&set, 3, 1, true), 2, "{set:?}");
        }
    }

    #[test]
    fn freebsd_counts_in_percent() {
        let fine = ("beta_ecn", Value::Float(0.8449));
        assert_eq!(ssthresh(std::slice::from_ref(&fine), 1000, 1000, true), 844);
        assert_eq!(ssthresh(&[fine, FREEBSD], 1000, 1000, true), 840);
    }

    #[test]
    fn once_per_round_trip() {
        for set in [vec![ECN], vec![ECN, RFC], vec![ECN, FREEBSD]] {
            let mut host = reno(&set, 100);
            host.marked_round(50);
            let first = host.window.ssthresh;
            // After the first ACK, 99 of 100 segments are in flight. RFC 8511 calls this number
            // FlightSize.
            let expected = if set.contains(&RFC) { 79 } else { 80 };
            assert_eq!(first, expected, "{set:?}");
            // Marks on segments that were in flight at the first mark do not cause a second
            // response.
            assert_eq!(host.conn.ca_state, CaState::Cwr);
            host.ack(1);
            host.ack(1);
            assert_eq!(host.window.cwnd, first, "{set:?}");
            assert_eq!(host.conn.ca_state, CaState::Open, "{set:?}");
            host.ack_ece(1);
            assert!(host.window.ssthresh < first, "{set:?}");
        }
    }

    #[test]
    fn freebsd_takes_the_window_down_at_once() {
        let (mut linux, mut freebsd) = (reno(&[ECN], 100), reno(&[ECN, FREEBSD], 100));
        linux.ack_ece(1);
        freebsd.ack_ece(1);
        assert_eq!((linux.window.cwnd, freebsd.window.cwnd), (100, 80));
        assert_eq!(freebsd.flight.in_flight(), 99, "nothing is sent meanwhile");
        for _ in 0..30 {
            freebsd.ack(1);
        }
        assert_eq!((freebsd.window.cwnd, freebsd.flight.in_flight()), (80, 80));
    }

    #[test]
    fn a_loss_in_the_same_round_trip() {
        let after = |set: &[(&'static str, Value)]| {
            let mut host = reno(set, 100);
            host.ack_ece(1);
            host.lose();
            (host.window.ssthresh, host.conn.ca_state)
        };
        assert_eq!(after(&[ECN]), (80, CaState::Recovery));
        assert_eq!(after(&[ECN, RFC]), (79, CaState::Recovery));
        assert_eq!(after(&[ECN, FREEBSD]), (80, CaState::Recovery));
        // ssthresh becomes 80 * 0.5 / 0.8 = 50, which is half of the window of 100 before ECN-Echo.
        assert_eq!(after(&[ECN, FREEBSD, FURTHER]), (50, CaState::Recovery));
        let mut host = reno(&[ECN, FREEBSD, FURTHER], 100);
        host.lose();
        assert_eq!(host.window.ssthresh, 50);
    }

    #[test]
    fn cubic_has_the_same_rules() {
        let ecn = ("beta_ecn", Value::Float(0.85));
        let after = |set: &[(&'static str, Value)], lose: bool| {
            let cc = (cubic::ENTRY.build)(&options(&cubic::ENTRY, set));
            let mut host = Host::new(cc, 200, Time::from_ms(20));
            host.window.ssthresh = 200;
            host.ack_ece(1);
            if lose {
                host.lose();
            }
            host.window.ssthresh
        };
        // cwnd is 200 segments, and 199 segments are in flight. In both cases ssthresh is 169,
        // because 870/1024 of 200 and of 199 both round down to 169.
        assert_eq!(after(std::slice::from_ref(&ecn), true), 169);
        assert_eq!(after(&[ecn.clone(), RFC], true), 169);
        // A further loss multiplies ssthresh by 717/870, which gives 139.
        assert_eq!(after(&[ecn.clone(), FREEBSD], false), 169);
        assert_eq!(after(&[ecn, FREEBSD, FURTHER], true), 139);
    }

    #[test]
    fn combinations() {
        let refused = |set: &[(&'static str, Value)]| {
            let mut options = crate::registry::defaults(reno::ENTRY.options);
            for (name, value) in set {
                options.set(name, value.clone());
            }
            (reno::ENTRY.finish)(&mut options)
                .err()
                .map(|errors| errors.iter().map(|e| e.option).collect::<Vec<_>>())
        };
        assert_eq!(refused(&[ECN, FREEBSD, FURTHER]), None);
        assert_eq!(refused(&[RFC]), Some(vec!["abe"]));
        assert_eq!(refused(&[ECN, FURTHER]), Some(vec!["abe_frlossreduce"]));
        assert_eq!(refused(&[FURTHER]), Some(vec!["abe_frlossreduce"]));
    }
}

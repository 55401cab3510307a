//! Determines what limited a flow and why its window shrank, as far as `tcp_info` shows the causes.
//! Waiting times come from Linux's `tcp_chrono`. Reductions are found by comparing the window and
//! congestion state of successive samples.

use tailback_record::account::{Account, Reason, Told};

use super::tcp::Info;

/// Linux's numbers of congestion states.
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

/// The latest samples of a sender.
#[derive(Default)]
pub struct Watch {
    account: Account,
    last: Info,
    told: Told,
}

impl Watch {
    /// Processes a sample of a sender. `interval_ns` is the time between samples, or 0 if each ACK
    /// causes a sample.
    pub fn look(&mut self, at_ns: u64, info: &Info, interval_ns: u64) {
        let last = std::mem::replace(&mut self.last, *info);
        if last.cwnd == 0 {
            return;
        }
        self.told.interval_ns = interval_ns;
        let begun = info.ca_state > last.ca_state;
        let smaller = info.cwnd < last.cwnd;
        let told = begun || smaller || info.ssthresh != last.ssthresh;
        let reason = if info.timeouts != last.timeouts {
            Reason::Timeout
        } else if told && (info.ca_state == RECOVERY || info.retransmits != last.retransmits) {
            Reason::Rack
        } else if told && (info.ca_state == CWR || info.delivered_ce != last.delivered_ce) {
            Reason::Ece
        } else if smaller {
            Reason::Unknown
        } else {
            return;
        };
        // If a reduction lasts for several samples, count it only once, at its beginning.
        let goes_on = last.ca_state >= CWR && info.ssthresh == last.ssthresh;
        if goes_on && reason != Reason::Timeout {
            return;
        }
        let to = match reason {
            Reason::Rack | Reason::Ece => info.cwnd.min(info.ssthresh),
            _ => info.cwnd,
        };
        if to < last.cwnd {
            self.account.reduced(at_ns, reason, last.cwnd, to);
        }
    }

    pub fn sample(&mut self, info: &Info) {
        let state = usize::from(info.ca_state.min(LOSS));
        self.told.states[state] += 1;
    }

    pub fn end_warmup(&mut self, at_ns: u64) {
        self.account.end_warmup(at_ns);
    }

    /// Returns what limited the flow and why its window shrank. The waiting times are computed as
    /// differences between `end` and `base`, the sender's information at the end and at the start
    /// of the measured time.
    pub fn finish(&self, base: &Info, end: &Info, elapsed_ns: u64) -> Account {
        let since = |end: u64, base: u64| end.saturating_sub(base) * 1000;
        let told = Told {
            elapsed_ns,
            busy_ns: since(end.busy_us, base.busy_us),
            rwnd_limited_ns: since(end.rwnd_limited_us, base.rwnd_limited_us),
            sndbuf_limited_ns: since(end.sndbuf_limited_us, base.sndbuf_limited_us),
            ..self.told
        };
        let mut account = self.account.clone();
        account.told = Some(Box::new(told));
        account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(cwnd: u32, ssthresh: u32, ca_state: u8) -> Info {
        Info {
            cwnd,
            ssthresh,
            ca_state,
            ..Info::default()
        }
    }

    #[test]
    fn a_reduction_is_listed_once_with_its_reason() {
        let mut watch = Watch::default();
        let looks = [
            info(10, 1000, 0),
            info(20, 1000, 0),
            // PRR reduces the window in steps, which together count as one reduction.
            info(18, 14, RECOVERY),
            info(15, 14, RECOVERY),
            info(14, 14, 0),
            info(16, 11, CWR),
            info(11, 11, 0),
            Info {
                timeouts: 1,
                ..info(1, 8, LOSS)
            },
        ];
        for (at, look) in looks.iter().enumerate() {
            watch.look(at as u64, look, 0);
        }
        let account = watch.finish(&Info::default(), &info(1, 8, LOSS), 8);
        let found = |r: &tailback_record::account::Reduction| (r.reason(), r.from, r.to);
        let listed: Vec<_> = account.listed.iter().map(found).collect();
        let expected = [(Reason::Rack, 20, 14), (Reason::Timeout, 11, 1)];
        // The window of the sixth sample is larger than the window of the fifth sample. Only the
        // lower ssthresh shows the reduction.
        let third = (Reason::Ece, 14, 11);
        assert_eq!(listed, [expected[0], third, expected[1]]);
    }
}

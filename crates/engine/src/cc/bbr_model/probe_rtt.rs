//! PROBE_RTT: keeps few segments in flight until the queue should be empty.

use crate::cc::view::View;
use crate::cc::window::Window;
use crate::units::Time;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc) struct ProbeRtt {
    /// When PROBE_RTT may end. `None` while too many segments are in flight.
    until: Option<Time>,
    /// Whether a round has passed since `until` was set.
    round_done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cc) enum Progress {
    Going,
    /// From now on, few enough segments are in flight, so BBR starts to measure the time in
    /// PROBE_RTT.
    Begun,
    Over,
}

impl ProbeRtt {
    /// Processes an ACK. PROBE_RTT keeps at most `most` segments in flight for the time `time`.
    pub(in crate::cc) fn on_ack(
        &mut self,
        view: View<'_>,
        window: &mut Window,
        round_start: bool,
        most: u32,
        time: Time,
    ) -> Progress {
        let in_flight = view.flight.in_flight();
        // Rates that are measured in this phase are below the path's capacity. So treat them as
        // application-limited.
        window.app_limited = (view.delivered + u64::from(in_flight)).max(1);
        if self.until.is_some() {
            self.round_done |= round_start;
            if self.round_done && self.is_over(view.now) {
                return Progress::Over;
            }
        } else if in_flight <= most {
            self.until = Some(view.now + time);
            return Progress::Begun;
        }
        Progress::Going
    }

    pub(in crate::cc) fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}

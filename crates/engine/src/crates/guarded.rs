//! Checks the windows that a plugin's congestion control sets. Without this check, a bug in a
//! plugin could lead to wrong results without an error message. A window of 0 stops the run with an
//! error. If a hook never returns, [`Whereabouts`] shows the name of this hook.
//!

use super::installed;
use super::whereabouts::Whereabouts;
use crate::cc::{
    self, Ack, CaState, CongestionControl, Control, CwndEvent, Hook, LostSegment, Needs, Signal,
    View, Window,
};
use crate::registry::Entry;
use crate::rng::Stream;
use crate::units::Time;

/// The payload with which the engine panics if it finds a bug in a plugin.
#[derive(Debug)]
pub struct Fault(pub String);

/// Builds a congestion control for a run. If the congestion control belongs to a plugin, wraps it
/// with the check of its windows.
pub fn build(
    entry: &'static Entry<cc::Build>,
    options: &crate::registry::Options,
) -> Box<dyn CongestionControl> {
    let control = (entry.build)(options);
    if installed().is_empty() {
        return control;
    }
    let place = cc::TABLE
        .entries()
        .iter()
        .position(|known| known.name == entry.name);
    match place {
        Some(place) if place >= cc::TABLE.shipped().len() => Box::new(Guarded {
            inner: control,
            name: entry.name,
            place: place as u32,
            here: Whereabouts::here(),
        }),
        _ => control,
    }
}

struct Guarded {
    inner: Box<dyn CongestionControl>,
    name: &'static str,
    place: u32,
    here: Whereabouts,
}

impl Guarded {
    #[inline]
    fn call<R>(&mut self, hook: Hook, call: impl FnOnce(&mut dyn CongestionControl) -> R) -> R {
        self.here.enter(self.place, hook);
        let result = call(&mut *self.inner);
        self.here.leave();
        result
    }

    /// Calls a hook that may write the window.
    #[inline]
    fn write(
        &mut self,
        hook: Hook,
        now: Option<Time>,
        window: &mut Window,
        call: impl FnOnce(&mut dyn CongestionControl, &mut Window),
    ) {
        let before = window.cwnd;
        self.call(hook, |inner| call(inner, window));
        if window.cwnd == 0 && before != 0 {
            self.fail(hook, now, "left cwnd at 0 segments");
        }
    }

    #[cold]
    fn fail(&self, hook: Hook, now: Option<Time>, what: &str) -> ! {
        let (name, hook) = (self.name, hook.name());
        let at = now.map_or_else(String::new, |now| format!(" at {:.6} s", now.as_secs_f64()));
        std::panic::panic_any(Fault(format!(
            "the congestion control \"{name}\" {what} in {hook}{at}; leave at least 1, or nothing \
             more is sent"
        )))
    }
}

impl CongestionControl for Guarded {
    fn needs(&self) -> Needs {
        self.here.enter(self.place, Hook::Needs);
        let needs = self.inner.needs();
        self.here.leave();
        needs
    }

    fn randomise(&mut self, stream: Stream) {
        self.call(Hook::Randomise, |inner| inner.randomise(stream));
    }

    fn ecn_refused(&mut self) -> Control {
        self.call(Hook::EcnRefused, |inner| inner.ecn_refused())
    }

    fn init(&mut self, view: View<'_>, window: &mut Window) {
        self.write(Hook::Init, Some(view.now), window, |inner, window| {
            inner.init(view, window);
        });
    }

    fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
        let threshold = self.call(Hook::Ssthresh, |inner| inner.ssthresh(view, window, signal));
        if threshold == 0 {
            self.fail(
                Hook::Ssthresh,
                Some(view.now),
                "answered a window of 0 segments",
            );
        }
        threshold
    }

    fn cong_avoid(&mut self, view: View<'_>, window: &mut Window, acked: u32) {
        self.write(Hook::CongAvoid, Some(view.now), window, |inner, window| {
            inner.cong_avoid(view, window, acked);
        });
    }

    fn cong_control(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.write(
            Hook::CongControl,
            Some(view.now),
            window,
            |inner, window| {
                inner.cong_control(view, window, ack);
            },
        );
    }

    fn on_lost(&mut self, view: View<'_>, window: &Window, segment: &LostSegment) {
        self.call(Hook::OnLost, |inner| inner.on_lost(view, window, segment));
    }

    fn in_ack_event(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.write(Hook::InAckEvent, Some(view.now), window, |inner, window| {
            inner.in_ack_event(view, window, ack);
        });
    }

    fn pkts_acked(&mut self, view: View<'_>, window: &mut Window, ack: &Ack) {
        self.write(Hook::PktsAcked, Some(view.now), window, |inner, window| {
            inner.pkts_acked(view, window, ack);
        });
    }

    fn cwnd_event(&mut self, view: View<'_>, window: &mut Window, event: CwndEvent) {
        self.write(Hook::CwndEvent, Some(view.now), window, |inner, window| {
            inner.cwnd_event(view, window, event);
        });
    }

    fn set_state(&mut self, view: View<'_>, window: &mut Window, new: CaState) {
        self.write(Hook::SetState, Some(view.now), window, |inner, window| {
            inner.set_state(view, window, new);
        });
    }

    fn undo_cwnd(&mut self, view: View<'_>, window: &Window, prior_cwnd: u32) -> u32 {
        let cwnd = self.call(Hook::UndoCwnd, |inner| {
            inner.undo_cwnd(view, window, prior_cwnd)
        });
        if cwnd == 0 {
            self.fail(
                Hook::UndoCwnd,
                Some(view.now),
                "answered a window of 0 segments",
            );
        }
        cwnd
    }

    fn cwr_begin(&mut self, window: &mut Window) {
        self.write(Hook::CwrBegin, None, window, |inner, window| {
            inner.cwr_begin(window);
        });
    }

    fn cwr_ack(&mut self, view: View<'_>, window: &mut Window, ack: &Ack, grow: u32) {
        self.write(Hook::CwrAck, Some(view.now), window, |inner, window| {
            inner.cwr_ack(view, window, ack, grow);
        });
    }

    fn loss_in_cwr(&mut self, window: &mut Window) {
        self.write(Hook::LossInCwr, None, window, |inner, window| {
            inner.loss_in_cwr(window);
        });
    }

    fn gauges(&self, view: View<'_>, window: &Window, out: &mut Vec<f64>) {
        self.here.enter(self.place, Hook::Gauges);
        self.inner.gauges(view, window, out);
        self.here.leave();
    }

    fn gauge_names(&self) -> &'static [&'static str] {
        self.here.enter(self.place, Hook::GaugeNames);
        let names = self.inner.gauge_names();
        self.here.leave();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::super::whole::Whole;
    use super::super::wrapping;
    use super::*;

    fn guarded(inner: Box<dyn CongestionControl>) -> Guarded {
        Guarded {
            inner,
            name: "mine",
            place: cc::TABLE.shipped().len() as u32,
            here: Whereabouts::default(),
        }
    }

    #[test]
    fn every_hook_reaches_the_one_inside() {
        assert_eq!(wrapping::left_out(&mut guarded(Box::new(Whole))), []);
    }
}

//! A congestion control that implements every hook. Tests use this congestion control to check the
//! code that forwards hooks.

use crate::cc::{
    Ack, CaState, CongestionControl, Control, CwndEvent, LostSegment, Needs, Signal, View, Window,
};
use crate::rng::Stream;

pub(super) struct Whole;

impl CongestionControl for Whole {
    fn needs(&self) -> Needs {
        Needs::default()
    }
    fn randomise(&mut self, _: Stream) {}
    fn ecn_refused(&mut self) -> Control {
        Control::Growth
    }
    fn init(&mut self, _: View<'_>, _: &mut Window) {}
    fn ssthresh(&mut self, _: View<'_>, _: &Window, _: Signal) -> u32 {
        2
    }
    fn cong_avoid(&mut self, _: View<'_>, _: &mut Window, _: u32) {}
    fn cong_control(&mut self, _: View<'_>, _: &mut Window, _: &Ack) {}
    fn on_lost(&mut self, _: View<'_>, _: &Window, _: &LostSegment) {}
    fn in_ack_event(&mut self, _: View<'_>, _: &mut Window, _: &Ack) {}
    fn pkts_acked(&mut self, _: View<'_>, _: &mut Window, _: &Ack) {}
    fn cwnd_event(&mut self, _: View<'_>, _: &mut Window, _: CwndEvent) {}
    fn set_state(&mut self, _: View<'_>, _: &mut Window, _: CaState) {}
    fn undo_cwnd(&mut self, _: View<'_>, _: &Window, _: u32) -> u32 {
        2
    }
    fn cwr_begin(&mut self, _: &mut Window) {}
    fn cwr_ack(&mut self, _: View<'_>, _: &mut Window, _: &Ack, _: u32) {}
    fn loss_in_cwr(&mut self, _: &mut Window) {}
    fn gauges(&self, _: View<'_>, _: &Window, _: &mut Vec<f64>) {}
    fn gauge_names(&self) -> &'static [&'static str] {
        &[]
    }
}

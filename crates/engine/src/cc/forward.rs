//! A macro that forwards every hook of a congestion control to another congestion control.

/// Implements the hooks of [`crate::cc::CongestionControl`]. Each hook calls the same hook of the
/// congestion control that the given field contains. After `except`, list the hooks that you
/// implement yourself, separated by commas.
///
/// ```ignore
/// struct Gentler {
///     inner: Box<dyn CongestionControl>,
/// }
///
/// impl CongestionControl for Gentler {
///     tailback_engine::forward_hooks!(inner, except ssthresh);
///
///     fn ssthresh(&mut self, view: View<'_>, window: &Window, signal: Signal) -> u32 {
///         self.inner.ssthresh(view, window, signal).max(window.cwnd / 2)
///     }
/// }
/// ```
///
/// If you implement a hook but do not list it after `except`, the code does not compile. If you
/// list a hook but do not implement it, the trait's default implementation of the hook applies. If
/// a listed hook has no default, you must implement it. Hooks that a later version of tailback adds
/// are forwarded as well.
#[macro_export]
macro_rules! forward_hooks {
    ($field:ident) => {
        $crate::forward_hooks!($field, except);
    };
    ($field:ident, except $($own:ident),*) => {
        $crate::forward_hooks!(@needs $field $($own)*);
        $crate::forward_hooks!(@randomise $field $($own)*);
        $crate::forward_hooks!(@ecn_refused $field $($own)*);
        $crate::forward_hooks!(@init $field $($own)*);
        $crate::forward_hooks!(@ssthresh $field $($own)*);
        $crate::forward_hooks!(@cong_avoid $field $($own)*);
        $crate::forward_hooks!(@cong_control $field $($own)*);
        $crate::forward_hooks!(@on_lost $field $($own)*);
        $crate::forward_hooks!(@in_ack_event $field $($own)*);
        $crate::forward_hooks!(@pkts_acked $field $($own)*);
        $crate::forward_hooks!(@cwnd_event $field $($own)*);
        $crate::forward_hooks!(@set_state $field $($own)*);
        $crate::forward_hooks!(@undo_cwnd $field $($own)*);
        $crate::forward_hooks!(@cwr_begin $field $($own)*);
        $crate::forward_hooks!(@cwr_ack $field $($own)*);
        $crate::forward_hooks!(@loss_in_cwr $field $($own)*);
        $crate::forward_hooks!(@gauges $field $($own)*);
        $crate::forward_hooks!(@gauge_names $field $($own)*);
    };
    (@needs $field:ident needs $($rest:ident)*) => {};
    (@needs $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@needs $field $($rest)*);
    };
    (@needs $field:ident) => {
        fn needs(&self) -> $crate::cc::Needs {
            self.$field.needs()
        }
    };
    (@randomise $field:ident randomise $($rest:ident)*) => {};
    (@randomise $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@randomise $field $($rest)*);
    };
    (@randomise $field:ident) => {
        fn randomise(&mut self, stream: $crate::rng::Stream) {
            self.$field.randomise(stream);
        }
    };
    (@ecn_refused $field:ident ecn_refused $($rest:ident)*) => {};
    (@ecn_refused $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@ecn_refused $field $($rest)*);
    };
    (@ecn_refused $field:ident) => {
        fn ecn_refused(&mut self) -> $crate::cc::Control {
            self.$field.ecn_refused()
        }
    };
    (@init $field:ident init $($rest:ident)*) => {};
    (@init $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@init $field $($rest)*);
    };
    (@init $field:ident) => {
        fn init(&mut self, view: $crate::cc::View<'_>, window: &mut $crate::cc::Window) {
            self.$field.init(view, window);
        }
    };
    (@ssthresh $field:ident ssthresh $($rest:ident)*) => {};
    (@ssthresh $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@ssthresh $field $($rest)*);
    };
    (@ssthresh $field:ident) => {
        fn ssthresh(&mut self, view: $crate::cc::View<'_>, window: &$crate::cc::Window, signal: $crate::cc::Signal) -> u32 {
            self.$field.ssthresh(view, window, signal)
        }
    };
    (@cong_avoid $field:ident cong_avoid $($rest:ident)*) => {};
    (@cong_avoid $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@cong_avoid $field $($rest)*);
    };
    (@cong_avoid $field:ident) => {
        fn cong_avoid(&mut self, view: $crate::cc::View<'_>, window: &mut $crate::cc::Window, acked: u32) {
            self.$field.cong_avoid(view, window, acked);
        }
    };
    (@cong_control $field:ident cong_control $($rest:ident)*) => {};
    (@cong_control $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@cong_control $field $($rest)*);
    };
    (@cong_control $field:ident) => {
        fn cong_control(&mut self, view: $crate::cc::View<'_>, window: &mut $crate::cc::Window, ack: &$crate::cc::Ack) {
            self.$field.cong_control(view, window, ack);
        }
    };
    (@on_lost $field:ident on_lost $($rest:ident)*) => {};
    (@on_lost $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@on_lost $field $($rest)*);
    };
    (@on_lost $field:ident) => {
        fn on_lost(&mut self, view: $crate::cc::View<'_>, window: &$crate::cc::Window, segment: &$crate::cc::LostSegment) {
            self.$field.on_lost(view, window, segment);
        }
    };
    (@in_ack_event $field:ident in_ack_event $($rest:ident)*) => {};
    (@in_ack_event $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@in_ack_event $field $($rest)*);
    };
    (@in_ack_event $field:ident) => {
        fn in_ack_event(&mut self, view: $crate::cc::View<'_>, window: &mut $crate::cc::Window, ack: &$crate::cc::Ack) {
            self.$field.in_ack_event(view, window, ack);
        }
    };
    (@pkts_acked $field:ident pkts_acked $($rest:ident)*) => {};
    (@pkts_acked $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@pkts_acked $field $($rest)*);
    };
    (@pkts_acked $field:ident) => {
        fn pkts_acked(&mut self, view: $crate::cc::View<'_>, window: &mut $crate::cc::Window, ack: &$crate::cc::Ack) {
            self.$field.pkts_acked(view, window, ack);
        }
    };
    (@cwnd_event $field:ident cwnd_event $($rest:ident)*) => {};
    (@cwnd_event $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@cwnd_event $field $($rest)*);
    };
    (@cwnd_event $field:ident) => {
        fn cwnd_event(&mut self, view: $crate::cc::View<'_>, window: &mut $crate::cc::Window, event: $crate::cc::CwndEvent) {
            self.$field.cwnd_event(view, window, event);
        }
    };
    (@set_state $field:ident set_state $($rest:ident)*) => {};
    (@set_state $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@set_state $field $($rest)*);
    };
    (@set_state $field:ident) => {
        fn set_state(&mut self, view: $crate::cc::View<'_>, window: &mut $crate::cc::Window, new: $crate::cc::CaState) {
            self.$field.set_state(view, window, new);
        }
    };
    (@undo_cwnd $field:ident undo_cwnd $($rest:ident)*) => {};
    (@undo_cwnd $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@undo_cwnd $field $($rest)*);
    };
    (@undo_cwnd $field:ident) => {
        fn undo_cwnd(&mut self, view: $crate::cc::View<'_>, window: &$crate::cc::Window, prior_cwnd: u32) -> u32 {
            self.$field.undo_cwnd(view, window, prior_cwnd)
        }
    };
    (@cwr_begin $field:ident cwr_begin $($rest:ident)*) => {};
    (@cwr_begin $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@cwr_begin $field $($rest)*);
    };
    (@cwr_begin $field:ident) => {
        fn cwr_begin(&mut self, window: &mut $crate::cc::Window) {
            self.$field.cwr_begin(window);
        }
    };
    (@cwr_ack $field:ident cwr_ack $($rest:ident)*) => {};
    (@cwr_ack $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@cwr_ack $field $($rest)*);
    };
    (@cwr_ack $field:ident) => {
        fn cwr_ack(&mut self, view: $crate::cc::View<'_>, window: &mut $crate::cc::Window, ack: &$crate::cc::Ack, grow: u32) {
            self.$field.cwr_ack(view, window, ack, grow);
        }
    };
    (@loss_in_cwr $field:ident loss_in_cwr $($rest:ident)*) => {};
    (@loss_in_cwr $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@loss_in_cwr $field $($rest)*);
    };
    (@loss_in_cwr $field:ident) => {
        fn loss_in_cwr(&mut self, window: &mut $crate::cc::Window) {
            self.$field.loss_in_cwr(window);
        }
    };
    (@gauges $field:ident gauges $($rest:ident)*) => {};
    (@gauges $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@gauges $field $($rest)*);
    };
    (@gauges $field:ident) => {
        fn gauges(&self, view: $crate::cc::View<'_>, window: &$crate::cc::Window, out: &mut ::std::vec::Vec<f64>) {
            self.$field.gauges(view, window, out);
        }
    };
    (@gauge_names $field:ident gauge_names $($rest:ident)*) => {};
    (@gauge_names $field:ident $other:ident $($rest:ident)*) => {
        $crate::forward_hooks!(@gauge_names $field $($rest)*);
    };
    (@gauge_names $field:ident) => {
        fn gauge_names(&self) -> &'static [&'static str] {
            self.$field.gauge_names()
        }
    };
}

//! The state that BBR restores if a loss recovery was spurious.

use super::bounds::Bounds;
use crate::cc::bbr_model::Bandwidth;

/// The phase that losses have interrupted (`BBR.undo_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Interrupted {
    #[default]
    Nothing,
    Startup,
    Up,
}

/// The state before a loss recovery, which BBR restores if the recovery was spurious.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub bounds: Bounds,
    pub interrupted: Interrupted,
    /// Whether a loss recovery is in progress and the state from before the recovery is saved.
    pub saved: bool,
}

impl Undo {
    pub(super) const NOTHING: Undo = Undo {
        bounds: Bounds {
            bw_lo: Bandwidth::ZERO,
            inflight_lo: 0,
            inflight_hi: 0,
            bw_hi: Bandwidth::ZERO,
        },
        interrupted: Interrupted::Nothing,
        saved: false,
    };
}

//! Determines whether a reduction was spurious. Stores the state that is needed to undo a reduction
//! (Linux `tcp_init_undo`, `tcp_may_undo`).

use super::timestamps;
use crate::units::Time;

/// State for undoing the last reduction of the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Undo {
    /// The first unacknowledged segment at the beginning of the reduction. `None` if the reduction
    /// cannot be undone.
    pub marker: Option<u64>,
    /// Number of retransmissions that no D-SACK has proven spurious yet. `None` if there were no
    /// retransmissions.
    pub retrans: Option<u32>,
    /// ssthresh before the reduction. 0 means that undoing does not restore ssthresh.
    pub prior_ssthresh: u32,
    /// When the first retransmission of this recovery was sent.
    pub retrans_stamp: Option<Time>,
}

impl Undo {
    /// Records the start of a reduction. `una` is the first unacknowledged segment, and `out`
    /// retransmissions are in flight.
    pub fn begin(&mut self, una: u64, out: u32) {
        self.marker = Some(una);
        self.retrans = (out > 0).then_some(out);
    }

    /// Records a retransmission.
    pub fn retransmitted(&mut self, now: Time) {
        self.retrans_stamp.get_or_insert(now);
        self.retrans = Some(self.retrans.unwrap_or(0) + 1);
    }

    /// Records that a D-SACK reports segment `seq`, which had been retransmitted.
    pub fn duplicate(&mut self, seq: u64) {
        if let (Some(marker), Some(left)) = (self.marker, self.retrans)
            && left > 0
            && seq >= marker
        {
            self.retrans = Some(left - 1);
        }
    }

    /// Returns whether D-SACKs have reported every retransmission as a duplicate.
    pub fn all_duplicates(&self) -> bool {
        self.marker.is_some() && self.retrans == Some(0)
    }

    /// Returns whether the original of a segment has arrived. If so, the segment was late and not
    /// lost. The original has arrived if the echoed timestamp is older than the first
    /// retransmission, or if nothing has been retransmitted.
    pub fn was_delayed(&self, echo: Option<Time>) -> bool {
        match self.retrans_stamp {
            Some(stamp) => echo.is_some_and(|echo| timestamps::before(echo, stamp)),
            None => true,
        }
    }

    /// Returns whether the reduction may be undone (Linux `tcp_may_undo`).
    pub fn is_allowed(&self, echo: Option<Time>) -> bool {
        self.marker.is_some() && (self.retrans == Some(0) || self.was_delayed(echo))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::from_ms(n)
    }

    #[test]
    fn a_d_sack_for_each_retransmission_allows_it() {
        let mut undo = Undo::default();
        assert!(!undo.is_allowed(None), "there was no reduction");
        undo.begin(100, 0);
        assert_eq!(undo.retrans, None);
        assert!(undo.is_allowed(None), "nothing was sent again yet");
        assert!(!undo.all_duplicates());

        undo.retransmitted(ms(5));
        undo.retransmitted(ms(7));
        assert_eq!((undo.retrans, undo.retrans_stamp), (Some(2), Some(ms(5))));
        undo.duplicate(99);
        assert_eq!(undo.retrans, Some(2), "from before the reduction");
        undo.duplicate(100);
        assert_eq!((undo.retrans, undo.all_duplicates()), (Some(1), false));
        assert!(!undo.is_allowed(None));
        undo.duplicate(101);
        assert!(undo.all_duplicates() && undo.is_allowed(None));
        undo.duplicate(102);
        assert_eq!(undo.retrans, Some(0), "no less than none");

        undo.marker = None;
        assert!(!undo.all_duplicates() && !undo.is_allowed(None));
        undo.duplicate(103);
        undo.begin(200, 3);
        assert_eq!((undo.marker, undo.retrans), (Some(200), Some(3)));
    }

    #[test]
    fn so_does_an_echo_from_before_the_first_retransmission() {
        let mut undo = Undo::default();
        undo.begin(0, 0);
        undo.retransmitted(ms(5));
        assert!(undo.is_allowed(Some(ms(4))));
        assert!(!undo.is_allowed(Some(ms(5))), "in the same tick");
        assert!(!undo.was_delayed(None), "without timestamps nothing shows");
    }
}

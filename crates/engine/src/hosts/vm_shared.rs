//! Virtual machines that share processors with other virtual machines. Now and then, the hypervisor
//! runs another machine, and the host pauses for a time slice of Linux's scheduler.
//!
//! The length of a pause follows from the scheduler of the hypervisor (CFS, until Linux 6.5;
//! `kernel/sched/fair.c`). With eight processors or more, CFS multiplies its two settings by 4. The
//! scheduling period is then 24 ms (`sysctl_sched_latency` is 6 ms). The shortest slice is 3 ms
//! (`sysctl_sched_min_granularity` is 0.75 ms). Two machines that share a processor get half of the
//! period each, 12 ms. So we assume that a host waits between 3 and 12 ms for one other machine
//! that uses its whole slice. The distribution between these values is uniform, because we found no
//! measured distribution.
//!
//! How often a host pauses depends on the other machines, and no source states it. The mean time
//! between two pauses is therefore calibrated with the sum of the rates of all flows. This sum does
//! not show how flows share a link. A link idles whenever a pause is longer than the link's queue,
//! so pauses reduce the sum of the rates. With a mean gap of 2 s between pauses, the sum matches
//! PAM 2025, on average over all published rows (`tailback reproduce pam-2025-l4s`). We tried gaps
//! of 1 s and 2 s, and saw the errors of all results for both gaps. In `imc-bbr-2023`, whose hosts
//! are virtual machines too, pauses make the errors larger. So not all virtual machines have such
//! pauses.
//!
//! Deviations from a real virtual machine:
//!
//! - All processors of a host pause at the same time.
//! - Only packets that leave the host wait. Timers and pacing continue, and an ACK that arrives in a
//!   pause is processed at once. The packets that timers, pacing and ACKs release wait until the
//!   end of the pause, and then leave as one burst. The RTT that TCP measures includes the pauses
//!   of both hosts.
//! - The other virtual machine always uses its whole slice. In reality, it may block, or be
//!   preempted when this host wakes up.
//! - Whether a host is busy has no effect on its pauses.

use super::{HostKind, Pausing};
use crate::units::Time;

pub(super) const KIND: HostKind = HostKind {
    name: "vm-shared",
    doc: "Virtual machines that share processors: now and then a host pauses, and its packets wait \
          until the end of the pause.",
    source: "With the settings of Linux's scheduler CFS (`kernel/sched/fair.c`, up to Linux 6.5), \
             a task that shares a processor with one other task has slices of 3 to 12 ms. The \
             profile assumes that the other virtual machine uses its whole slice. The mean time \
             between two pauses is calibrated so that the total rate of all flows is the same as \
             in PAM 2025.",
    wait: None,
    pauses: Some(Pausing {
        length: [Time::from_ms(3), Time::from_ms(12)],
        gap: Time::from_secs(2),
    }),
};

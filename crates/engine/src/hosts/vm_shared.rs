//! Virtual machines that share processors with other virtual machines. Now and then, the hypervisor
//! runs another machine, and the host pauses for a time slice of Linux's scheduler.
//!
//! The length of a pause follows from the scheduler of the hypervisor (CFS, until Linux 6.5;
//! `kernel/sched/fair.c`). With eight processors or more, CFS multiplies its two settings by 4: the
//! scheduling period is 24 ms (`sysctl_sched_latency` 6 ms), and the shortest slice is 3 ms
//! (`sysctl_sched_min_granularity` 0.75 ms). Two machines that share a processor get half of the
//! period each, 12 ms. So a host that has to wait for one other machine waits between 3 and 12 ms.
//! The distribution between these values is uniform, because we found no measured one.
//!
//! How often a host pauses depends on the other machines, and no source says it. The mean time
//! between two pauses is therefore calibrated, with a sum that does not say how flows share a link.
//! A link idles whenever a pause is longer than its queue, so pauses reduce the sum of the rates.
//! With a gap of 2 s, this sum is as published in PAM 2025, on average over all published rows
//! (`tailback reproduce pam-2025-l4s`).
//!
//! Deviations from a real virtual machine:
//!
//! - All processors of a host pause at the same time.
//! - Only packets that leave the host wait. An ACK that arrives in a pause is processed at once,
//!   but what it prompts waits until the end of the pause. So the RTT that TCP measures includes
//!   the pause of the other host only.
//! - Pauses are independent of what the host does.

use super::{HostKind, Pausing};
use crate::units::Time;

pub(super) const KIND: HostKind = HostKind {
    name: "vm-shared",
    doc: "Virtual machines that share processors: now and then a host pauses, and its packets wait \
          until the end of the pause.",
    source: "The scheduler CFS of Linux (`kernel/sched/fair.c`, up to Linux 6.5) runs a task that \
             shares a processor with one other for 3 ms at least and 12 ms at most. The mean time \
             between two pauses is calibrated with the sum of both sides' rates in PAM 2025.",
    wait: None,
    pauses: Some(Pausing {
        length: [Time::from_ms(3), Time::from_ms(12)],
        gap: Time::from_secs(2),
    }),
};

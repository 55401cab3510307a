//! Virtual machines of KVM whose network interface is a virtual function of a ConnectX adapter
//! (SR-IOV), with the defaults of Linux and KVM.
//!
//! We found no measured distribution of the waits in such hosts. The shortest and the longest wait
//! are therefore sums of documented values, and the distribution between them is uniform. No value
//! was chosen for its effect on results. A wait has two components:
//!
//! 1. **The adapter delays interrupts.** The driver mlx5 adapts this delay to the traffic ("By
//!    default, the driver uses adaptive interrupt moderation for the receive path", NVIDIA MLNX_EN
//!    documentation). Linux's `lib/dim/net_dim.c` has five lengths for the period of interrupt
//!    moderation: 2, 8, 16, 32 and 64 us. The period begins with a completion, and restarts with
//!    each further completion.
//! 2. **The hypervisor wakes the virtual processor.** If KVM polls for the interrupt, the wake-up
//!    takes little time. A round trip of a request takes 34 us without polling and 27 us with
//!    polling (commit message of "KVM: dynamic halt-polling", Linux 4.4). The difference of 7 us is
//!    the shortest wait here: a halt of a processor that does not sleep. KVM stops polling after
//!    200 us (`KVM_HALT_POLL_NS_DEFAULT`, x86). The physical processor may then sleep. According to
//!    Linux's table of idle states (`intel_idle.c`), a server processor needs 170 us to leave its
//!    deepest state (C6 of Ice Lake). This time is the longest wait here.
//!
//! So a wait is 9 to 234 us; we round these values to 10 and 230 us. A measurement that we did not
//! use lies within this range. In a guest of KVM, a sleep ends 30 to 80 us late, "depending on
//! system load" (github.com/Solo5/solo5, issue 460).
//!
//! Deviations from a real virtual machine:
//!
//! - A wait is independent of earlier waits. In KVM, a wait depends on how long the processor was
//!   idle.
//! - A virtual machine has several processors and several queues of its interface. In tailback, all
//!   packets of a host that leave in one direction wait for the same wake-up.
//! - Another virtual machine on the same core never delays this machine by a scheduler's time slice
//!   of some milliseconds. Hosts of the kind `vm-shared` have such pauses.

use super::HostKind;
use crate::units::Time;

pub(super) const KIND: HostKind = HostKind {
    name: "vm",
    doc: "Virtual machines of KVM with SR-IOV: packets wait until an interrupt has woken the host, \
          and then leave together.",
    source: "The network driver mlx5 delays interrupts by 2 to 64 us (Linux `lib/dim/net_dim.c`). \
             KVM wakes a virtual processor in 7 us if the physical processor does not sleep \
             (commit message of \"KVM: dynamic halt-polling\"). A sleeping server processor needs \
             up to 170 us to wake (Linux `intel_idle.c`). The profile's shortest and longest waits \
             are rounded sums of these delays.",
    wait: Some([Time::from_us(10), Time::from_us(230)]),
    pauses: None,
};

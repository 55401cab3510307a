//! Congestion controls: their interface with the stack, and one file for each congestion control.

mod contract;
mod forward;
pub(crate) mod hook;
mod limited;
mod view;
mod window;

mod abe;
pub mod bbr;
pub mod bbr2;
pub mod bbr3;
mod bbr_model;
pub mod cubic;
pub mod cubic_sce;
pub mod dctcp;
pub mod dctcp_sce;
pub mod ecn;
pub mod ledbat;
pub mod prague;
pub mod reno;
pub mod reno_sce;
mod sce;
mod slow_start;
#[cfg(test)]
mod testing;

pub use contract::{Build, CeEcho, CongestionControl, Control, CwndEvent, EcnNeed, Needs, Signal};
pub use hook::Hook;
pub use view::{Ack, CaState, Conn, Flight, LostSegment, RateSample, View};
pub use window::{INFINITE_SSTHRESH, MAX_CWND, Window};

use crate::registry::kernel::{Kernel, Module};
use crate::registry::{Entry, Table};

/// The congestion controls built into tailback. Add a line here for each new congestion control.
#[rustfmt::skip]
pub const ENTRIES: &[&Entry<Build>] = &[
    &bbr::ENTRY,
    &bbr2::ENTRY,
    &bbr3::ENTRY,
    &cubic::ENTRY,
    &cubic_sce::ENTRY,
    &dctcp::ENTRY,
    &dctcp_sce::ENTRY,
    &ledbat::ENTRY,
    &prague::ENTRY,
    &reno::ENTRY,
    &reno_sce::ENTRY,
];

/// Every congestion control, including those of plugins.
pub static TABLE: Table<Build> = Table::of(ENTRIES);

/// Returns how the kernel engine runs the congestion control that the kernel knows by this name.
/// The congestion control may be part of Linux, or one of tailback's own modules.
pub fn face(name: &str) -> Option<&'static Module> {
    let mut faces = TABLE
        .entries()
        .iter()
        .filter_map(|entry| match entry.kernel {
            Kernel::Module(face) => Some(face),
            _ => None,
        });
    faces.find(|face| face.name == name || face.stand_ins().any(|own| own.name == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_face_is_found_by_the_names_of_linux_and_of_own_modules() {
        let mut stand_ins = 0;
        for entry in ENTRIES {
            if let Kernel::Module(module) = entry.kernel {
                assert!(face(module.name).is_some(), "{}", module.name);
                for own in module.stand_ins() {
                    stand_ins += 1;
                    assert!(face(own.name).is_some(), "{}", own.name);
                }
            }
        }
        assert!(stand_ins > 0);
        assert!(face("cubik").is_none());
    }
}

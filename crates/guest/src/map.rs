//! A plan as a job for the guest, or the reasons why Linux cannot run it.

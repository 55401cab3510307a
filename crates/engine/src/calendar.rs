//! The event calendar: at most one pending entry per component, in a total
//! order by (time, component).

//! Plans as jobs, in full; and what is refused, by place.

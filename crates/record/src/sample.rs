//! Declares the quantities of flows, links and programs that are sampled over time. The module also
//! declares when a sample of a quantity becomes a row of the series.
//!
//! To add a quantity, add a line to the declarations in this file, and set the new field in each
//! engine that provides the value. In addition, algorithms declare gauges: internal values that are
//! also sampled.

use crate::{Series, SeriesId};

/// A sampled quantity.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Name of the quantity, with the unit as suffix unless the quantity is a count.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// What the quantity means.
    pub doc: &'static str,
    /// When the quantity is recorded.
    pub when: When,
}

/// When a quantity is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At every record interval. If the run records ACKs, the quantity is recorded after every ACK
    /// instead.
    State,
    /// At every record interval.
    Interval,
    /// At every record interval, unless the run records ACKs.
    NoAcks,
    /// After every ACK, if the run records ACKs.
    Ack,
}

impl When {
    /// Returns the text for the documentation that states when the quantity is recorded.
    pub const fn doc(self) -> &'static str {
        match self {
            When::State => "every interval; with `series = \"acks\"` after every ACK",
            When::Interval => "every interval",
            When::NoAcks => "every interval, except with `series = \"acks\"`",
            When::Ack => "with `series = \"acks\"` after every ACK",
        }
    }
}

macro_rules! quantities {
    ($(#[$about:meta])* $state:ident { $($name:ident, $unit:literal, $when:ident, $doc:literal;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $state {
            $(#[doc = $doc] pub $name: Option<f64>,)*
        }

        impl $state {
            /// The quantities, in the order of the series.
            pub const QUANTITIES: &[Quantity] = &[
                $(Quantity { name: stringify!($name), unit: $unit, doc: $doc, when: When::$when },)*
            ];

            /// Returns how many quantities are recorded at any of the times in `when`.
            pub fn rows(when: &[When]) -> u64 {
                let all = Self::QUANTITIES.iter();
                all.filter(|quantity| when.contains(&quantity.when)).count() as u64
            }

            /// Returns the current values, in the order of `QUANTITIES`.
            fn values(&self) -> impl Iterator<Item = Option<f64>> {
                [$(self.$name),*].into_iter()
            }
        }
    };
}

quantities! {
    /// The state of a flow. A field is `None` if its value is unknown or does not exist.
    FlowState {
        cwnd, "segments", State, "Congestion window.";
        ssthresh, "segments", State, "Slow-start threshold. The threshold has no value until the \
            sender sets it.";
        srtt_ns, "ns", Interval, "The sender's smoothed round-trip time.";
        in_flight, "segments", State, "Segments in flight: sent or retransmitted, but not yet \
            acknowledged, SACKed or marked as lost.";
        delivered_bytes, "bytes", NoAcks, "Payload delivered in order.";
        ca_state, "", Ack, "Congestion state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.";
        acked_bytes, "bytes", Ack, "Payload acknowledged.";
    }
}

quantities! {
    /// The state of a link's queue.
    LinkState {
        backlog_packets, "packets", Interval, "Packets in the queue.";
        backlog_bytes, "bytes", Interval, "Frame bytes in the queue.";
    }
}

quantities! {
    /// The state of a program.
    ProgramState {
        delivered_bytes, "bytes", Interval, "Payload that has reached the receiver's host. For \
            TCP, only data delivered in order counts.";
        back_bytes, "bytes", Interval, "Payload that has reached the sender's host. For TCP, only \
            data delivered in order counts.";
        rtt_ns, "ns", Interval, "Mean round-trip time of the program's packets in the \
            interval.";
        delay_ns, "ns", Interval, "Mean queue delay of the sender's packets in the interval.";
        cwnd, "segments", Interval, "Congestion window of the sender's busiest TCP socket.";
        ssthresh, "segments", Interval, "Slow-start threshold of the sender's busiest TCP socket. \
            The threshold has no value until the socket sets it.";
        srtt_ns, "ns", Interval, "Smoothed round-trip time of the sender's busiest TCP socket.";
        in_flight, "segments", Interval, "Segments in flight of the sender's busiest TCP socket.";
    }
}

/// The series of a flow.
///
/// Series are declared in this order: quantities that are always recorded, internal values of
/// algorithms (gauges), then quantities recorded after every ACK. A sampler computes all ids from
/// the first id, so a flow does not need a list of ids.
pub struct FlowSampler {
    first: SeriesId,
    gauges: u32,
    acks: bool,
    /// Congestion window at its last change.
    cwnd: f64,
}

impl FlowSampler {
    /// Declares the series of a flow. `acks` tells whether to record quantities after every ACK.
    pub fn new(series: &mut Series, flow: &str, gauges: &[&str], acks: bool) -> FlowSampler {
        let mut declare = |name: &str| series.id(Some(flow), None, name);
        let (after_acks, anyway): (Vec<_>, Vec<_>) = FlowState::QUANTITIES
            .iter()
            .map(|quantity| (quantity.when == When::Ack, quantity.name))
            .partition(|(ack, _)| *ack);
        let anyway = anyway.iter().map(|(_, name)| *name);
        let after_acks = after_acks.iter().map(|(_, name)| *name).filter(|_| acks);
        let names = anyway.chain(gauges.iter().copied()).chain(after_acks);
        let ids: Vec<SeriesId> = names.map(&mut declare).collect();
        FlowSampler {
            first: ids[0],
            gauges: gauges.len() as u32,
            acks,
            cwnd: 0.0,
        }
    }

    fn first_gauge(&self) -> SeriesId {
        self.first
            .plus(FlowState::rows(&[When::State, When::Interval, When::NoAcks]) as u32)
    }

    fn ids_of_gauges(&self) -> impl Iterator<Item = SeriesId> {
        let first = self.first_gauge();
        (0..self.gauges).map(move |gauge| first.plus(gauge))
    }

    /// Returns whether quantities are recorded after every ACK.
    pub fn acks(&self) -> bool {
        self.acks
    }

    /// Records the values at the end of a record interval. `gauges` contains the gauges in the
    /// order of their declaration.
    pub fn interval<G: Into<Option<f64>>>(
        &self,
        at_ns: u64,
        state: &FlowState,
        gauges: impl IntoIterator<Item = G>,
        series: &mut Series,
    ) {
        if self.acks {
            self.push(&[When::Interval], at_ns, state, series);
        } else {
            let when = [When::State, When::Interval, When::NoAcks];
            self.push(&when, at_ns, state, series);
            push_gauges(self.ids_of_gauges(), at_ns, gauges, series);
        }
    }

    /// Records the state of the sender after an ACK has arrived or a timer has fired.
    pub fn ack<G: Into<Option<f64>>>(
        &self,
        at_ns: u64,
        state: &FlowState,
        gauges: impl IntoIterator<Item = G>,
        series: &mut Series,
    ) {
        self.push(&[When::State, When::Ack], at_ns, state, series);
        push_gauges(self.ids_of_gauges(), at_ns, gauges, series);
    }

    /// Records the window if it has changed.
    pub fn window(&mut self, at_ns: u64, cwnd: f64, series: &mut Series) {
        if cwnd != self.cwnd {
            self.cwnd = cwnd;
            let state = FlowState {
                cwnd: Some(cwnd),
                ..FlowState::default()
            };
            self.push(&[When::State], at_ns, &state, series);
        }
    }

    fn push(&self, when: &[When], at_ns: u64, state: &FlowState, series: &mut Series) {
        let (mut anyway, mut after_acks) = (self.first, self.first_gauge().plus(self.gauges));
        for (quantity, value) in FlowState::QUANTITIES.iter().zip(state.values()) {
            let next = match quantity.when {
                When::Ack => &mut after_acks,
                When::State | When::Interval | When::NoAcks => &mut anyway,
            };
            let id = std::mem::replace(next, next.plus(1));
            if let Some(value) = value
                && when.contains(&quantity.when)
            {
                series.push(id, at_ns, value);
            }
        }
    }
}

/// Records internal values of algorithms (gauges) in the order of declaration. A gauge without a
/// value adds no row.
fn push_gauges<G: Into<Option<f64>>>(
    ids: impl IntoIterator<Item = SeriesId>,
    at_ns: u64,
    gauges: impl IntoIterator<Item = G>,
    series: &mut Series,
) {
    for (id, gauge) in ids.into_iter().zip(gauges) {
        if let Some(value) = gauge.into() {
            series.push(id, at_ns, value);
        }
    }
}

/// The series of a link.
pub struct LinkSampler {
    /// Ids in the order of [`LinkState::QUANTITIES`].
    ids: Vec<SeriesId>,
    gauges: Vec<SeriesId>,
}

impl LinkSampler {
    /// Declares the series of a link.
    pub fn new(series: &mut Series, link: &str, gauges: &[&str]) -> LinkSampler {
        let mut declare = |name: &str| series.id(None, Some(link), name);
        LinkSampler {
            ids: (LinkState::QUANTITIES.iter())
                .map(|quantity| declare(quantity.name))
                .collect(),
            gauges: gauges.iter().map(|gauge| declare(gauge)).collect(),
        }
    }

    /// Records the values at the end of a record interval. `gauges` contains the gauges in the
    /// order of their declaration.
    pub fn interval<G: Into<Option<f64>>>(
        &self,
        at_ns: u64,
        state: &LinkState,
        gauges: impl IntoIterator<Item = G>,
        series: &mut Series,
    ) {
        push_gauges(self.ids.iter().copied(), at_ns, state.values(), series);
        push_gauges(self.gauges.iter().copied(), at_ns, gauges, series);
    }
}

/// The series of a program.
pub struct ProgramSampler {
    /// Ids in the order of [`ProgramState::QUANTITIES`].
    ids: Vec<SeriesId>,
}

impl ProgramSampler {
    /// Declares the series of a program.
    pub fn new(series: &mut Series, program: &str) -> ProgramSampler {
        let all = ProgramState::QUANTITIES.iter();
        let ids = all.map(|quantity| series.id(Some(program), None, quantity.name));
        ProgramSampler { ids: ids.collect() }
    }

    /// Records the values at the end of a record interval.
    pub fn interval(&self, at_ns: u64, state: &ProgramState, series: &mut Series) {
        for (id, value) in self.ids.iter().zip(state.values()) {
            if let Some(value) = value {
                series.push(*id, at_ns, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(acks: bool) -> (Vec<String>, Vec<(String, u64)>) {
        let mut series = Series::default();
        let mut sampler = FlowSampler::new(&mut series, "a", &["alpha"], acks);
        let state = FlowState {
            cwnd: Some(10.0),
            ssthresh: None,
            srtt_ns: Some(1.0),
            in_flight: Some(2.0),
            delivered_bytes: Some(3.0),
            ca_state: Some(0.0),
            acked_bytes: Some(4.0),
        };
        sampler.interval(1, &state, [0.5], &mut series);
        if acks {
            sampler.ack(2, &state, [0.5], &mut series);
        } else {
            sampler.window(2, 10.0, &mut series);
            sampler.window(3, 10.0, &mut series);
        }
        let keys: Vec<String> = series.keys.iter().map(|k| k.quantity.to_string()).collect();
        let rows = series.rows();
        let rows = rows.map(|row| (keys[row.key as usize].clone(), row.time_ns));
        let rows = rows.collect();
        (keys, rows)
    }

    #[test]
    fn each_mode_has_its_quantities() {
        let (keys, rows) = recorded(false);
        let expected = [
            "cwnd",
            "ssthresh",
            "srtt_ns",
            "in_flight",
            "delivered_bytes",
            "alpha",
        ];
        assert_eq!(keys, expected);
        let at = |name: &str, at| (name.to_owned(), at);
        assert_eq!(
            rows,
            [
                at("cwnd", 1),
                at("srtt_ns", 1),
                at("in_flight", 1),
                at("delivered_bytes", 1),
                at("alpha", 1),
                at("cwnd", 2),
            ]
        );
        let (keys, rows) = recorded(true);
        assert_eq!(keys[..6], expected);
        assert_eq!(keys[6..], ["ca_state", "acked_bytes"]);
        assert_eq!(
            rows,
            [
                at("srtt_ns", 1),
                at("cwnd", 2),
                at("in_flight", 2),
                at("ca_state", 2),
                at("acked_bytes", 2),
                at("alpha", 2),
            ]
        );
    }

    #[test]
    fn what_is_unknown_has_no_row() {
        let mut series = Series::default();
        let link = LinkSampler::new(&mut series, "l", &["p", "q"]);
        link.interval(5, &LinkState::default(), [None, Some(0.5)], &mut series);
        let keys = |series: &Series| -> Vec<String> {
            let rows = series.rows();
            rows.map(|row| series.keys[row.key as usize].quantity.to_string())
                .collect()
        };
        assert_eq!(keys(&series), ["q"]);
        let first = series.rows().next().expect("a row");
        assert_eq!((first.time_ns, first.value), (5, 0.5));

        let mut series = Series::default();
        let program = ProgramSampler::new(&mut series, "p");
        program.interval(5, &ProgramState::default(), &mut series);
        assert!(series.is_empty());
        let declared: Vec<_> = series.keys.iter().map(|key| key.flow.as_deref()).collect();
        assert_eq!(declared, vec![Some("p"); ProgramState::QUANTITIES.len()]);
    }

    #[test]
    fn a_program_has_a_row_for_each_value_that_is_known() {
        let mut series = Series::default();
        let program = ProgramSampler::new(&mut series, "p");
        let state = ProgramState {
            back_bytes: Some(3.0),
            cwnd: Some(10.0),
            ..ProgramState::default()
        };
        program.interval(5, &state, &mut series);
        let rows: Vec<(&str, u64, f64)> = series
            .rows()
            .map(|row| {
                let quantity = &*series.keys[row.key as usize].quantity;
                (quantity, row.time_ns, row.value)
            })
            .collect();
        assert_eq!(rows, [("back_bytes", 5, 3.0), ("cwnd", 5, 10.0)]);
    }
}

//! Reads the statistics of a link from its queue discipline.

use tailback_engine::aqm;
use tailback_guest::job::{Job, Link};
use tailback_record::{LinkSampler, LinkState, Outcome, Series, Totals};

use super::io;
use super::qdisc::{Probe, Statistics};
use super::setup::Namespaces;

pub struct LinkProbe {
    probe: Probe,
    /// The qdisc that loses packets on the wire after the queue, and the qdisc's statistics at the
    /// end of the warm-up.
    wire: Option<(Probe, Statistics)>,
    /// The queue's statistics at the end of the warm-up.
    base: Statistics,
    sampler: Option<LinkSampler>,
}

impl LinkProbe {
    /// Opens the probe, and declares the quantities to sample.
    pub fn open(
        link: &Link,
        job: &Job,
        namespaces: &Namespaces,
        series: &mut Series,
    ) -> Result<LinkProbe, String> {
        namespaces.enter(link.namespace)?;
        let what = format!("statistics of {}", link.name);
        let probe = Probe::new(&link.device, &link.kind).map_err(io(&what))?;
        let gauges = aqm::face(&link.kind).map_or(&[][..], |face| face.xstats.gauges);
        let gauges: Vec<&str> = gauges.iter().map(|gauge| gauge.series).collect();
        let sampler = || LinkSampler::new(series, &link.name, &gauges);
        let wire = match link.loss_namespace {
            None => None,
            Some(namespace) => {
                namespaces.enter(namespace)?;
                let kind = link.loss_kind.as_deref().unwrap_or("netem");
                let probe = Probe::new("out", kind).map_err(io(&what))?;
                Some((probe, Statistics::default()))
            }
        };
        Ok(LinkProbe {
            probe,
            wire,
            base: Statistics::default(),
            sampler: job.record.series.then(sampler),
        })
    }

    pub fn read(&mut self) -> Result<Option<Statistics>, String> {
        self.probe.read().map_err(io("statistics"))
    }

    /// Returns the current statistics of the wire's qdisc, or `None` if the link has no wire that
    /// loses packets.
    pub fn read_wire(&mut self) -> Result<Option<Statistics>, String> {
        match &mut self.wire {
            None => Ok(None),
            Some((probe, _)) => probe.read().map_err(io("statistics")),
        }
    }

    pub fn end_warmup(&mut self) -> Result<(), String> {
        self.base = self.read()?.unwrap_or_default();
        if let Some((probe, base)) = &mut self.wire {
            *base = probe.read().map_err(io("statistics"))?.unwrap_or_default();
        }
        Ok(())
    }

    pub fn sample(&mut self, now: u64, series: &mut Series) -> Result<(), String> {
        if self.sampler.is_none() {
            return Ok(());
        }
        let statistics = self.read()?.unwrap_or_default();
        if let Some(sampler) = &self.sampler {
            let state = LinkState {
                backlog_packets: Some(f64::from(statistics.packets)),
                backlog_bytes: Some(f64::from(statistics.bytes)),
            };
            sampler.interval(now, &state, statistics.gauges, series);
        }
        Ok(())
    }

    /// Returns the total drops and marks of a link whose packets are not captured.
    pub fn totals(
        &self,
        (now, wire): (&Statistics, Option<&Statistics>),
        outcome: &mut Outcome,
        index: usize,
    ) {
        let counted = now.since(&self.base);
        let base = self.wire.as_ref().map(|(_, base)| base);
        let lost = wire
            .zip(base)
            .map_or(0, |(now, base)| now.since(base).drops);
        let link = &mut outcome.links[index];
        link.packets = u64::from(counted.sent_packets);
        link.bytes = counted.sent_bytes;
        link.totals = Some(Totals {
            drops: u64::from(counted.drops) + u64::from(lost),
            marks: counted.marks.map(u64::from),
        });
    }
}

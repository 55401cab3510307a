//! Collects the measurements and the environment at the end of a run.

use std::fs;

use tailback_engine::plan::RatePlan;
use tailback_engine::units::{Rate, Time};
use tailback_guest::job::Tool;
use tailback_guest::result::{Environment, GuestResult};
use tailback_record::{Ended, Measured, Outcome, TrafficOutcome};

use super::{Player, Runner};
use crate::agent::flow::Connection;
use crate::agent::gates;
use crate::agent::io;
use crate::agent::link::LinkProbe;
use crate::agent::programs::With;
use crate::agent::qdisc::Statistics;
use crate::agent::setup;
use crate::agent::sys::{Poll, READABLE};
use crate::agent::tcp::Info;
use crate::agent::token::{TIMER, token};

impl Runner<'_> {
    pub(super) fn finish(mut self) -> Result<GuestResult, String> {
        let job = self.job;
        let end = job.duration_ns;
        // Read the sockets first, because their state changes after the end of the run.
        let infos: Vec<[Info; 2]> = self.connections.iter().map(Connection::infos).collect();
        let all_requests: Vec<Option<TrafficOutcome>> = self
            .players
            .iter()
            .map(|player| match player {
                Player::Datagrams(_) => None,
                Player::Requests(requests) => Some(requests.outcome(job)),
            })
            .collect();
        self.captures.drain(end);
        self.receive_datagrams();
        let statistics = self.probes.iter_mut().map(LinkProbe::read);
        let statistics: Vec<Option<Statistics>> = statistics.collect::<Result<_, _>>()?;
        let wires = self.probes.iter_mut().map(LinkProbe::read_wire);
        let wires: Vec<Option<Statistics>> = wires.collect::<Result<_, _>>()?;
        for (index, says) in statistics.iter().enumerate() {
            self.finish_queue(index, says.as_ref());
            if let Some(says) = &wires[index] {
                self.finish_wire(index, says);
            }
        }
        if job.offloads {
            self.warnings.push(
                "offloads are on: packets of up to 64 kB pass the queues, and are counted, as one"
                    .to_owned(),
            );
        }
        let packets = self.captures.finish_packets();
        let mut outcome = Outcome {
            duration_ns: end,
            warmup_ns: job.warmup_ns,
            data_packets: self.data_segments_before_warmup,
            unwatched: !self.captures.on(),
            packets: packets.map_err(io("packets.pcapng"))?,
            events: self.captures.captured,
            series: std::mem::take(&mut self.series),
            ..Outcome::default()
        };
        for (index, (connection, infos)) in self.connections.iter().zip(infos).enumerate() {
            let mut flow = connection.outcome(infos, job);
            flow.rtt = self.captures.take_rtt(index);
            outcome.flows.push(flow);
            self.warnings.extend(connection.warning());
        }
        for (player, requests) in self.players.iter().zip(all_requests) {
            outcome.traffic.push(match (player, requests) {
                (Player::Datagrams(source), _) => source.outcome(job),
                (Player::Requests(requests), known) => {
                    self.warnings.extend(requests.warning());
                    known.unwrap_or_default()
                }
            });
        }
        let ends: Vec<[Option<Ended>; 2]> = (0..job.programs.len())
            .map(|program| {
                let ends = self.programs.ends(program);
                ends.map(|end| {
                    let end = end?;
                    Some(Ended {
                        status: end.status,
                        at_ns: end.at_ns,
                    })
                })
            })
            .collect();
        outcome.programs = self.captures.take_programs(&ends, &mut outcome.series);
        let links = self.captures.take_meters().zip(&job.links);
        let links = links.map(|(meter, link)| {
            let steps = link.rates.iter();
            let rate = RatePlan::Steps(steps.map(|&(at, rate)| (Time(at), Rate(rate))).collect());
            Measured {
                name: link.name.clone(),
                aqm: link.aqm.clone(),
                meter,
                capacity: move |from, to| rate.capacity_bytes(Time(from), Time(to)),
            }
        });
        outcome.complete(links, job.record.series);
        if outcome.unwatched {
            for (index, (probe, now)) in self.probes.iter().zip(statistics).enumerate() {
                if let Some(now) = now {
                    probe.totals((&now, wires[index].as_ref()), &mut outcome, index);
                }
            }
        }
        let mut environment = self.environment()?;
        let mut about_programs = self.end_programs()?;
        // Call this function after the programs have ended, because the function starts processes.
        // While programs run, the guest may not have enough memory for more processes.
        about_programs.extend(gates::warnings(job, self.namespaces)?);
        environment.warnings.extend_from_slice(&about_programs);
        Ok(GuestResult {
            outcome,
            environment,
            about_programs,
        })
    }

    /// Ends the programs. Call this function last, after all measurements.
    fn end_programs(&mut self) -> Result<Vec<String>, String> {
        // Use a new poll, because the main poll would report the sockets of flows again and again.
        // The agent no longer reads from these sockets.
        let poll = Poll::new().map_err(io("epoll"))?;
        poll.add(self.timer.fd(), READABLE, token(TIMER, 0))
            .map_err(io("epoll"))?;
        self.programs.watch(&poll)?;
        let with = With {
            namespaces: self.namespaces,
            poll: &poll,
            timer: &self.timer,
        };
        self.programs.end(&with)?;
        self.programs.keep()
    }

    fn finish_queue(&mut self, index: usize, says: Option<&Statistics>) {
        let (queue, name) = (
            &mut self.captures.queues[index],
            &self.job.links[index].name,
        );
        queue.finish(
            says.map(|s| u64::from(s.packets)),
            says.map(|s| u64::from(s.drops)),
            says.and_then(|s| s.marks).map(u64::from),
        );
        let (strangers, dropped) = (queue.strangers, queue.dropped);
        if strangers > 0 {
            self.warnings.push(format!(
                "link {name}: {strangers} packets left the queue that were not seen entering it"
            ));
        }
        if let Some(says) = says
            && self.captures.on()
            && u64::from(says.drops) != dropped
        {
            self.warnings.push(format!(
                "link {name}: the queue counts {} drops, the captures show {dropped}",
                says.drops
            ));
        }
    }

    fn finish_wire(&mut self, index: usize, says: &Statistics) {
        let lost = self.captures.finish_wire(index, u64::from(says.packets));
        let link = &self.job.links[index];
        if let Some(lost) = lost
            && lost != u64::from(says.drops)
        {
            let (name, kind) = (&link.name, link.loss_kind.as_deref().unwrap_or("netem"));
            self.warnings.push(format!(
                "link {name}: {kind} counts {} packets lost behind the queue, the captures show {lost}",
                says.drops
            ));
        }
    }

    fn environment(&mut self) -> Result<Environment, String> {
        let mut environment = Environment {
            kernel: trimmed("/proc/sys/kernel/osrelease"),
            iproute2: setup::tool_output(Tool::Tc, &["-V"]),
            captured: self.captures.captured,
            capture_lost: self.captures.lost(),
            clock_at_start_ns: self.clock_at_start_ns,
            ..Environment::default()
        };
        if environment.capture_lost > 0 {
            self.warnings.push(format!(
                "{} packets were not captured: delays, drops and marks are incomplete",
                environment.capture_lost
            ));
        }
        for index in 0..self.namespaces.len() {
            self.namespaces.enter(index)?;
            let name = self.namespaces.name(index).to_owned();
            environment.qdiscs.push((
                name.clone(),
                setup::tool_output(Tool::Tc, &["-d", "qdisc", "show"]),
            ));
            for (path, _) in &self.job.namespaces[index].sysctls {
                let value = trimmed(&format!("/proc/sys/{path}"));
                environment
                    .sysctls
                    .push((name.clone(), path.clone(), value));
            }
            for veth in &self.job.veths {
                for device in [&veth.a, &veth.b] {
                    if device.namespace == index {
                        let what = format!("{name}/{}", device.name);
                        environment
                            .offloads
                            .push((what, setup::features(&device.name)));
                    }
                }
            }
        }
        for link in &self.job.links {
            self.namespaces.enter(link.namespace)?;
            let text = setup::tool_output(Tool::Tc, &["-s", "qdisc", "show", "dev", &link.device]);
            environment.statistics.push((link.name.clone(), text));
        }
        if memory_pressure() {
            self.warnings
                .push("TCP came under memory pressure: give the guest more memory".to_owned());
        }
        environment.warnings = std::mem::take(&mut self.warnings);
        Ok(environment)
    }
}

fn trimmed(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|e| e.to_string(), |text| text.trim().to_owned())
}

/// Returns whether TCP is short of memory, as the column "press" of /proc/net/protocols shows.
fn memory_pressure() -> bool {
    let text = fs::read_to_string("/proc/net/protocols").unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with("TCP "))
        .any(|line| line.split_whitespace().nth(4) == Some("yes"))
}

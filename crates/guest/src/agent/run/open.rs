//! Opens the sockets, captures and probes that a run needs.

use std::collections::BinaryHeap;
use std::sync::Arc;

use tailback_engine::registry;
use tailback_engine::rng::Stream;
use tailback_engine::traffic::{self, Transport};
use tailback_guest::job::{Job, Source};
use tailback_record::Series;

use super::{Player, Runner};
use crate::agent::capture::Captures;
use crate::agent::clock::Clock;
use crate::agent::crowd::Crowd;
use crate::agent::datagrams::Datagrams;
use crate::agent::flow::Connection;
use crate::agent::io;
use crate::agent::link::LinkProbe;
use crate::agent::programs::Programs;
use crate::agent::requests::{Pool, Requests, Tokens};
use crate::agent::setup::Namespaces;
use crate::agent::sys::{EDGE, Poll, READABLE, Timer};
use crate::agent::tcp::Zeros;
use crate::agent::token::{
    ECHO, REQUEST_CLIENT, REQUEST_LISTENER, REQUEST_SERVER, SENDER_RING, TIMER,
};
use crate::agent::token::{REQUEST_SOURCE_BITS, token};

impl<'a> Runner<'a> {
    pub(super) fn new(job: &'a Job, namespaces: &'a Namespaces) -> Result<Runner<'a>, String> {
        let mut series = Series::default();
        let poll = Poll::new().map_err(io("epoll"))?;
        let timer = Timer::new().map_err(io("timer"))?;
        // With edge triggering, the poll reports each expiry of the timer once, so the agent does
        // not have to clear the expiry.
        poll.add(timer.fd(), READABLE | EDGE, token(TIMER, 0))
            .map_err(io("epoll"))?;
        let captures = Captures::open(job, namespaces).map_err(io("captures"))?;
        let mut probes = Vec::new();
        for link in &job.links {
            probes.push(LinkProbe::open(link, job, namespaces, &mut series)?);
        }
        let mut connections = Vec::new();
        for flow in job.flows.iter().enumerate() {
            let with = (job, namespaces, &poll);
            connections.push(Connection::open(flow, with, &mut series)?);
        }
        let mut players = Vec::new();
        for (index, source) in job.sources.iter().enumerate() {
            players.push(open_player(index, source, (job, namespaces, &poll))?);
        }
        let programs = Programs::open(job)?;
        if job.record.changes || job.record.acks {
            for (namespace, fd) in captures.sender_rings() {
                poll.add(fd, READABLE | EDGE, token(SENDER_RING, namespace))
                    .map_err(io("epoll"))?;
            }
        }
        Ok(Runner {
            job,
            namespaces,
            poll,
            timer,
            armed: None,
            due: BinaryHeap::new(),
            clock: Clock::new(),
            clock_at_start_ns: 0,
            crowd: Crowd::open(job, namespaces)?,
            connections,
            players,
            programs,
            probes,
            captures,
            datagrams: 0,
            series,
            zeros: Arc::new(Zeros::new(job.offloads).map_err(io("payload"))?),
            warnings: Vec::new(),
            data_segments_before_warmup: 0,
        })
    }
}

fn open_player<'a>(
    index: usize,
    source: &'a Source,
    (job, namespaces, poll): (&Job, &Namespaces, &Poll),
) -> Result<Player<'a>, String> {
    let entry = registry::find(traffic::ENTRIES, &source.kind)
        .ok_or_else(|| format!("source {}: no kind {}", source.name, source.kind))?;
    let options = registry::read_texts(entry.options, &source.options)
        .map_err(|e| format!("source {}: {e}", source.name))?;
    let stream = Stream::new(job.seed, &source.name, "traffic");
    let machine = (entry.build.source)(&options, stream);
    let transport = entry.build.transport;
    if let Some(connections) = &source.connections {
        let first = |kind| token(kind, index << REQUEST_SOURCE_BITS);
        let tokens = Tokens {
            listener: first(REQUEST_LISTENER),
            clients: first(REQUEST_CLIENT),
            servers: first(REQUEST_SERVER),
        };
        let pool = traffic::web::reuses(&options);
        let pool = pool.then(|| Pool::new(traffic::web::collects(&options)));
        let requests = Requests::open(
            source,
            connections,
            (machine, pool),
            tokens,
            (job, namespaces, poll),
        )?;
        return Ok(Player::Requests(Box::new(requests)));
    }
    let Transport::Datagrams(of) = transport else {
        return Err(format!("{}: no connections in the job", source.name));
    };
    let kind = of(&options);
    let datagrams = Datagrams::open(source, machine, &kind, (job, namespaces))?;
    let datagrams = datagrams.acting(kind.role, (poll, token(ECHO, index)))?;
    Ok(Player::Datagrams(Box::new(datagrams)))
}

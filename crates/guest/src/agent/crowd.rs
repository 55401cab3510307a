//! Many flows: what their sockets say, of all of a host's at once. A call for each of them
//! would cost more than their packets.

use std::collections::HashMap;
use std::io;

use tailback_guest::job::Job;

use super::diag::Diag;
use super::setup::Namespaces;
use super::tcp::Info;

/// Flows for which it pays: the kernel looks through all of its connections.
const CROWD: usize = 16;

/// Hosts, and what the ends of flows there said.
pub struct Crowd {
    hosts: Vec<Diag>,
    /// The flow of a port and whether its sender is at that host, for each host.
    ends: Vec<HashMap<u16, (usize, usize)>>,
    /// Of each flow the sender's and the receiver's.
    infos: Vec<[Option<Info>; 2]>,
}

impl Crowd {
    /// `None`: so few flows are asked one by one.
    pub fn open(job: &Job, namespaces: &Namespaces) -> Result<Option<Crowd>, String> {
        if job.flows.len() < CROWD {
            return Ok(None);
        }
        let mut places: Vec<usize> = job
            .flows
            .iter()
            .flat_map(|f| [f.sender, f.receiver])
            .collect();
        places.sort_unstable();
        places.dedup();
        let mut crowd = Crowd {
            hosts: Vec::new(),
            ends: Vec::new(),
            infos: vec![[None; 2]; job.flows.len()],
        };
        for place in places {
            namespaces.enter(place)?;
            crowd.hosts.push(Diag::new().map_err(|e| e.to_string())?);
            let flows = job.flows.iter().enumerate();
            let at = flows.flat_map(|(index, flow)| {
                let ends = [flow.sender, flow.receiver].into_iter().enumerate();
                ends.filter(|&(_, host)| host == place)
                    .map(move |(end, _)| (flow.port, (index, end)))
            });
            crowd.ends.push(at.collect());
        }
        Ok(Some(crowd))
    }

    /// Asks all.
    pub fn look(&mut self) -> io::Result<()> {
        self.infos.fill([None; 2]);
        let infos = &mut self.infos;
        for (host, ends) in self.hosts.iter_mut().zip(&self.ends) {
            host.all(|port, info| {
                if let Some(&(flow, end)) = ends.get(&port) {
                    infos[flow][end] = Some(info);
                }
            })?;
        }
        Ok(())
    }

    /// What the ends of a flow said, the sender and the receiver; `None`: a socket that is no
    /// connection any more, or not yet.
    pub fn of(&self, flow: usize) -> [Option<Info>; 2] {
        self.infos[flow]
    }
}

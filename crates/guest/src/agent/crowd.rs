//! Many flows: what their sockets say, of all of a host's together. A call for each of them
//! would cost more than their packets.

use std::io;
use std::net::IpAddr;

use tailback_guest::job::Job;

use super::diag::{Asked, Diag};
use super::setup::Namespaces;
use super::tcp::Info;

/// Flows for which it pays.
const CROWD: usize = 16;

/// A host.
struct Host {
    diag: Diag,
    asked: Asked,
    /// The flow of each of what is asked, and whether its sender is at this host.
    ends: Vec<(usize, usize)>,
}

/// Hosts, and what the ends of flows there said.
pub struct Crowd {
    hosts: Vec<Host>,
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
        let mut hosts = Vec::new();
        for place in places {
            namespaces.enter(place)?;
            let diag = Diag::new().map_err(|e| e.to_string())?;
            let (mut asked, mut ends) = (Asked::default(), Vec::new());
            for (index, flow) in job.flows.iter().enumerate() {
                let both = [flow.sender_address, flow.receiver_address];
                let [sender, receiver] = both.map(|a| (IpAddr::V4(a), flow.port));
                if flow.sender == place {
                    asked.add(sender, receiver);
                    ends.push((index, 0));
                }
                if flow.receiver == place {
                    asked.add(receiver, sender);
                    ends.push((index, 1));
                }
            }
            hosts.push(Host { diag, asked, ends });
        }
        let infos = vec![[None; 2]; job.flows.len()];
        Ok(Some(Crowd { hosts, infos }))
    }

    /// Asks all.
    pub fn look(&mut self) -> io::Result<()> {
        self.infos.fill([None; 2]);
        let infos = &mut self.infos;
        for host in &mut self.hosts {
            let ends = &host.ends;
            host.diag.each(&host.asked, |number, info| {
                if let Some(&(flow, end)) = ends.get(number) {
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

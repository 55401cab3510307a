//! Reads the socket information of many flows, with one call for all flows of a host. A separate
//! call for each flow would take more time than the kernel needs for the flow's packets.

use std::io;
use std::net::IpAddr;

use tailback_guest::job::Job;

use super::diag::{Asked, Diag};
use super::setup::Namespaces;
use super::tcp::Info;

/// With at least this number of flows, one call for all flows is faster than a call for each flow.
const CROWD: usize = 16;

/// A host, and the list of its sockets whose information is read.
struct Host {
    diag: Diag,
    asked: Asked,
    /// For each socket in `asked`, the flow to which it belongs, and its end of the flow: 0 for the
    /// sender, 1 for the receiver.
    ends: Vec<(usize, usize)>,
}

/// The hosts, and the latest information about their sockets.
pub struct Crowd {
    hosts: Vec<Host>,
    infos: Vec<[Option<Info>; 2]>,
}

impl Crowd {
    /// Opens a sock_diag connection for each host. Returns `None` if there are so few flows that a
    /// call for each flow is faster.
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

    pub fn of(&self, flow: usize) -> [Option<Info>; 2] {
        self.infos[flow]
    }
}

//! Reads the socket information of many flows, with one call for all flows of a host. A call for
//! each flow would cost more than handling its packets.

use std::io;
use std::net::IpAddr;

use tailback_guest::job::Job;

use super::diag::{Asked, Diag};
use super::setup::Namespaces;
use super::tcp::Info;

/// Smallest number of flows for which reading them together is faster.
const CROWD: usize = 16;

/// The sockets of a host.
struct Host {
    diag: Diag,
    asked: Asked,
    /// The flow and the end of each socket in `asked`. End 0 is the sender, 1 the receiver.
    ends: Vec<(usize, usize)>,
}

/// The hosts, and the latest socket information of their flows.
pub struct Crowd {
    hosts: Vec<Host>,
    /// For each flow, the information about the sender and the receiver.
    infos: Vec<[Option<Info>; 2]>,
}

impl Crowd {
    /// Opens a socket for each host. Returns `None` if the job has so few flows that reading each
    /// separately is faster.
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

    /// Reads the information of all flows from the kernel.
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

    /// Returns the information of the sender and the receiver of a flow; `None` for a socket that
    /// is not connected.
    pub fn of(&self, flow: usize) -> [Option<Info>; 2] {
        self.infos[flow]
    }
}

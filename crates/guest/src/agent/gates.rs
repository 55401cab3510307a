//! Determines which frames from hosts of programs the kernel accepts at a device, and counts the
//! frames that it drops.
//!
//! The kernel drops frames that do not match the tc filters that the agent sets up. Captures
//! contain these frames too, because a frame is captured before it is filtered. This module
//! therefore applies the same rules to captured frames.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use tailback_guest::job::{Gate, HARDWARE_ADDRESS, Job, Tool};

use super::frame::Frame;
use super::ring::Captured;
use super::setup::{self, Namespaces};
use super::sys;

type Pairs = HashSet<(IpAddr, IpAddr)>;

/// The permitted pairs of addresses, for each namespace and device.
pub struct Gates(HashMap<(usize, i32), Pairs>);

impl Gates {
    pub fn of(job: &Job, namespaces: &Namespaces) -> Result<Gates, String> {
        let mut gates = HashMap::new();
        for gate in &job.gates {
            let place = gate.device.namespace;
            namespaces.enter(place)?;
            let name = &gate.device.name;
            let device = sys::device_index(name).map_err(|e| format!("{name}: {e}"))?;
            gates.insert((place, device), gate.pairs.iter().copied().collect());
        }
        Ok(Gates(gates))
    }

    /// Returns whether the kernel has accepted a frame that was captured in this namespace.
    #[inline]
    pub fn admit(&self, namespace: usize, captured: &Captured<'_>, frame: &Frame) -> bool {
        if captured.outgoing || self.0.is_empty() {
            return true;
        }
        self.0
            .get(&(namespace, captured.device))
            .is_none_or(|pairs| {
                captured.bytes.starts_with(&HARDWARE_ADDRESS)
                    && pairs.contains(&(frame.source, frame.destination))
            })
    }
}

pub fn warnings(job: &Job, namespaces: &Namespaces) -> Result<Vec<String>, String> {
    // Add up the counts of the devices that receive frames from the same host.
    let mut dropped = vec![[0_u64; 2]; job.programs.len()];
    let mut places: Vec<usize> = job.gates.iter().map(|g| g.device.namespace).collect();
    places.sort_unstable();
    places.dedup();
    for place in places {
        namespaces.enter(place)?;
        let gates = || job.gates.iter().filter(|g| g.device.namespace == place);
        let lines = gates().map(|gate| {
            let (device, drop) = (&gate.device.name, Gate::DROP);
            format!("filter show dev {device} ingress pref {drop}")
        });
        let lines: Vec<String> = lines.collect();
        let text = setup::batch_output(Tool::Tc, &["-s"], &lines)?;
        let counts = counts(&text);
        if counts.len() != lines.len() {
            let name = namespaces.name(place);
            return Err(format!(
                "{name}: {} filters for {} gates",
                counts.len(),
                lines.len()
            ));
        }
        for (gate, count) in gates().zip(counts) {
            let (program, side) = gate.host;
            dropped[program][side] += count;
        }
    }
    let sides = ["sender", "receiver"];
    let all = job.programs.iter().zip(&dropped);
    let all = all.flat_map(|(program, counts)| {
        let counts = counts.iter().zip(sides).filter(|(count, _)| **count > 0);
        counts.map(|(count, side)| {
            format!(
                "program \"{}\": {count} frames that its {side}'s host sent were dropped before the first link: they were not between the hosts of the entry, or left by a device that does not lead to the other host",
                program.name
            )
        })
    });
    Ok(all.collect())
}

/// Reads from the output of `tc -s filter show` how many packets each `drop` action has dropped.
fn counts(text: &str) -> Vec<u64> {
    let number = |rest: &str| {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..digits].parse().ok()
    };
    let parts = text.split("(dropped ").skip(1);
    parts.filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tc_says_of_drops_is_read() {
        let text = "filter protocol all pref 3 u32 chain 0 \n\
            filter protocol all pref 3 u32 chain 0 fh 800: ht divisor 1 \n\
            \tmatch 00000000/00000000 at 0\n\
            \taction order 1: gact action drop\n\
            \t random type none pass val 0\n\
            \t index 1 ref 1 bind 1 installed 4 sec used 1 sec\n\
            \tAction statistics:\n\
            \tSent 42000 bytes 1000 pkt (dropped 1000, overlimits 0 requeues 0) \n\
            \tbacklog 0b 0p requeues 0\n";
        assert_eq!(counts(&text.repeat(2)), [1000, 1000]);
        assert_eq!(counts("nothing"), [0_u64; 0]);
    }
}

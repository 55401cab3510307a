//! Captures packets in memory.

use tailback_engine::capture::{PacketEvent, PacketWriter};
use tailback_engine::network::Network;
use tailback_engine::plan::Plan;
use tailback_record::PacketCount;

use crate::error::Error;

/// Which packets a [`crate::Simulation`] captures.
///
/// The capture is a pcapng file in memory. Wireshark and tshark can read such a file. Each link has
/// three interfaces: `NAME.in` (packets that arrive at the queue), `NAME.out` (packets that leave
/// the queue) and `NAME.drop` (packets that the link drops, with the cause as a comment). Times are
/// in ns from the start of the run. The capture includes packets of the warm-up, which other
/// results do not include.
///
/// Packets have Ethernet, IPv4, and TCP or UDP headers with their ECN fields, but no payload.
/// Packets of an endpoint appear as UDP, even if the endpoint's stack creates IP packets itself.
///
/// The capture stores a packet once for each interface that the packet passes. Each copy takes
/// about 100 bytes. After 20 million stored packets, the capture only counts further packets
/// ([`crate::Results::captured`]).
///
/// ```
/// use tailback_sim::{Capture, Simulation};
///
/// let results = Simulation::from_toml(
///     r#"
///     duration = "2s"
///     [bottleneck]
///     rate = "10Mbit"
///     queue = { aqm = "fq_codel", ecn = true }
///     [[flows]]
///     cc = "cubic"
///     ecn = true
///     [[flows]]
///     cc = "reno"
///     "#,
/// )?
/// .capture(Capture::all().of("cubic").snap_length(34))? // Ethernet and IPv4 headers
/// .run()?;
/// let pcapng = results.pcapng().expect("a capture");
/// assert_eq!(pcapng[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
/// assert!(results.captured().expect("a capture").recorded > 1000);
/// // std::fs::write("cubic.pcapng", pcapng)?;
/// # Ok::<(), tailback_sim::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    links: Vec<String>,
    names: Vec<String>,
    snap_length: Option<usize>,
}

impl Capture {
    /// Captures all packets at all links.
    pub fn all() -> Capture {
        Capture::default()
    }

    /// Captures packets only at the given link. Call this function again to capture packets at
    /// further links.
    #[must_use]
    pub fn at(mut self, link: &str) -> Capture {
        self.links.push(link.to_owned());
        self
    }

    /// Captures only packets of the given flow, entry of endpoints, or other traffic, in both
    /// directions. Call this function again to capture packets of further names.
    #[must_use]
    pub fn of(mut self, name: &str) -> Capture {
        self.names.push(name.to_owned());
        self
    }

    /// Cuts packets after the given number of bytes. By default, the capture contains all headers.
    #[must_use]
    pub fn snap_length(mut self, bytes: usize) -> Capture {
        self.snap_length = Some(bytes);
        self
    }

    /// Checks the names.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Error> {
        let links = plan.links.iter().map(|link| link.name.clone()).collect();
        known(&self.links, links)?;
        known(&self.names, owners(plan))
    }
}

fn known(names: &[String], known: Vec<String>) -> Result<(), Error> {
    match names.iter().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Error::Captured {
            name: name.clone(),
            known,
        }),
    }
}

/// Returns the names of flows, other traffic and entries of endpoints, in the order of
/// [`Plan::owners`].
fn owners(plan: &Plan) -> Vec<String> {
    let flows = plan.each_flow().map(|flow| flow.name());
    let sources = plan.each_source().map(|source| source.name());
    let entries = plan.each_program().map(|entry| entry.name());
    flows.chain(sources).chain(entries).collect()
}

/// A capture that is being written to memory.
pub(crate) struct Recording {
    file: PacketWriter<Vec<u8>>,
    /// For each flow number, whether the capture contains the flow's packets. `None` means that the
    /// capture contains all packets.
    wanted: Option<Vec<bool>>,
    events: Vec<PacketEvent>,
}

/// The file of a capture, and the number of its packets.
pub(crate) type Recorded = (Vec<u8>, PacketCount);

impl Recording {
    /// Begins the capture of a network, if the plan requests a capture.
    pub fn begin(capture: &Capture, plan: &Plan, network: &mut Network) -> Option<Recording> {
        if !plan.record.packets {
            return None;
        }
        for (place, link) in plan.links.iter().enumerate() {
            if !capture.links.is_empty() && !capture.links.contains(&link.name) {
                network.stop_recording_packets(place);
            }
        }
        let names = owners(plan);
        let wanted = (!capture.names.is_empty()).then(|| {
            let owners = plan.owners();
            let owners = owners.iter().map(|owner| &names[*owner as usize]);
            owners.map(|name| capture.names.contains(name)).collect()
        });
        let file = PacketWriter::create(Vec::new(), plan).expect(IN_MEMORY);
        Some(Recording {
            file: file.snap_length(capture.snap_length.unwrap_or(usize::MAX)),
            wanted,
            events: Vec::new(),
        })
    }

    /// Writes the packets recorded since the last call.
    pub fn take(&mut self, network: &mut Network) {
        self.events.clear();
        network.take_packets(&mut self.events);
        if let Some(wanted) = &self.wanted {
            self.events
                .retain(|event| wanted[event.packet.flow as usize]);
        }
        self.file.write(&self.events).expect(IN_MEMORY);
    }

    /// Returns the file with the packets captured so far. The file is complete at any time.
    pub fn bytes(&self) -> &[u8] {
        self.file.get_ref()
    }

    /// Returns the file.
    pub fn finish(self) -> Recorded {
        self.file.finish().expect(IN_MEMORY)
    }
}

const IN_MEMORY: &str = "memory takes all bytes";

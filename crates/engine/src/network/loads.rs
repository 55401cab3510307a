//! Sources with connections that never end, and requests on these connections.

use super::Network;
use super::connections::End;

impl Network {
    /// Opens a never-ending connection for a source.
    pub(super) fn load(&mut self, index: usize) {
        let slot = self.open(index, None);
        self.traffic[index].loads_at.extend(slot);
    }

    /// Makes a source request `bytes` bytes on its connection number `load`.
    pub(super) fn ask(&mut self, index: usize, load: u32, bytes: u64) {
        let now = self.now;
        let Some(&slot) = self.traffic[index].loads_at.get(load as usize) else {
            return;
        };
        let ends = &mut self.ends[slot as usize];
        let acting = ends.acting(End::Receiver, &mut self.pipes, now, &mut self.calendar);
        if let Some(mut end) = acting {
            end.connection.ask(bytes, now, &mut end.port);
            end.rearm_receiver();
        }
    }

    /// Tells a source how many bytes its never-ending connections have delivered.
    pub(super) fn count(&mut self, index: usize) {
        let traffic = &mut self.traffic[index];
        let open = traffic.loads_at.iter().filter_map(|slot| {
            let connection = self.ends[*slot as usize].connection.as_ref();
            connection.map(|connection| connection.delivered_bytes())
        });
        let delivered = open.sum();
        traffic.source.count(delivered);
    }

    /// Stops sending on a source's never-ending connections.
    pub(super) fn stop_loads(&mut self, index: usize) {
        for slot in std::mem::take(&mut self.traffic[index].loads_at) {
            if let Some(connection) = &mut self.ends[slot as usize].connection {
                connection.sender.stop();
            }
        }
    }
}

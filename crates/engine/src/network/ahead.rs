//! Prefetches the memory that the next packets will need while the network handles earlier packets.
//!
//! To find the two ends of a packet, the processor makes three reads in turn. It reads the table
//! entry, then the connection, and then data that the connection stores elsewhere. The address of
//! each read is known only after the previous read. So each packet has three prefetches before it
//! is handled. With at most [`MANY`] connections, all of this data is in the caches anyway, so the
//! network does not prefetch.

use tailback_record::fetch;

use super::Network;
use super::connections::Ends;
use crate::calendar::Component;
use crate::packet::{Packet, flags};

/// Number of connections above which data is prefetched. The L1 and L2 caches together hold only a
/// few hundred connections.
const MANY: usize = 2048;

/// A prefetch is issued this many packets before the packet is handled. There are three prefetches
/// for each packet.
pub const PLACES: [usize; 3] = [12, 8, 4];

impl Network {
    #[inline]
    pub(super) fn look_into_pipe(&self, id: u32) {
        if self.connections > MANY
            && let Some(coming) = self.pipes[id as usize].packets.ahead(PLACES)
        {
            self.look(coming, 0);
        }
    }

    #[inline]
    pub(super) fn look_into_queue(&self, link: u32) {
        if self.connections > MANY {
            let link = &self.links[link as usize];
            if let Some(coming) = link.queue.ahead(PLACES) {
                link.sink.meter.fetch(coming[1].flow);
                self.look(coming, 1);
            }
        }
    }

    /// Prefetches the connections whose timers may be due next.
    #[inline]
    pub(super) fn look_at_timers(&self) {
        if self.connections > MANY {
            for component in self.calendar.coming() {
                if let Some(ends) = self.ends_of(component) {
                    fetch::all(ends);
                }
            }
        }
    }

    fn ends_of(&self, timer: Component) -> Option<&Ends> {
        let ids = &self.ids;
        let number = if timer < ids.receivers {
            timer.checked_sub(ids.senders)?
        } else {
            timer - ids.receivers
        };
        self.ends.get(number as usize)
    }

    /// Issues one prefetch for each of three packets that will be handled soon. Each packet is at a
    /// different one of the three prefetches: `far` is at the first prefetch, `near` at the second
    /// and `next` at the last. `links` is the number of links that the packets still have to pass
    /// before they can reach an end. It is 1 for packets in a queue, and 0 for packets in a pipe.
    #[inline(never)]
    fn look(&self, [far, near, next]: [&Packet; 3], links: usize) {
        fetch::all(&self.ends[far.flow as usize]);
        let ends = &self.ends[near.flow as usize];
        let is_ack = near.has(flags::ACK);
        let hops = if is_ack {
            &ends.path.back
        } else {
            &ends.path.route
        };
        // Prefetch the connection only if the packet reaches its end next. For other packets,
        // prefetching the table entry is enough.
        if usize::from(near.hop) + links >= hops.len()
            && let Some(connection) = &ends.connection
        {
            match is_ack {
                true => fetch::all(&connection.sender),
                false => fetch::all(&connection.receiver),
            }
        }
        if next.has(flags::ACK)
            && let Some(connection) = &self.ends[next.flow as usize].connection
        {
            connection.sender.fetch();
        }
    }
}

//! Prefetches the memory that the next packets will need while the network handles earlier packets.
//!
//! To find the two ends of a packet, the processor makes three reads in turn. The processor reads
//! the table entry, then the connection, and then data that the connection stores elsewhere. The
//! address of each read is known only after the previous read. So the network issues three
//! prefetches for each packet before it handles the packet.
//!
//! With at most [`MANY`] connections, parts of the connections' data are in the caches. The network
//! then omits the third prefetch and all prefetches for data packets in pipes. These prefetches
//! would cost more time than they save. With at most [`SOME`] connections, the network does not
//! prefetch.

use tailback_record::fetch;

use super::Network;
use super::connections::Ends;
use crate::calendar::Component;
use crate::packet::{Packet, flags};

/// Number of connections above which all three prefetches are made.
const MANY: usize = 2048;
/// Number of connections above which the network prefetches. The L1 and L2 caches together hold
/// only a few hundred connections. With 300 connections, prefetching saved no time.
const SOME: usize = 512;

/// A prefetch is issued this many packets before the packet is handled. There are three prefetches
/// for each packet.
pub const PLACES: [usize; 3] = [12, 8, 4];
/// The same as [`PLACES`] for packets in a pipe if there are at most [`MANY`] connections. Such
/// packets have only two prefetches.
const FEWER_PLACES: [usize; 2] = [6, 3];

impl Network {
    /// Issues prefetches for packets in a pipe. `packet` is the packet that leaves the pipe now.
    #[inline]
    pub(super) fn look_into_pipe(&self, id: u32, packet: &Packet) {
        // After a pipe, data packets usually enter the queue of a link, which prefetches for them
        // later.
        if self.connections > SOME && (packet.has(flags::ACK) || self.connections > MANY) {
            self.look_into_long_pipe(id);
        }
    }

    #[inline(never)]
    fn look_into_long_pipe(&self, id: u32) {
        let packets = &self.pipes[id as usize].packets;
        if self.connections > MANY {
            if let Some(coming) = packets.ahead(PLACES) {
                self.look(coming, 0);
            }
        } else if let Some([far, near]) = packets.ahead(FEWER_PLACES) {
            self.look_at_end(far, near, 0);
        }
    }

    #[inline]
    pub(super) fn look_into_queue(&self, link: u32) {
        if self.connections > SOME {
            self.look_into_long_queue(link);
        }
    }

    #[inline(never)]
    fn look_into_long_queue(&self, link: u32) {
        let link = &self.links[link as usize];
        if let Some(coming) = link.queue.ahead(PLACES) {
            if self.connections > MANY {
                link.sink.meter.fetch(coming[1].flow);
                self.look(coming, 1);
            } else {
                self.look_at_end(coming[1], coming[2], 1);
            }
        }
    }

    /// Prefetches the table entry of the packet `far`. If the packet `near` next reaches an end of
    /// its connection, prefetches this end. `links` has the same meaning as in [`Network::look`].
    #[inline]
    fn look_at_end(&self, far: &Packet, near: &Packet, links: usize) {
        fetch::all(&self.ends[far.flow as usize]);
        self.fetch_end(near, links);
    }

    /// If a packet next reaches an end of its connection, prefetches this end.
    #[inline]
    fn fetch_end(&self, packet: &Packet, links: usize) {
        let ends = &self.ends[packet.flow as usize];
        let is_ack = packet.has(flags::ACK);
        let hops = if is_ack {
            &ends.path.back
        } else {
            &ends.path.route
        };
        if usize::from(packet.hop) + links >= hops.len()
            && let Some(connection) = &ends.connection
        {
            match is_ack {
                true => fetch::all(&connection.sender),
                false => fetch::all(&connection.receiver),
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

    /// Issues one prefetch for each of three packets that will be handled soon. The call issues the
    /// first prefetch for the packet `far`, the second for `near`, and the last for `next`. `links`
    /// is the smallest number of links between a packet and an end of its connection. This number
    /// is 1 for packets in a queue, and 0 for packets in a pipe.
    #[inline]
    fn look(&self, [far, near, next]: [&Packet; 3], links: usize) {
        // If a packet next reaches a link, only its table entry must be prefetched.
        self.look_at_end(far, near, links);
        if next.has(flags::ACK)
            && let Some(connection) = &self.ends[next.flow as usize].connection
        {
            connection.sender.fetch();
        }
    }
}

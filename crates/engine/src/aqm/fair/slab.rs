//! Stores the packets of many FIFOs in one vector of linked nodes. Nodes are reused. So a queue
//! allocates memory only when its backlog exceeds its earlier maximum.

use crate::packet::Packet;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub struct Slab {
    nodes: Vec<Node>,
    /// First node of the list of unused nodes.
    free: u32,
}

#[derive(Debug)]
struct Node {
    packet: Packet,
    /// The next node of the FIFO, or of the list of unused nodes.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    first: u32,
    last: u32,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo {
            first: NONE,
            last: NONE,
        }
    }
}

impl Default for Slab {
    fn default() -> Slab {
        Slab {
            nodes: Vec::new(),
            free: NONE,
        }
    }
}

impl Slab {
    #[inline]
    pub fn push(&mut self, fifo: &mut Fifo, packet: Packet) {
        let node = Node { packet, next: NONE };
        let index = self.free;
        let index = match self.nodes.get_mut(index as usize) {
            Some(unused) => {
                self.free = unused.next;
                *unused = node;
                index
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        match self.nodes.get_mut(fifo.last as usize) {
            Some(last) => last.next = index,
            None => fifo.first = index,
        }
        fifo.last = index;
    }

    /// Moves the oldest packet of `fifo`, which is stored in this slab, to `next`. Returns whether
    /// there was a packet.
    #[inline]
    pub fn pop_to(&mut self, fifo: &mut Fifo, next: &mut Packet) -> bool {
        let index = fifo.first;
        let Some(node) = self.nodes.get_mut(index as usize) else {
            return false;
        };
        fifo.first = node.next;
        if node.next == NONE {
            fifo.last = NONE;
        }
        node.next = self.free;
        self.free = index;
        *next = node.packet;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;

    fn pop(slab: &mut Slab, fifo: &mut Fifo) -> Option<u32> {
        let mut next = Packet::new(0, 0, Ecn::NotEct);
        slab.pop_to(fifo, &mut next).then_some(next.flow)
    }

    #[test]
    fn fifos_keep_their_order_and_share_nodes() {
        let mut slab = Slab::default();
        let mut fifos = [Fifo::default(); 3];
        let mut model = [const { Vec::new() }; 3];
        for n in 0..300u32 {
            let i = (n % 3) as usize;
            slab.push(&mut fifos[i], Packet::new(n, 100, Ecn::NotEct));
            model[i].push(n);
            if n % 4 != 0 {
                let i = (n / 4 % 3) as usize;
                let expected = (!model[i].is_empty()).then(|| model[i].remove(0));
                assert_eq!(pop(&mut slab, &mut fifos[i]), expected);
            }
        }
        let queued: usize = model.iter().map(Vec::len).sum();
        assert!(slab.nodes.len() < 150 && slab.nodes.len() >= queued);
        for (fifo, model) in fifos.iter_mut().zip(model) {
            for n in model {
                assert_eq!(pop(&mut slab, fifo), Some(n));
            }
            assert!(pop(&mut slab, fifo).is_none());
        }
    }
}

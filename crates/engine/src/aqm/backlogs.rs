//! Counts the backlog of each queue in a discipline, and finds the longest queue quickly.
//!
//! A full discipline drops packets from its longest queue. So a full discipline must find this
//! queue for every arriving packet or for every batch of drops. Linux searches all queues
//! (fq_codel, fq_pie) or keeps a heap of them (Cake). In tailback, the queues are divided into
//! blocks, and each block stores the largest backlog of its queues. When a packet leaves the
//! longest queue of a block, tailback only flags the block. To find the longest queue, tailback
//! searches only the flagged blocks again. tailback finds the same queue as Linux. If several
//! queues are equally long, Cake's heap in Linux may choose another of these queues.

const BLOCK: usize = 64;

#[derive(Clone, Debug)]
pub struct Backlogs {
    bytes: Box<[u64]>,
    /// The largest backlog in each block, in bytes. The value is valid for blocks that are not
    /// flagged.
    most: Box<[u64]>,
    /// Whether each block is flagged. The longest queue of a flagged block may have become shorter
    /// since the block was last searched.
    shrunk: Box<[bool]>,
}

impl Backlogs {
    pub fn new(queues: usize) -> Backlogs {
        Backlogs {
            bytes: vec![0; queues].into(),
            most: vec![0; queues.div_ceil(BLOCK)].into(),
            shrunk: vec![false; queues.div_ceil(BLOCK)].into(),
        }
    }

    #[inline]
    pub fn of(&self, queue: usize) -> u64 {
        self.bytes[queue]
    }

    #[inline]
    pub fn add(&mut self, queue: usize, len: u16) {
        let bytes = &mut self.bytes[queue];
        *bytes += u64::from(len);
        let most = &mut self.most[queue / BLOCK];
        *most = (*most).max(*bytes);
    }

    #[inline]
    pub fn remove(&mut self, queue: usize, len: u16) {
        let bytes = &mut self.bytes[queue];
        if *bytes >= self.most[queue / BLOCK] {
            self.shrunk[queue / BLOCK] = true;
        }
        *bytes -= u64::from(len);
    }

    /// Returns the index of the longest queue and its length in bytes. If several queues are
    /// equally long, returns the first of them.
    pub fn longest(&mut self) -> (usize, u64) {
        let mut longest = (0, 0);
        let blocks = self.most.iter_mut().zip(&mut self.shrunk);
        for (block, (most, shrunk)) in blocks.enumerate() {
            if std::mem::take(shrunk) {
                let queues = self.bytes[block * BLOCK..].iter().take(BLOCK);
                *most = queues.fold(0, |most, bytes| most.max(*bytes));
            }
            if *most > longest.1 {
                longest = (block, *most);
            }
        }
        let (block, most) = longest;
        let queues = &mut self.bytes[block * BLOCK..].iter();
        let place = queues.position(|bytes| *bytes == most).unwrap_or(0);
        (block * BLOCK + place, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares the result of `longest` with that of a search of all queues.
        #[test]
        fn the_first_of_the_longest(
            queues in 1usize..200,
            ops in prop::collection::vec((any::<usize>(), 1u16..4, any::<bool>(), any::<bool>()), 0..400),
        ) {
            let mut backlogs = Backlogs::new(queues);
            let mut model = vec![0_u64; queues];
            for (queue, len, add, ask) in ops {
                let queue = queue % queues;
                if add {
                    backlogs.add(queue, len);
                    model[queue] += u64::from(len);
                } else if model[queue] >= u64::from(len) {
                    backlogs.remove(queue, len);
                    model[queue] -= u64::from(len);
                }
                if ask {
                    let most = model.iter().copied().max().unwrap_or(0);
                    let first = model.iter().position(|bytes| *bytes == most).unwrap_or(0);
                    prop_assert_eq!(backlogs.longest(), (first, most));
                }
                prop_assert_eq!(backlogs.of(queue), model[queue]);
            }
        }
    }
}

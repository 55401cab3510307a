//! A slab with the payloads of the datagrams in the network. The slab reuses slots and buffers.

/// When this many slots are in use, the payloads of dropped packets are released for the first
/// time.
const FIRST_LOOK: usize = 1024;

pub(super) struct Payloads {
    places: Vec<Payload>,
    free: Vec<u32>,
    spare: Vec<Vec<u8>>,
    bytes: u64,
    /// When this many slots are in use, the payloads of dropped packets are released next.
    look_at: usize,
}

#[derive(Default)]
struct Payload {
    bytes: Vec<u8>,
    /// Number of packets that carry this payload. This number exceeds 1 if a link has duplicated
    /// the packet.
    uses: u32,
}

impl Default for Payloads {
    fn default() -> Payloads {
        Payloads {
            places: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            bytes: 0,
            look_at: FIRST_LOOK,
        }
    }
}

impl Payloads {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn in_use(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Returns whether enough slots are in use to release the payloads of dropped packets now.
    pub fn is_due(&self) -> bool {
        self.in_use() >= self.look_at
    }

    /// Call this function after releasing the payloads of dropped packets. The next release is due
    /// when the number of slots in use has doubled.
    pub fn reclaimed(&mut self) {
        self.look_at = FIRST_LOOK.max(2 * self.in_use());
    }

    pub fn take_spare(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub fn put_spare(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.spare.push(buffer);
    }

    /// Stores a payload. Returns its number.
    pub fn put(&mut self, bytes: Vec<u8>) -> u64 {
        self.bytes += bytes.len() as u64;
        let payload = Payload { bytes, uses: 1 };
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = payload;
                place
            }
            None => {
                self.places.push(payload);
                (self.places.len() - 1) as u32
            }
        };
        place.into()
    }

    pub fn get(&self, number: u64) -> &[u8] {
        &self.places[number as usize].bytes
    }

    /// Records that another packet carries this payload.
    pub fn share(&mut self, number: u64) {
        self.places[number as usize].uses += 1;
    }

    /// Records that a packet with this payload has left the network. If no other packet carries the
    /// payload, frees the payload.
    pub fn release(&mut self, number: u64) {
        let payload = &mut self.places[number as usize];
        payload.uses -= 1;
        if payload.uses == 0 {
            let buffer = std::mem::take(&mut payload.bytes);
            self.bytes -= buffer.len() as u64;
            self.free.push(number as u32);
            self.put_spare(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_buffers_are_used_again_after_the_last_packet() {
        let mut payloads = Payloads::default();
        let a = payloads.put(vec![1; 100]);
        let b = payloads.put(vec![2; 50]);
        payloads.share(a);
        payloads.release(a);
        assert_eq!(payloads.get(a), [1; 100], "another packet carries it");
        assert_eq!((payloads.bytes(), payloads.in_use()), (150, 2));
        payloads.release(a);
        assert_eq!((payloads.bytes(), payloads.in_use()), (50, 1));
        assert!(payloads.take_spare().capacity() >= 100);
        assert_eq!(payloads.put(vec![3; 10]), a);
        assert_eq!(payloads.get(b), [2; 50]);
    }

    #[test]
    fn dropped_packets_are_looked_for_whenever_twice_as_much_is_in_use() {
        let mut payloads = Payloads::default();
        for _ in 0..FIRST_LOOK {
            assert!(!payloads.is_due());
            payloads.put(Vec::new());
        }
        assert!(payloads.is_due());
        payloads.reclaimed();
        assert!(!payloads.is_due());
        for number in 0..1000 {
            payloads.release(number);
        }
        payloads.reclaimed();
        assert_eq!(payloads.look_at, FIRST_LOOK);
    }
}

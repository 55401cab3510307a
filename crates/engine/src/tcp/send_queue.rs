//! The data that the application has written and that TCP has not sent yet.

#[derive(Clone, Debug)]
pub(super) struct SendQueue {
    /// Payload in the queue, in bytes. `None` means no limit.
    bytes: Option<u64>,
    /// Whether the application may write more data. As long as it may write more, the connection
    /// stays open when the queue is empty.
    open: bool,
    /// Length of a chunk, in bytes. A segment never has data of two chunks. 0 means that there are
    /// no chunks.
    chunk: u64,
    /// If data is held back: the value of `bytes` before [`SendQueue::hold`]. Otherwise `None`.
    held: Option<Option<u64>>,
}

impl SendQueue {
    pub fn new(bytes: Option<u64>) -> SendQueue {
        SendQueue {
            bytes,
            open: false,
            chunk: 0,
            held: None,
        }
    }

    #[inline]
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes == Some(0)
    }

    /// Returns whether the queue is empty and the application will not write more data.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.is_empty() && !self.open
    }

    /// Returns whether the queue has less data than a full segment.
    pub fn lacks_a_segment(&self, mss: u16) -> bool {
        self.bytes.is_some_and(|left| left < u64::from(mss))
    }

    /// Returns the number of segments up to the end of the current chunk, and whether the queue is
    /// empty after them. Without chunks, counts up to the end of the data. `None` means no limit.
    pub fn run(&self, mss: u16) -> Option<(u64, bool)> {
        let left = self.bytes.filter(|left| *left > 0)?;
        let run = match self.chunk {
            0 => left,
            chunk => (left - 1) % chunk + 1,
        };
        Some((run.div_ceil(u64::from(mss)), run == left))
    }

    /// Returns whether the application has written all of its data.
    pub fn is_complete(&self) -> bool {
        self.bytes.is_some() && !self.open
    }

    /// Records that the application will write more data later.
    pub fn open(&mut self) {
        self.open = true;
    }

    /// Adds data that the application writes.
    pub fn write(&mut self, bytes: u64) {
        if let Some(left) = &mut self.bytes {
            *left += bytes;
        }
    }

    /// Divides the data into chunks of this many bytes.
    pub fn divide(&mut self, chunk: u64) {
        self.chunk = chunk;
    }

    /// Records that the application will not write more data.
    pub fn close(&mut self) {
        self.open = false;
    }

    /// Holds all data back until [`SendQueue::resume`].
    pub fn hold(&mut self) {
        if !self.is_finished() && self.held.is_none() {
            self.held = Some(self.bytes);
            (self.bytes, self.open) = (Some(0), true);
        }
    }

    pub fn resume(&mut self) {
        if let Some(bytes) = self.held.take() {
            (self.bytes, self.open) = (bytes, false);
        }
    }

    /// Discards the data in the queue. The application must not write more data.
    pub fn cut(&mut self) {
        self.bytes = Some(0);
        self.open = false;
        self.held = None;
    }

    /// Takes the data of the next segment out of the queue. Returns the payload of the segment, in
    /// bytes.
    #[inline]
    pub fn take(&mut self, mss: u16) -> u16 {
        match &mut self.bytes {
            None => mss,
            Some(left) => {
                let whole = match self.chunk {
                    0 => *left,
                    chunk => (*left - 1) % chunk + 1,
                };
                let payload = u64::from(mss).min(whole);
                *left -= payload;
                payload as u16
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(queue: &mut SendQueue) -> Vec<u16> {
        let mut segments = Vec::new();
        while !queue.is_empty() && segments.len() < 9 {
            segments.push(queue.take(1000));
        }
        segments
    }

    #[test]
    fn segments_end_with_the_data_and_with_each_chunk() {
        let mut queue = SendQueue::new(Some(2500));
        assert!(!queue.lacks_a_segment(1000));
        assert_eq!(taken(&mut queue), [1000, 1000, 500]);
        assert!(queue.is_finished() && queue.lacks_a_segment(1000));

        let mut queue = SendQueue::new(Some(0));
        queue.divide(1500);
        queue.open();
        assert!(queue.is_empty() && !queue.is_finished());
        queue.write(3000);
        assert_eq!(queue.bytes(), Some(3000));
        // A segment never has data of two chunks.
        assert_eq!(taken(&mut queue), [1000, 500, 1000, 500]);
        queue.write(1500);
        queue.cut();
        assert!(queue.is_finished());

        let mut endless = SendQueue::new(None);
        endless.write(10);
        assert_eq!((endless.take(1448), endless.bytes()), (1448, None));
        assert!(!endless.is_empty() && !endless.lacks_a_segment(1448));
    }
}

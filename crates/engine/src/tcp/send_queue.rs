//! What the application has handed over and is not yet sent.

/// Payload not yet sent for the first time.
#[derive(Clone, Debug)]
pub(super) struct SendQueue {
    /// Bytes; `None`: without end.
    bytes: Option<u64>,
    /// The application may still write: an empty queue is not the end.
    open: bool,
}

impl SendQueue {
    pub fn new(bytes: Option<u64>) -> SendQueue {
        SendQueue { bytes, open: false }
    }

    #[inline]
    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes == Some(0)
    }

    /// Nothing is left, and nothing will come.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.is_empty() && !self.open
    }

    /// Less than a segment is left for now.
    pub fn lacks_a_segment(&self, mss: u16) -> bool {
        self.bytes.is_some_and(|left| left < u64::from(mss))
    }

    /// The application will write.
    pub fn open(&mut self) {
        self.open = true;
    }

    /// The application writes.
    pub fn write(&mut self, bytes: u64) {
        if let Some(left) = &mut self.bytes {
            *left += bytes;
        }
    }

    /// What is left is not sent.
    pub fn cut(&mut self) {
        self.bytes = Some(0);
    }

    /// The payload of the next segment.
    #[inline]
    pub fn take(&mut self, mss: u16) -> u16 {
        match &mut self.bytes {
            None => mss,
            Some(left) => {
                let payload = u64::from(mss).min(*left);
                *left -= payload;
                payload as u16
            }
        }
    }
}

//! Maps each DSCP to a tin (a class of traffic), and divides the rate among the tins. A tin that
//! has used more than its share of the rate must wait while another tin with packets is below its
//! share.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tins {
    /// One tin for all packets.
    BestEffort,
    /// Eight tins. The three high bits of the DSCP (IP precedence) select the tin.
    Precedence,
    /// Three tins: bulk, best effort, voice.
    Diffserv3,
    /// Four tins: bulk, best effort, video, voice.
    Diffserv4,
    /// Eight tins. Cake chooses the tin by the service class that the packet's DSCP denotes.
    Diffserv8,
}

/// Lower effort (RFC 8622).
const LE: u8 = 1;
/// The DSCPs that correspond to the old TOS values "maximise throughput" and "minimise delay".
const TOS2: u8 = 2;
const TOS4: u8 = 4;
/// The DSCPs of expedited forwarding and of voice admission.
const EF: u8 = 46;
const VA: u8 = 44;

const fn cs(n: u8) -> u8 {
    n << 3
}

/// Returns the DSCPs of assured forwarding class n, in its three drop precedences.
const fn af(n: u8) -> [u8; 3] {
    [n * 8 + 2, n * 8 + 4, n * 8 + 6]
}

impl Tins {
    pub fn index(self) -> [u8; 64] {
        let mut index = [0; 64];
        let mut put = |tin: u8, codes: &[u8]| {
            for code in codes {
                index[usize::from(*code)] = tin;
            }
        };
        match self {
            Tins::BestEffort => {}
            Tins::Precedence => {
                for code in 0..64 {
                    put(code >> 3, &[code]);
                }
            }
            Tins::Diffserv3 => {
                put(1, &[LE, cs(1)]);
                put(2, &[TOS4, VA, EF, cs(6), cs(7)]);
            }
            Tins::Diffserv4 => {
                put(1, &[LE, cs(1)]);
                put(2, &[TOS4, cs(2), cs(3)]);
                for class in 2..=4 {
                    put(2, &af(class));
                }
                put(3, &[cs(4), cs(5), VA, EF, cs(6), cs(7)]);
            }
            Tins::Diffserv8 => {
                for code in 0..64 {
                    put(2, &[code]);
                }
                put(0, &[LE]);
                put(1, &[TOS2, cs(1)]);
                put(1, &af(1));
                put(3, &[cs(3)]);
                put(3, &af(3));
                put(3, &af(4));
                put(4, &[TOS4]);
                put(4, &af(2));
                put(5, &[cs(2)]);
                put(6, &[cs(4), cs(5), VA, EF]);
                put(7, &[cs(6), cs(7)]);
            }
        }
        index
    }

    /// Returns each tin's share of the link's rate, in byte/s. A tin that is above its share waits
    /// for tins that are below their shares.
    pub fn rates(self, rate: u64) -> Vec<u64> {
        match self {
            Tins::BestEffort => vec![rate],
            Tins::Diffserv3 => vec![rate, rate >> 4, rate >> 2],
            Tins::Diffserv4 => vec![rate, rate >> 4, rate >> 1, rate >> 2],
            Tins::Precedence | Tins::Diffserv8 => {
                let of = |rate: &u64| Some((rate * 7) >> 3);
                std::iter::successors(Some(rate), of).take(8).collect()
            }
        }
    }
}

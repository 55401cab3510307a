//! Writes the options of Cake as arguments of tc (iproute2 `tc/q_cake.c`).

use crate::registry::Value;
use crate::registry::kernel::{
    Order, Qdisc, Refused, Shaper, either, flag, micros, number, only, simulated, word, words,
};

/// Length of an Ethernet header, in bytes. Without the keyword `overhead`, Cake counts the bytes of
/// the whole frame, with this header. With this keyword, Cake counts the bytes of the IP packet
/// plus the overhead.
const ETHERNET: i32 = 14;

/// Largest `overhead` that Cake adds to an IP packet, in bytes.
const MOST_OVERHEAD: i32 = 256 - ETHERNET;

pub const KERNEL: Qdisc = Qdisc {
    kinds: &["cake"],
    since: Some("4.19"),
    words: &[
        ("sce", |w, o| {
            only(w, o, Value::Word("off"), "Linux's cake has no SCE");
        }),
        ("sce_single_slope", simulated),
        ("fresh", |w, o| {
            let message = "cake of Linux marks the second packet over the target";
            only(w, o, Value::Word("linux"), message);
        }),
        ("tins", word),
        ("flow", word),
        ("rtt", micros),
        ("ack_filter", |w, o| {
            let spelled = [
                ("off", "no-ack-filter"),
                ("on", "ack-filter"),
                ("aggressive", "ack-filter-aggressive"),
            ];
            words(w, o, &spelled);
        }),
        ("overhead", number),
        ("mpu", |w, o| {
            // Cake's default is 0. So tailback omits the keyword `mpu` for 0.
            if w.options.get(o) != Some(&Value::Int(0)) {
                number(w, o);
            }
        }),
        ("atm", word),
        ("memlimit", number),
        ("ingress", |w, o| flag(w, o, "ingress", "egress")),
        ("wash", |w, o| either(w, o, "wash", "nowash")),
        ("split_gso", |w, o| {
            either(w, o, "split-gso", "no-split-gso")
        }),
    ],
    order: Order::ArrivalIf("flow", "flowblind"),
    drops_at_dequeue: true,
    splits_unless: &["no-split-gso"],
    shaper: Some(&Shaper {
        rate: |rate| format!("bandwidth {}bit", rate.0),
        overhead: |bytes| match bytes {
            0 => String::new(),
            n => format!("overhead {}", n + ETHERNET),
        },
        check,
    }),
    ..Qdisc::DEFAULT
};

/// Arguments of tc that set the rate. Scenarios must not contain these arguments, because the link
/// sets the rate.
const RATE: [&str; 3] = ["bandwidth", "unlimited", "autorate-ingress"];

/// Arguments of tc that set the overhead per packet.
const OVERHEAD: [&str; 16] = [
    "overhead",
    "raw",
    "conservative",
    "ethernet",
    "ether-vlan",
    "docsis",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "pppoe-ptm",
    "bridged-vcmux",
    "bridged-llcsnap",
    "bridged-ptm",
    "ipoa-vcmux",
    "ipoa-llcsnap",
];

fn check(words: &str, overhead: i32) -> Vec<Refused> {
    let has = |one: &str| words.split_whitespace().any(|w| w == one);
    let mut refused = Vec::new();
    if let Some(word) = RATE.iter().find(|w| has(w)) {
        let message = format!("cake takes its bandwidth from the link, not from \"{word}\"");
        refused.push(Refused::new("queue", message, "the link's rate"));
    }
    if overhead > MOST_OVERHEAD {
        let message = "cake adds at most 256 bytes to an IP packet";
        let expected = format!("an overhead from 0 to {MOST_OVERHEAD}");
        refused.push(Refused::new("overhead", message, expected));
    }
    if overhead != 0
        && let Some(word) = OVERHEAD.iter().find(|w| has(w))
    {
        let message = format!("the link's overhead and cake's \"{word}\" are the same thing");
        refused.push(Refused::new("overhead", message, "one of them"));
    }
    refused
}

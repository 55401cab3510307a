//! A web page has several objects, which load over several connections at the same time. The page
//! is loaded when all objects have arrived.
//!
//! This kind of traffic follows RFC 7928, section 7.2. In RFC 7928, a page has at least 50 objects
//! of at least 1 KB. The objects are transferred back to back over 6 connections. All connections
//! of a page open at the same time, and the page's objects are assigned to them in turn. On each
//! connection, the server sends the objects one after the other, and does not wait for requests.
//! With a single connection, a page loads as it would over HTTP/2. After the last byte of a page
//! has arrived, the client waits for the think time. Then the client loads the next page.
//!
//! Deviations from browsers: the client knows all objects from the start. So the client does not
//! send a request for each object. TLS is not modelled. Connections are not reused for the next
//! page.

use tailback_record::Completion;

use super::sizes::{self, Sizes};
use super::{Build, ECN, LIMIT, Source, Step, Transport};
use crate::registry::kernel::Kernel;
use crate::registry::rules::Rules;
use crate::registry::{Entry, Kind, Opt, OptionError, Options};
use crate::rng::Stream;
use crate::units::Time;

/// The registry entry of `page`.
pub const ENTRY: Entry<Build> = Entry {
    name: "page",
    doc: "Web pages, loaded one after the other. The objects of a page arrive over 6 connections \
     at the same time, or over one connection. The source measures the time until a page is \
     complete.",
    follows: "RFC 7928, section 7.2: 50 objects over 6 connections, back to back",
    options: &[
        Opt {
            name: "objects",
            doc: "Number of objects on a page.",
            kind: Kind::Int {
                min: 1,
                max: 10_000,
            },
            default: Some("50"),
            tc: None,
        },
        Opt {
            name: "connections",
            doc: "Number of connections that a page opens.",
            kind: Kind::Int { min: 1, max: 100 },
            default: Some("6"),
            tc: None,
        },
        Opt {
            name: "think",
            doc: "Mean time from the moment a page is complete to the start of the next page; these times are exponentially distributed.",
            kind: Kind::Time {
                min: Time(1_000_000),
            },
            default: Some("1s"),
            tc: None,
        },
        sizes::ALPHA,
        sizes::MIN,
        sizes::MAX,
        sizes::SIZES,
        ECN,
        LIMIT,
    ],
    kernel: Kernel::None,
    rules: Rules::NONE,
    finish,
    build: Build {
        source: |options, stream| Box::new(Pages::new(options, stream)),
        transport: Transport::Connections {
            largest: |options| {
                let each = per_connection(options);
                Sizes::of(options).largest().saturating_mul(each)
            },
            gap: |options| {
                let connections = options.int("connections") as u64;
                Time((options.time("think").ns() / connections).max(1))
            },
        },
    },
};

fn finish(options: &mut Options) -> Result<(), Vec<OptionError>> {
    sizes::finish(options)?;
    if options.int("limit") < options.int("connections") {
        return Err(vec![OptionError {
            option: "limit",
            message: format!(
                "limit is below the connections of a page; expected at least {}",
                options.int("connections")
            ),
        }]);
    }
    Ok(())
}

fn per_connection(options: &Options) -> u64 {
    let objects = options.int("objects") as u64;
    objects.div_ceil(options.int("connections") as u64)
}

struct Pages {
    sizes: Sizes,
    stream: Stream,
    objects: u64,
    connections: u64,
    think: Time,
    /// When the next page begins. `None` before the start and while a page loads.
    next: Option<Time>,
    loading: Option<Page>,
    started: bool,
}

struct Page {
    begun: Time,
    /// Whether a connection of the page could not be opened, because too many connections were
    /// open. Such a page never completes and has no load time.
    failed: bool,
    to_open: Vec<u64>,
    /// How many connections of the page are not complete yet.
    left: u64,
}

impl Pages {
    fn new(options: &Options, stream: Stream) -> Pages {
        Pages {
            sizes: Sizes::of(options),
            stream,
            objects: options.int("objects") as u64,
            connections: options.int("connections") as u64,
            think: options.time("think"),
            next: None,
            loading: None,
            started: false,
        }
    }

    fn gap(&mut self) -> Time {
        Time((self.think.ns() as f64 * self.stream.exponential()) as u64)
    }

    /// Ends the load of the page, and chooses a random time at which the next page begins.
    fn end(&mut self, now: Time) {
        self.loading = None;
        self.next = Some(now + self.gap());
    }

    fn page(&mut self, now: Time) -> Page {
        let connections = self.connections.min(self.objects);
        let mut to_open = vec![0; connections as usize];
        for object in 0..self.objects {
            to_open[(object % connections) as usize] += self.sizes.draw(&mut self.stream);
        }
        Page {
            begun: now,
            failed: false,
            to_open,
            left: connections,
        }
    }
}

impl Source for Pages {
    fn next(&mut self, now: Time) -> Step {
        if let Some(page) = &mut self.loading {
            return match page.to_open.pop() {
                Some(bytes) => Step::Open { bytes },
                None => Step::Wait(Time::NEVER),
            };
        }
        if !self.started {
            self.started = true;
            self.next = Some(now + self.gap());
        }
        match self.next {
            Some(due) if due <= now => {
                self.loading = Some(self.page(now));
                self.next(now)
            }
            Some(due) => Step::Wait(due),
            None => Step::Wait(Time::NEVER),
        }
    }

    fn complete(&mut self, now: Time, _: &Completion) -> Option<Time> {
        let page = self.loading.as_mut()?;
        page.left -= 1;
        if page.left > 0 {
            return None;
        }
        let took = (!page.failed).then_some(now.since(page.begun));
        self.end(now);
        took
    }

    fn refused(&mut self, now: Time) {
        if let Some(page) = &mut self.loading {
            page.failed = true;
            page.left -= 1;
            if page.left == 0 {
                self.end(now);
            }
        }
    }
}

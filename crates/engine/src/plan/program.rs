//! `[[programs]]`: unmodified programs. Each entry of `[[programs]]` has its own pair of hosts.

use super::Algorithm;
use crate::keys;
use crate::keys::{
    ANY_TIME, AsPart, BOOL, COUNT, KeyKind, NUMBER, POSITIVE_TIME, Part, Registry, TEXT, entry,
    int, key,
};
use crate::registry::{Options, Value};
use crate::units::Time;

/// The date of guests at the start of the run if the scenario sets none, in seconds since 1970:
/// 2026-01-01.
pub const DATE: u64 = 1_767_225_600;

/// If the path of a file begins with this prefix, the rest of the path is the name of one of
/// tailback's own programs.
pub const BUILT: &str = "built:";

keys! {
    /// Unmodified programs and the pair of hosts on which they run. Kernel engine only, except for
    /// transport stacks. In the simulator, `kind` selects a transport stack that is compiled into
    /// the engine, such as stacks/quinn. Packets from the sender's host follow the entry's `route`.
    /// Packets from the receiver's host travel in the reverse direction. If an entry has a kind,
    /// the entry also contains the options of this kind as keys.
    pub struct ProgramPlan as "[[programs]]" {
        /// A ready-made entry, which sets the programs of both sides; default: the keys sender and
        /// receiver set them.
        kind: &'static str => key(KeyKind::Word(Registry::Programs));
        /// Name of the entry in results. Default: the kind or the first word of the command, with a
        /// number if several entries have this name.
        name: String => key(KeyKind::Name);
        /// The program on the sender's host: { run = ["program", "argument"], ready = "tcp:80" }.
        sender: Option<SidePlan> => key(KeyKind::Table(&SidePlan::TABLE));
        /// The program on the receiver's host, in the same form as the key `sender`. You can leave
        /// out the program on one of the two hosts. The program on the other host may then refer to
        /// a host of another entry by a placeholder such as {NAME.sender}. The host that the
        /// placeholder names then replaces the host without a program.
        receiver: Option<SidePlan> => key(KeyKind::Table(&SidePlan::TABLE));
        /// Files and folders that the programs need, relative to the scenario file. Programs find
        /// these files, read-only, in the folder /files. The folder /files is part of the programs'
        /// PATH. The working folder of each program has symbolic links to these files. The id of a
        /// run depends on the content of the files.
        files: Vec<FilePlan> => key(KeyKind::Files);
        /// Debian packages that the programs need. tailback also unpacks the packages on which
        /// these packages depend.
        packages: Vec<String> => key(KeyKind::Words);
        /// Environment variables, { NAME = "value" }, in addition to PATH, HOME, OUT and LANG.
        env: Vec<[String; 2]> => key(KeyKind::Texts);
        /// Congestion control of the TCP sockets on both hosts; values as for [[flows]]. A program
        /// may choose another congestion control for its own sockets.
        cc: Algorithm => entry(Registry::Cc).default("cubic");
        /// A module of the guest kernel that replaces the congestion control.
        module: Option<String>;
        /// Whether TCP sockets of both hosts request ECN. If false, these sockets use ECN only if
        /// the peer requests ECN.
        ecn: bool = BOOL.default("false");
        /// Number of copies of this entry. Two or more copies have the names NAME/1, NAME/2, ...
        count: u64 = COUNT.default("1");
        /// Time at which the programs start, except servers (programs with `ready`). start_jitter
        /// adds a random delay to this time.
        start: Time = ANY_TIME.default("0s");
        /// Time at which tailback ends all programs (SIGTERM, and SIGKILL a second later); default:
        /// the end of the run.
        stop: Option<Time> = ANY_TIME;
        /// Base round-trip time; default: path.rtt.
        rtt: Time = POSITIVE_TIME;
        /// Links over which packets of the sender's host travel, in order; default: the only link.
        route: Vec<u32> => key(KeyKind::Route);
        /// Links over which packets of the receiver's host travel, in order. Default: the links of
        /// the route in reverse order, in the reverse direction (NAME.back for each link NAME).
        back: Vec<u32> => key(KeyKind::Route);
        /// With true, the sender's packets travel in the reverse direction of the route, and the
        /// receiver's packets travel in the forward direction.
        key reverse = BOOL.default("false");
        /// Host names of the sender and the receiver. Programs can resolve these names to
        /// addresses; default: "sender" and "receiver".
        hosts: Option<[String; 2]> => key(KeyKind::Hosts);
        /// Differentiated services codepoint of the packets of both hosts. If a program sets a
        /// codepoint itself, the packets carry the program's codepoint.
        dscp: u8 = int(0, 63).default("0");
        /// The class of the entry, as for [[flows]]. A class may contain flows, traffic and
        /// programs. Default: no class.
        class: Option<String> => key(KeyKind::Class);
        /// Expected exit status of programs that end on their own. The run fails if a program exits
        /// with another status.
        expect: i32 = int(0, 255).default("0");
        /// The date that programs see at the start of the run, such as "2026-12-01" or
        /// "2026-12-01T12:00:00". All entries of [[programs]] must have the same date. Default:
        /// 2026-01-01.
        date: u64 => key(KeyKind::Date);
        /// Numbers that tailback reads from files that programs write to /out: { NAME = { file,
        /// path, scale } }. The results include each number as results.NAME.
        results: Vec<ResultPlan> => key(KeyKind::Map(&ResultPlan::TABLE));
        /// Index of the entry whose host takes the place of the host without a program.
        partner: Option<u32>;
        /// If set, the programs of both sides get the environment of the QUIC interop runner.
        interop: Option<InteropPlan>;
        /// The options of the transport stack that the kind selects in the simulator.
        stack: Option<Options>;
    }
}

keys! {
    /// The program that runs on one of the two hosts.
    pub struct SidePlan as "a side of [[programs]]" {
        /// The program and its arguments. tailback replaces the placeholders {sender}, {receiver},
        /// {sender6} and {receiver6} with the addresses of the hosts. For the addresses of the
        /// hosts of the entry NAME, write {NAME.sender}, {NAME.receiver}, {NAME.sender6} or
        /// {NAME.receiver6}. The placeholder {duration} is replaced by the number of whole seconds
        /// from start to stop, or to the end of the run if stop is not set. Write "{{" for a
        /// literal brace.
        run: Vec<String> => key(KeyKind::Words);
        /// Declares that this program is a server, which starts before the run begins. The run begins
        /// when the server is ready. The value says how tailback recognises that the server is
        /// ready: "tcp:PORT", "udp:PORT", "stdout:TEXT" or a time such as "500ms".
        ready: Option<Ready> => key(KeyKind::Ready);
        /// A folder, relative to this file, that becomes the root of this program's file system.
        /// This folder replaces the file system made of Debian packages. The folder contains an
        /// unpacked container image, as "docker export" or "umoci unpack" writes it. The id of a
        /// run depends on the content of this folder.
        root: Option<RootPlan> => key(KeyKind::Folder);
        /// The program's working folder; default: "/" if root is set, else "/work".
        cwd: Option<String> => TEXT;
        /// Environment variables for this program, in addition to the entry's `env`.
        env: Vec<[String; 2]> => key(KeyKind::Texts);
    }
}

/// The root folder of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootPlan {
    /// Path of the folder. The id of a run does not depend on the path.
    pub path: String,
    /// SHA-256 of the folder's content.
    pub hash: String,
}

impl AsPart for RootPlan {
    fn part(&self) -> Part<'_> {
        Part::Table(vec![("sha256", Part::Text(&self.hash))])
    }
}

/// Files that the client fetches from the server in the QUIC interop runner's environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InteropPlan {
    /// Size of each file, in bytes.
    pub bytes: u64,
    /// Number of files.
    pub files: u64,
}

impl InteropPlan {
    /// Returns the name of a file. Files are numbered from 0.
    pub fn name(number: u64) -> String {
        format!("file-{}", number + 1)
    }
}

impl AsPart for InteropPlan {
    fn part(&self) -> Part<'_> {
        let number = |n: u64| Part::Value(Value::Int(n.cast_signed()));
        Part::Table(vec![
            ("bytes", number(self.bytes)),
            ("files", number(self.files)),
        ])
    }
}

keys! {
    /// A number that tailback reads from a file that the program writes.
    pub struct ResultPlan as "a result" {
        /// Its name.
        name: String;
        /// Path of a JSON file below /out.
        file: String => TEXT.required();
        /// The position of the number in the JSON file: keys and indices, separated by dots.
        path: String => TEXT.required();
        /// Factor by which the number is multiplied.
        scale: f64 = NUMBER.default("1");
    }
}

/// A file or folder that a scenario lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlan {
    /// Name of the file below `/files`.
    pub name: String,
    /// Path of the file. The id of a run does not depend on the path.
    pub path: String,
    /// SHA-256 of the content.
    pub hash: String,
}

impl FilePlan {
    /// Returns the file for one of tailback's own programs. The kernel engine finds the program by
    /// its name.
    pub fn built(name: &str) -> FilePlan {
        FilePlan {
            name: name.to_owned(),
            path: format!("{BUILT}{name}"),
            hash: String::new(),
        }
    }
}

impl AsPart for FilePlan {
    fn part(&self) -> Part<'_> {
        Part::Table(vec![
            ("name", Part::Text(&self.name)),
            ("sha256", Part::Text(&self.hash)),
        ])
    }
}

/// The condition under which a server is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A socket listens at this TCP port of the host.
    Tcp(u16),
    /// A socket is bound to this UDP port of the host.
    Udp(u16),
    /// The server has written this text to its standard output.
    Stdout(String),
    /// This much time has passed since the server was started.
    After(Time),
}

impl AsPart for Ready {
    fn part(&self) -> Part<'_> {
        let port = |port: u16| Part::Value(Value::Int(port.into()));
        Part::Table(vec![match self {
            Ready::Tcp(number) => ("tcp", port(*number)),
            Ready::Udp(number) => ("udp", port(*number)),
            Ready::Stdout(text) => ("stdout", Part::Text(text)),
            Ready::After(time) => ("after", Part::Value(Value::Time(*time))),
        }])
    }
}

impl ProgramPlan {
    /// Returns the sender's side and the receiver's side, if they run a program.
    pub fn sides(&self) -> [Option<&SidePlan>; 2] {
        [self.sender.as_ref(), self.receiver.as_ref()]
    }

    /// Checks whether this entry uses a host of another entry in place of its own. If this entry
    /// uses such a host, returns the index of the side without a program (0 for the sender's) and
    /// the index of the other entry.
    pub fn shared(&self) -> Option<(usize, usize)> {
        let side = usize::from(self.sender.is_some());
        self.partner.map(|entry| (side, entry as usize))
    }
}

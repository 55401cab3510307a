//! Judges the simulator's TCP by packetdrill scripts.
//!
//! packetdrill (Cardwell et al., USENIX ATC 2013) lets a script play one end
//! of a connection and checks what the other end, a kernel, sends and when.
//! The kernel's selftests hold some two hundred such scripts. packetdrill can
//! also test a TCP behind a shared library (`--so_filename`); that way is not
//! taken here, as packetdrill itself is not packaged in the Debian suites this
//! project builds on. Instead this crate is a small interpreter, written anew, of the
//! part of the language that concerns a TCP without a kernel around it.
//!
//! | file | what |
//! |---|---|
//! | [`script`] | a script, parsed |
//! | `parse` | the parser, with places in its errors |
//! | [`check`] | the assertions of `%{ ... }%` |
//! | `ecn` | what both ends agree on about ECN |
//! | `setup` | what a script configures, and what of it is beyond the simulator |
//! | `host` | sender, receiver and the translation between bytes and segments |
//! | `run` | the clock: plays a script |
//! | `verdict` | the verdict, and why a script does not concern the simulator |
//! | `words` | packets in words |
//! | [`report`] | verdicts as table, JSON and Markdown |
//!
//! What is judged: which data segments and ACKs leave and when, their SACK
//! blocks, echoed timestamps, ECN flags and codepoints, the ACE field and the AccECN option,
//! and assertions on `tcp_info`. What is not, because the simulator has none of it:
//! - the handshake, but for its flags where Accurate ECN is asked for: this crate answers it and
//!   sets the ends up as if they had done it;
//! - the PSH flag, the advertised window, options of SYN and SYN-ACK;
//! - how many segments share one packet: the simulator has no TSO and no GRO, so one expected
//!   packet of several segments is compared with as many of the simulator's, all at the
//!   expected time;
//! - the exchange of FIN: a script is judged as far as the connection is open;
//! - values of `tcp_info` the simulator does not keep; they are named in the result.
//!
//! Time is virtual: events happen exactly at the script's times, a packet of
//! the simulator may be packetdrill's tolerance away from its own.

pub mod check;
mod ecn;
mod host;
mod parse;
pub mod report;
mod run;
pub mod script;
mod setup;
mod verdict;
mod words;

pub use parse::{SyntaxError, parse};
pub use run::judge;
pub use verdict::{Category, Judged, Verdict};

use std::path::{Path, PathBuf};

/// Where the scripts lie inside a kernel's source tree.
const SELFTESTS: &str = "tools/testing/selftests/net/packetdrill";

/// The folder of the kernel's scripts: `TAILBACK_PACKETDRILL`, or in a source
/// tree of the kernel kit (`TAILBACK_KIT`, or `tailback/kernel` in the user's cache).
pub fn kernel_scripts() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("TAILBACK_PACKETDRILL") {
        return Some(PathBuf::from(named)).filter(|d| d.is_dir());
    }
    let kit = std::env::var_os("TAILBACK_KIT")
        .map(PathBuf::from)
        .or_else(|| {
            let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let home = || std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache"));
            cache.or_else(home).map(|c| c.join("tailback/kernel"))
        })?;
    [kit.join("sources"), kit]
        .iter()
        .find_map(|root| below(root, 3))
}

/// The version of the kernel a folder of scripts belongs to: `7.3`.
pub fn kernel_version(scripts: &Path) -> Option<String> {
    let levels = SELFTESTS.split('/').count();
    let tree = scripts
        .canonicalize()
        .ok()?
        .ancestors()
        .nth(levels)?
        .to_owned();
    let makefile = std::fs::read_to_string(tree.join("Makefile")).ok()?;
    let value = |name: &str| {
        let line = makefile.lines().find(|l| l.starts_with(name))?;
        Some(line.split_once('=')?.1.trim().to_owned())
    };
    Some(format!("{}.{}", value("VERSION")?, value("PATCHLEVEL")?))
}

/// The first source tree with scripts, at most `levels` folders down.
fn below(folder: &Path, levels: u32) -> Option<PathBuf> {
    let scripts = folder.join(SELFTESTS);
    if scripts.is_dir() {
        return Some(scripts);
    }
    if levels == 0 {
        return None;
    }
    let mut inner: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|e| Some(e.ok()?.path()))
        // A tree that is being unpacked has another name until it is whole.
        .filter(|p| p.is_dir() && p.extension().is_none_or(|x| x != "part"))
        .collect();
    // The same one every time; the newest name last, so first from behind.
    inner.sort();
    inner.iter().rev().find_map(|p| below(p, levels - 1))
}

/// The scripts of a folder, by name.
pub fn scripts_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|x| x == "pkt"))
        .collect();
    found.sort();
    Ok(found)
}

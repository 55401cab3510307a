//! Tests the simulator's TCP with packetdrill scripts.
//!
//! packetdrill (Cardwell et al., USENIX ATC 2013) runs a script. The script plays one end of a
//! connection, and a kernel is the other end. packetdrill checks which packets the kernel sends,
//! and when it sends them. The kernel's selftests contain about two hundred such scripts.
//!
//! packetdrill can also test a TCP implementation in a shared library (`--so_filename`). This crate
//! does not use packetdrill, because the Debian releases on which tailback is built have no package
//! of packetdrill. Instead, this crate interprets scripts itself. The interpreter supports the
//! parts of the script language for TCP, but not the parts for other kernel features.
//!
//! | file | content |
//! |---|---|
//! | [`script`] | a script, parsed |
//! | `parse` | the parser, whose errors state line and column |
//! | [`check`] | the assertions of `%{ ... }%` |
//! | `ecn` | the negotiation of ECN |
//! | `setup` | the settings in a script, and the parts of a script that the simulator does not support |
//! | `host` | the simulator's sender and receiver, and the translation between bytes and segments |
//! | `run` | the execution of a script in virtual time |
//! | `verdict` | the verdict, and why a script does not apply to the simulator |
//! | `words` | descriptions of packets |
//! | [`report`] | verdicts as table, JSON and Markdown |
//!
//! The interpreter checks which data segments and ACKs are sent, and when they are sent. The
//! interpreter compares the SACK blocks, echoed timestamps, ECN flags and codepoints, ACE field and
//! AccECN option of data segments and ACKs. The interpreter also checks assertions on `tcp_info`.
//! It does not check:
//! - the handshake, in which this crate answers instead of the simulator (but if an end requests
//!   Accurate ECN, the flags of the handshake are checked);
//! - the PSH flag, the advertised window, options of SYN and SYN-ACK;
//! - how many segments share one packet (the simulator does not have TSO or GRO, so several of its
//!   segments may correspond to one expected packet);
//! - the exchange of FIN, because a script is checked only while the connection is open;
//! - fields of `tcp_info` that the simulator does not have; the verdict lists them.
//!
//! Time is virtual, and events of the script happen exactly at the script's times. The simulator
//! may send a packet earlier or later than the script expects. The largest permitted difference is
//! packetdrill's tolerance.

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

/// Folder of the scripts in a kernel's source tree.
const SELFTESTS: &str = "tools/testing/selftests/net/packetdrill";

/// Returns the folder of the kernel's scripts. If `TAILBACK_PACKETDRILL` is set, it names the
/// folder. Otherwise the folder is in a source tree of the guest kernel (`TAILBACK_KIT`, or
/// `tailback/kernel` in the user's cache).
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

/// Returns the version of the kernel to which a folder of scripts belongs, such as `7.3`.
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

/// Returns the `SELFTESTS` folder of the newest source tree at most `levels` folders below
/// `folder`.
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
        // Ignore a source tree whose name ends in `.part`, because this tree is being unpacked.
        .filter(|p| p.is_dir() && p.extension().is_none_or(|x| x != "part"))
        .collect();
    // Sort the folders by name, so that the choice is reproducible. Search the newest version
    // first, that is, the last folder in the order of names.
    inner.sort();
    inner.iter().rev().find_map(|p| below(p, levels - 1))
}

/// Returns the scripts of a folder, sorted by name.
pub fn scripts_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|x| x == "pkt"))
        .collect();
    found.sort();
    Ok(found)
}

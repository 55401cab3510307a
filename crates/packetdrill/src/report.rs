//! Verdicts as a table, as JSON and as a page of documentation.

use serde_json::{Value, json};

use crate::run::{Category, Judged, Verdict};

/// A script's name (without `.pkt`) and what it says.
pub type Row = (String, Judged);

/// Why scripts of the kernel fail that are known to. All are deviations that
/// stand at the head of the simulator's TCP.
const KNOWN: &[(&str, &str)] = &[(
    "tcp_slow_start_slow-start-fq-ack-per-2pkt",
    "fq sends bursts of two segments, as TSO hands them over, and spaces the bursts; the \
     simulator has no TSO and spaces segments: the second of a pair leaves half a gap later \
     (4.4 ms, 0.4 ms too late for the tolerance). With a tolerance of 4.4 ms the script passes",
)];

/// A word for the verdict.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass { .. } => "pass",
        Verdict::Fail { .. } => "FAIL",
        Verdict::NotApplicable { .. } => "n/a",
    }
}

/// What there is to say about a verdict.
fn why(judged: &Judged) -> String {
    let mut parts = Vec::new();
    match &judged.verdict {
        Verdict::Pass { until: Some(line) } => parts.push(format!("up to line {line}: closing")),
        Verdict::Pass { until: None } => {}
        Verdict::Fail {
            line,
            expected,
            got,
        } => parts.push(format!("line {line}: expected {expected}; got {got}")),
        Verdict::NotApplicable {
            line,
            category,
            why,
        } => parts.push(format!("{}, line {line}: {why}", category.label())),
    }
    if !judged.unjudged.is_empty() && !matches!(judged.verdict, Verdict::NotApplicable { .. }) {
        parts.push(format!("not judged: {}", judged.unjudged.join(", ")));
    }
    parts.join("; ")
}

/// How many passed, failed, do not apply.
pub fn counts(rows: &[Row]) -> (usize, usize, usize) {
    let of = |w: &str| rows.iter().filter(|r| word(&r.1.verdict) == w).count();
    (of("pass"), of("FAIL"), of("n/a"))
}

fn summary(rows: &[Row]) -> String {
    let (pass, fail, not) = counts(rows);
    format!(
        "{pass} pass, {fail} fail, {not} not applicable, of {}",
        rows.len()
    )
}

/// A readable table: script, verdict, packets and assertions judged, reason.
pub fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|r| r.0.len()).max().unwrap_or(0).max(6);
    let mut text = format!("{:width$}  verdict  packets  asserts  why\n", "script");
    for (name, judged) in rows {
        let line = format!(
            "{name:width$}  {:7}  {:7}  {:7}  {}",
            word(&judged.verdict),
            judged.packets,
            judged.assertions,
            why(judged),
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&summary(rows));
    text.push('\n');
    text
}

/// The same as JSON: `{"kernel", "scripts": [...], "pass", "fail", "not_applicable"}`;
/// `version` of the kernel the scripts are from, if they are a kernel's.
pub fn json(rows: &[Row], version: Option<&str>) -> Value {
    let scripts: Vec<Value> = rows
        .iter()
        .map(|(name, judged)| {
            let mut row = json!({
                "script": name,
                "packets": judged.packets,
                "assertions": judged.assertions,
                "unjudged": judged.unjudged,
            });
            let (verdict, line, rest) = match &judged.verdict {
                Verdict::Pass { until } => ("pass", *until, json!({})),
                Verdict::Fail {
                    line,
                    expected,
                    got,
                } => (
                    "fail",
                    Some(*line),
                    json!({"expected": expected, "got": got}),
                ),
                Verdict::NotApplicable {
                    line,
                    category,
                    why,
                } => (
                    "not applicable",
                    Some(*line),
                    json!({"category": category.label(), "why": why}),
                ),
            };
            row["verdict"] = json!(verdict);
            row["line"] = json!(line);
            for (key, value) in rest.as_object().into_iter().flatten() {
                row[key] = value.clone();
            }
            row
        })
        .collect();
    let (pass, fail, not) = counts(rows);
    json!({"kernel": version, "scripts": scripts, "pass": pass, "fail": fail, "not_applicable": not})
}

const HEAD: &str = "\
# The simulator's TCP, judged by packetdrill scripts

Made by `tailback-packetdrill --kernel --markdown` from the scripts of a Linux
source tree (`tools/testing/selftests/net/packetdrill`), unmodified; a test keeps
it current. The scripts are the kernel's and are read from there, none is part
of this repository.

packetdrill itself is not packaged in the Debian suites this project builds on, so that
its way of testing a TCP behind a shared library (`--so_filename`) is not taken:
`crates/packetdrill` is a small interpreter of the language, written anew, with
the simulator's sender and receiver behind it. Judged are the data segments and
ACKs that leave and when (within packetdrill's 4 ms, or what a script sets),
SACK blocks, echoed timestamps, ECN flags and codepoints, and assertions on
`tcp_info`. Not judged are the handshake (the interpreter answers it), the PSH
flag, the advertised window, how many segments share a packet (the simulator has
no TSO or GRO), the exchange of FIN (a script counts as far as the connection is
open) and values of `tcp_info` the simulator does not keep (they are named).
";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A page that lists what passes, what fails and why, and what does not apply.
/// `version`: of the kernel the scripts are from.
pub fn markdown(rows: &[Row], version: Option<&str>) -> String {
    let of = version.map_or(String::new(), |v| {
        format!(" The scripts are those of Linux {v}.")
    });
    let mut text = format!("{HEAD}\n**{}.**{of}\n", summary(rows));
    let known = |name: &str| KNOWN.iter().find(|k| k.0 == name).map(|k| k.1);
    let mut section = |title: &str, wanted: &str, explain: &str| {
        let those: Vec<&Row> = rows
            .iter()
            .filter(|r| word(&r.1.verdict) == wanted)
            .collect();
        text.push_str(&format!("\n## {title}\n\n"));
        if those.is_empty() {
            text.push_str("None.\n");
            return;
        }
        text.push_str(explain);
        text.push_str("| script | packets | assertions | |\n|---|--:|--:|---|\n");
        for (name, judged) in those {
            let mut why = why(judged);
            if let (Verdict::Fail { .. }, Some(known)) = (&judged.verdict, known(name)) {
                why = format!("{why}. {known}.");
            }
            text.push_str(&format!(
                "| {name} | {} | {} | {} |\n",
                judged.packets,
                judged.assertions,
                cell(&why)
            ));
        }
    };
    section(
        "Scripts that fail",
        "FAIL",
        "Packets and assertions are those that held before.\n\n",
    );
    section(
        "Scripts that pass",
        "pass",
        "Packets and assertions are those judged.\n\n",
    );
    text.push_str("\n## Scripts that do not apply\n");
    let mut kinds: Vec<Category> = rows.iter().filter_map(|r| category(&r.1)).collect();
    kinds.sort();
    kinds.dedup();
    for kind in kinds {
        let those: Vec<&Row> = rows
            .iter()
            .filter(|r| category(&r.1) == Some(kind))
            .collect();
        text.push_str(&format!("\n### {} ({})\n\n", kind.label(), those.len()));
        for (name, judged) in those {
            if let Verdict::NotApplicable { line, why, .. } = &judged.verdict {
                text.push_str(&format!("- {name}, line {line}: {why}\n"));
            }
        }
    }
    text
}

fn category(judged: &Judged) -> Option<Category> {
    match judged.verdict {
        Verdict::NotApplicable { category, .. } => Some(category),
        _ => None,
    }
}

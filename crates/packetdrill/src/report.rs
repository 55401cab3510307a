//! Formats verdicts as a table, as JSON and as a page of the documentation.

use serde_json::{Value, json};

use crate::verdict::{Category, Judged, Verdict};

/// A script's name (without `.pkt`) and its verdict.
pub type Row = (String, Judged);

/// Kernel scripts whose failure has a known reason, each with this reason. The reasons are
/// deviations from Linux, and the module comment of the simulator's TCP lists each deviation.
const KNOWN: &[(&str, &str)] = &[(
    "tcp_accecn_sack_space_grab",
    "In the simulator an ACK has room for three SACK blocks, or for two SACK blocks and the \
     AccECN option. In Linux an ACK without timestamps, as in this script, has room for three \
     SACK blocks and the AccECN option. The simulator sends the AccECN option with the next ACK \
     that has fewer than three SACK blocks",
)];

const WORDS: [&str; 4] = ["pass", "runs", "FAIL", "n/a"];

fn word(judged: &Judged) -> &'static str {
    match judged.verdict {
        Verdict::Pass { .. } if judged.asserts() => "pass",
        Verdict::Pass { .. } => "runs",
        Verdict::Fail { .. } => "FAIL",
        Verdict::NotApplicable { .. } => "n/a",
    }
}

fn why(judged: &Judged) -> String {
    let mut parts = Vec::new();
    match &judged.verdict {
        Verdict::Pass { until: Some(line) } => {
            parts.push(format!("up to line {line}, where the connection closes"));
        }
        Verdict::Pass { until: None } => {}
        Verdict::Fail {
            line,
            expected,
            got,
        } => parts.push(format!("line {line}: expected {expected}. Got {got}")),
        Verdict::NotApplicable {
            line,
            category,
            why,
        } => parts.push(format!("{}, line {line}: {why}", category.label())),
    }
    if !judged.unjudged.is_empty() && !matches!(judged.verdict, Verdict::NotApplicable { .. }) {
        parts.push(format!("not compared: {}", judged.unjudged.join(", ")));
    }
    parts.join("; ")
}

/// Returns how many scripts pass, run without assertions, fail, and do not apply.
pub fn counts(rows: &[Row]) -> [usize; 4] {
    WORDS.map(|w| rows.iter().filter(|r| word(&r.1) == w).count())
}

fn summary(rows: &[Row]) -> String {
    let [pass, runs, fail, not] = counts(rows);
    format!(
        "{pass} pass, {runs} run and assert nothing, {fail} fail, {not} not applicable, of {}",
        rows.len()
    )
}

/// Formats a table with one row per script: the script, the verdict, the numbers of packets, fields
/// and assertions that were checked, and the reason.
pub fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|r| r.0.len()).max().unwrap_or(0).max(6);
    let mut text = format!(
        "{:width$}  verdict  packets  fields  asserts  why\n",
        "script"
    );
    for (name, judged) in rows {
        let line = format!(
            "{name:width$}  {:7}  {:7}  {:6}  {:7}  {}",
            word(judged),
            judged.packets,
            judged.fields,
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

/// Returns JSON: `{"kernel", "scripts": [...], "pass", "runs", "fail", "not_applicable"}`.
/// `version` is the version of the kernel from which the scripts come.
pub fn json(rows: &[Row], version: Option<&str>) -> Value {
    let scripts: Vec<Value> = rows
        .iter()
        .map(|(name, judged)| {
            let mut row = json!({
                "script": name,
                "packets": judged.packets,
                "fields": judged.fields,
                "assertions": judged.assertions,
                "unjudged": judged.unjudged,
            });
            let (verdict, line, rest) = match &judged.verdict {
                Verdict::Pass { until } => (word(judged), *until, json!({})),
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
    let [pass, runs, fail, not] = counts(rows);
    json!({
        "kernel": version, "scripts": scripts,
        "pass": pass, "runs": runs, "fail": fail, "not_applicable": not,
    })
}

const HEAD: &str = "\
# The simulator's TCP, tested by packetdrill scripts

`tailback-packetdrill --kernel --markdown` prints this page, and a test keeps it current. The
command runs the unmodified scripts of a Linux source tree
(`tools/testing/selftests/net/packetdrill`). This repository does not contain the scripts.

packetdrill can test a TCP in a shared library (`--so_filename`), but the Debian releases used here
do not include a packetdrill package. Therefore `crates/packetdrill` contains a small new
interpreter of packetdrill's language, which drives the simulator's sender and receiver.

| compared | not compared |
|---|---|
| the data segments and ACKs that the simulator sends, and their times, within the tolerance of packetdrill or of the script | how many segments share a packet, because the simulator has no TSO or GRO |
| SACK blocks and echoed timestamps | the advertised window and the PSH flag |
| ECN codepoints, ECE and CWR; with Accurate ECN also the ACE field and the counters of the AccECN option. If a script checks these fields on a data segment, the interpreter compares them with the values that the simulator's receiver would put into an ACK | the option on a SYN-ACK |
| the ACE field of the SYN, the SYN-ACK and the ACK that ends the handshake, if an endpoint requests Accurate ECN | other parts of the handshake, because the interpreter itself answers a SYN and never repeats a SYN-ACK |
| assertions on `tcp_info` | values of `tcp_info` that the simulator does not have; the tables below name these values |
| | the exchange of FIN, because the interpreter stops where the connection closes |

A *field* is a property of a packet, other than its sequence number, that a script checks. The
fields are the ECN codepoint, the ECN flags, the AccECN option, the SACK blocks and the echoed
timestamp. A script *asserts nothing* if it makes no assertion on `tcp_info`, checks no field, and
expects at most one packet from the simulator.
";

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Returns a page that lists which scripts pass, which scripts fail (with the reason), and which
/// scripts do not apply. `version` is the version of the kernel from which the scripts come.
pub fn markdown(rows: &[Row], version: Option<&str>) -> String {
    let of = version.map_or(String::new(), |v| {
        format!("The scripts come from the source tree of Linux {v}.\n")
    });
    let mut text = format!("{HEAD}\n{of}");
    text.push_str(
        "\n## Counts\n\n| | scripts | packets | fields | assertions |\n|---|--:|--:|--:|--:|\n",
    );
    let names = ["pass", "run, assert nothing", "fail", "do not apply"];
    for (name, w) in names.iter().zip(WORDS) {
        let those: Vec<&Judged> = rows.iter().map(|r| &r.1).filter(|j| word(j) == w).collect();
        let sum = |of: fn(&Judged) -> u32| those.iter().map(|j| of(j)).sum::<u32>();
        text.push_str(&format!("| {name} | {} |", those.len()));
        text.push_str(&match w {
            "n/a" => " | | |\n".to_owned(),
            _ => format!(
                " {} | {} | {} |\n",
                sum(|j| j.packets),
                sum(|j| j.fields),
                sum(|j| j.assertions)
            ),
        });
    }
    text.push_str(&format!("| all | {} | | | |\n", rows.len()));
    let known = |name: &str| KNOWN.iter().find(|k| k.0 == name).map(|k| k.1);
    let mut section = |title: &str, wanted: &str, explain: &str| {
        let those: Vec<&Row> = rows.iter().filter(|r| word(&r.1) == wanted).collect();
        text.push_str(&format!("\n## {title}\n\n"));
        if those.is_empty() {
            text.push_str("None.\n");
            return;
        }
        text.push_str(explain);
        text.push_str("\n\n| script | packets | fields | assertions | |\n|---|--:|--:|--:|---|\n");
        for (name, judged) in those {
            let mut why = why(judged);
            if let (Verdict::Fail { .. }, Some(known)) = (&judged.verdict, known(name)) {
                why = format!("{why}. {known}.");
            }
            text.push_str(&format!(
                "| {name} | {} | {} | {} | {} |\n",
                judged.packets,
                judged.fields,
                judged.assertions,
                cell(&why)
            ));
        }
    };
    section(
        "Scripts that fail",
        "FAIL",
        "The columns count the packets, fields and assertions that were correct before the failure.",
    );
    section(
        "Scripts that pass",
        "pass",
        "The columns count the packets, fields and assertions that were compared.",
    );
    section(
        "Scripts that run and assert nothing",
        "runs",
        "These scripts test system calls and the closing of connections. Each \
         script expects only one packet from the simulator, and every correct TCP would send this \
         packet at the same time.",
    );
    text.push_str("\n## Scripts that do not apply\n");
    let mut kinds: Vec<Category> = rows.iter().filter_map(|r| category(&r.1)).collect();
    kinds.sort();
    kinds.dedup();
    text.push_str("\n| why | scripts |\n|---|--:|\n");
    let of = |kind: Category| rows.iter().filter(move |r| category(&r.1) == Some(kind));
    for kind in &kinds {
        text.push_str(&format!("| {} | {} |\n", kind.label(), of(*kind).count()));
    }
    for kind in kinds {
        text.push_str(&format!("\n### {}\n\n", kind.label()));
        text.push_str("| script | line | |\n|---|--:|---|\n");
        for (name, judged) in of(kind) {
            if let Verdict::NotApplicable { line, why, .. } = &judged.verdict {
                text.push_str(&format!("| {name} | {line} | {} |\n", cell(why)));
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

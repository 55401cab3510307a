//! `tailback-swarm` tries random scenarios, and checks the rules that must hold for every scenario.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tailback_swarm::finding::Finding;
use tailback_swarm::laws::{self, LAWS, Law, Verdict};
use tailback_swarm::swarm::{Plan, Tally, limits, swarm};
use tailback_swarm::trial::{Limits, keep_panics, trial};
use tailback_swarm::{generate, heap, reduce};
use toml::Table;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

const USAGE: &str = "\
usage: tailback-swarm run [--from SEED] [--seeds N] [--seconds S] [--jobs J]
       tailback-swarm gen SEED            prints a scenario
       tailback-swarm file PATH           tries one
       tailback-swarm reduce SEED|PATH    makes a failing scenario smaller, and keeps it
       tailback-swarm laws                lists the invariants (laws) of changed scenarios
       tailback-swarm law NAME [--from SEED] [--seeds N] [--seconds S] [--jobs J]
       tailback-swarm law NAME gen SEED   prints a scenario of an invariant
       tailback-swarm law NAME reduce SEED   makes a scenario that breaks the invariant smaller, and prints it
       tailback-swarm words               a dictionary for fuzzing scenarios
Exit status: 0 without findings, 1 with findings, 2 for bad arguments.";

/// Time until the first progress line, and time between two progress lines.
const PROGRESS: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    keep_panics();
    let done = match words.as_slice() {
        ["run", options @ ..] => run(options),
        ["gen", seed] => number(seed).map(|seed| {
            print!("{}", generate::scenario(seed));
            true
        }),
        ["file", path] => text(path).map(|text| {
            let report = trial(&text, &Limits::default());
            println!("{:?}", report.end);
            report
                .findings
                .iter()
                .for_each(|finding| show(path, finding));
            report.findings.is_empty()
        }),
        ["reduce", what] => shrink(what),
        ["laws"] => {
            LAWS.iter()
                .for_each(|law| println!("{:8} {}", law.name, law.doc));
            Ok(true)
        }
        ["law", name, rest @ ..] => match Law::named(name) {
            Some(law) => of_law(law, rest),
            None => Err(format!(
                "{name}: no such law; `tailback-swarm laws` lists them"
            )),
        },
        ["words"] => {
            generate::words().iter().for_each(|word| println!("{word}"));
            Ok(true)
        }
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(true)
        }
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("{text}: expected a whole number"))
}

fn text(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

fn show(what: &str, finding: &Finding) {
    let detail: String = finding.detail.chars().take(300).collect();
    println!("{what}: {}: {detail}", finding.kind);
}

/// Returns the trials that the options select. The default is a thousand seeds.
fn plan(options: &[&str]) -> Result<Plan, String> {
    let mut plan = Plan {
        from: 0,
        seeds: u64::MAX,
        time: None,
        jobs: 1,
    };
    for option in options.chunks(2) {
        let [name, value] = option else {
            return Err(format!("{} needs a number", option[0]));
        };
        let value = number(value)?;
        match *name {
            "--from" => plan.from = value,
            "--seeds" => plan.seeds = value,
            "--seconds" => plan.time = Some(Duration::from_secs(value)),
            "--jobs" => plan.jobs = value as usize,
            _ => return Err(USAGE.to_owned()),
        }
    }
    if plan.seeds == u64::MAX && plan.time.is_none() {
        plan.seeds = 1_000;
    }
    Ok(plan)
}

fn run(options: &[&str]) -> Result<bool, String> {
    let plan = plan(options)?;
    let began = Instant::now();
    let mut shown = began;
    let terminal = std::io::stderr().is_terminal();
    let tally = swarm(&plan, |tally, seed, findings| {
        findings
            .iter()
            .for_each(|finding| show(&format!("seed {seed}"), finding));
        if terminal && shown.elapsed() > PROGRESS {
            shown = Instant::now();
            eprint!("\r\x1b[K{}", line(tally, began));
            let _ = std::io::stderr().flush();
        }
    });
    if terminal && began.elapsed() > PROGRESS {
        eprint!("\r\x1b[K");
    }
    println!("{}", line(&tally, began));
    let mut refused: Vec<_> = tally.refused.iter().collect();
    refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (message, count) in refused.iter().take(5) {
        println!("  refused {count}: {message}");
    }
    Ok(tally.failed == 0)
}

fn line(tally: &Tally, began: Instant) -> String {
    let seconds = began.elapsed().as_secs_f64();
    format!(
        "{} scenarios in {seconds:.0} s ({:.0}/s): {} run, {} cut, {} too large, {} refused, {} with findings",
        tally.tried,
        tally.tried as f64 / seconds.max(1e-3),
        tally.done,
        tally.cut,
        tally.large,
        tally.refusals(),
        tally.failed,
    )
}

fn of_law(law: &'static Law, words: &[&str]) -> Result<bool, String> {
    match words {
        ["gen", seed] => {
            print!("{}", (law.draw)(number(seed)?));
            Ok(true)
        }
        ["reduce", seed] => {
            let seed = number(seed)?;
            reduce_broken(law, seed)
        }
        options => survey(law, &plan(options)?),
    }
}

fn survey(law: &'static Law, plan: &Plan) -> Result<bool, String> {
    let began = Instant::now();
    let tally = laws::survey(law, plan, |_, seed, verdict| {
        if let Verdict::Broken(finding) = verdict {
            show(&format!("{} {seed}", law.name), finding);
        }
    });
    let outside: u64 = tally.outside.values().sum();
    println!(
        "{}: {} scenarios in {:.0} s: the law holds of {}, says nothing of {outside}, is broken by {}",
        law.name,
        tally.tried,
        began.elapsed().as_secs_f64(),
        tally.held,
        tally.broken,
    );
    let mut reasons: Vec<_> = tally.outside.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (reason, count) in reasons.iter().take(5) {
        println!("  outside {count}: {reason}");
    }
    Ok(tally.broken == 0)
}

fn reduce_broken(law: &'static Law, seed: u64) -> Result<bool, String> {
    let scenario = (law.draw)(seed);
    let findings = |table: &Table| match law.check(table, seed, &laws::LIMITS) {
        Verdict::Broken(finding) => vec![finding],
        _ => Vec::new(),
    };
    let Some(first) = findings(&scenario).pop() else {
        println!("{} {seed}: the law is not broken", law.name);
        return Ok(true);
    };
    let reduced = reduce::reduce(&scenario, &first.kind, findings, |_| {});
    let (smallest, finding) = reduced.unwrap_or((scenario, first));
    print!("{smallest}");
    show(&format!("{} {seed}", law.name), &finding);
    Ok(false)
}

/// Returns the folder of regression tests, which are scenarios that once failed.
fn regressions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions")
}

fn shrink(what: &str) -> Result<bool, String> {
    let (scenario, limits) = match what.parse() {
        Ok(seed) => (generate::scenario(seed), limits(seed)),
        Err(_) => {
            let table: Result<Table, _> = text(what)?.parse();
            let table = table.map_err(|error| format!("{what}: {error}"))?;
            (table, Limits::default())
        }
    };
    // The trial waits some minutes before it reports that the original scenario does not end.
    // Reduced scenarios are smaller, so the time limit for them is shorter.
    let limits = Limits {
        patience: Duration::from_secs(60),
        ..limits
    };
    let findings = |table: &Table| trial(&table.to_string(), &limits).findings;
    let first = findings(&scenario);
    let Some(first) = first.first() else {
        println!("{what}: nothing is found");
        return Ok(true);
    };
    let began = Instant::now();
    let mut shown = began;
    let terminal = std::io::stderr().is_terminal();
    let reduced = reduce::reduce(&scenario, &first.kind, findings, |trials| {
        if terminal && shown.elapsed() > PROGRESS {
            shown = Instant::now();
            eprint!("\r\x1b[K{trials} trials");
            let _ = std::io::stderr().flush();
        }
    });
    let (smallest, finding) = reduced.unwrap_or((scenario, first.clone()));
    let stem = Path::new(what).file_stem();
    let stem = stem.map_or("unnamed".into(), |stem| stem.to_string_lossy());
    let kind: Vec<String> = finding
        .kind
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let path = regressions().join(format!("{}-{stem}.toml", kind.join("-")));
    let comment = format!(
        "# {}: {}\n",
        finding.kind,
        finding.detail.replace('\n', " ")
    );
    std::fs::create_dir_all(regressions())
        .and_then(|()| std::fs::write(&path, comment + &smallest.to_string()))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    show(&path.display().to_string(), &finding);
    Ok(false)
}

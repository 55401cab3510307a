//! `tailback-packetdrill`: tests the simulator's TCP with packetdrill scripts.

use std::path::PathBuf;
use std::process::ExitCode;

use tailback_packetdrill::{judge, kernel_scripts, kernel_version, parse, report, scripts_in};
use tailback_record::foreign::{read_text, shown};

const MAX_SCRIPT: u64 = 256 << 10;

const USAGE: &str = "\
usage: tailback-packetdrill [--json | --markdown] (FILE.pkt... | --kernel)

Plays packetdrill scripts against the simulator's TCP and prints a table: pass,
runs (and asserts nothing), FAIL with line, expected and got, or n/a with the reason.

  --json      prints the verdicts as JSON
  --markdown  prints docs/evidence/packetdrill.md
  --kernel    the scripts of the kernel's selftests: from the folder named by
              TAILBACK_PACKETDRILL, else from the guest kernel's source tree

Exit status: 0 none fails, 1 a script fails, 2 bad input.
";

enum Form {
    Table,
    Json,
    Markdown,
}

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok((text, failed)) => {
            use std::io::Write;
            // Ignore the error of a closed pipe, for example if `head` reads the output.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::from(u8::from(failed))
        }
        Err(message) => {
            // Escape control characters, which file names and quoted script text may contain.
            for line in message.trim_end().lines() {
                eprintln!("{}", shown(line));
            }
            ExitCode::from(2)
        }
    }
}

fn run(args: impl Iterator<Item = String>) -> Result<(String, bool), String> {
    let mut form = Form::Table;
    let mut files: Vec<PathBuf> = Vec::new();
    let mut version: Option<String> = None;
    for arg in args {
        match arg.as_str() {
            "--json" => form = Form::Json,
            "--markdown" => form = Form::Markdown,
            "--help" | "-h" => return Ok((USAGE.to_owned(), false)),
            "--kernel" => {
                let folder = kernel_scripts().ok_or(
                    "no kernel source with packetdrill scripts found: build the guest kernel, \
                     or name their folder in TAILBACK_PACKETDRILL",
                )?;
                version = kernel_version(&folder);
                files
                    .extend(scripts_in(&folder).map_err(|e| format!("{}: {e}", folder.display()))?);
            }
            other if other.starts_with('-') => {
                return Err(format!("{other}: no such option\n\n{USAGE}"));
            }
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        return Err(USAGE.to_owned());
    }
    let mut rows = Vec::new();
    let mut errors = Vec::new();
    for file in &files {
        let judged = read_text(file, MAX_SCRIPT)
            .map_err(|e| format!("{}: {e}", file.display()))
            .and_then(|text| parse(&text).map_err(|e| format!("{}:{e}", file.display())))
            .map(|script| judge(&script));
        match judged {
            Ok(judged) => {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                rows.push((name.into_owned(), judged));
            }
            Err(e) => errors.push(e),
        }
    }
    if !errors.is_empty() {
        return Err(errors.join("\n"));
    }
    let text = match form {
        Form::Table => {
            let table = report::table(&rows);
            table
                .lines()
                .map(|line| format!("{}\n", shown(line)))
                .collect()
        }
        Form::Json => format!("{:#}\n", report::json(&rows, version.as_deref())),
        Form::Markdown => report::markdown(&rows, version.as_deref()),
    };
    let [_, _, failed, _] = report::counts(&rows);
    Ok((text, failed > 0))
}

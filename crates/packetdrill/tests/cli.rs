//! Tests the command: exit status, messages, JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tailback-packetdrill"))
        .args(args)
        .output()
        .expect("the command runs")
}

fn script(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

fn own(name: &str) -> String {
    format!("{}/tests/own/{name}.pkt", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_syntax_error_is_bad_input() {
    let path = script(
        "wrong.pkt",
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 > S 0:0[0]\n",
    );
    let out = run(&[&own("slow_start"), &path.to_string_lossy()]);
    assert_eq!(out.status.code(), Some(2));
    let expected = format!(
        "{}:2:11: expected `(` and the payload's length, found `[0]`\n",
        path.display()
    );
    assert_eq!(String::from_utf8_lossy(&out.stderr), expected);
    assert!(out.stdout.is_empty());
}

#[test]
fn bad_arguments_are_bad_input() {
    for args in [&["--frobnicate"] as &[&str], &[], &["/nowhere/at/all.pkt"]] {
        let out = run(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(!out.stderr.is_empty());
    }
}

#[test]
fn json_and_status() {
    let out = run(&["--json", &own("recovery"), &own("timeout")]);
    assert_eq!(out.status.code(), Some(0));
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!((&told["pass"], &told["fail"]), (&2.into(), &0.into()));
    assert_eq!(told["scripts"][1]["script"], "timeout");
    assert_eq!(told["scripts"][1]["verdict"], "pass");
    let text = std::fs::read_to_string(own("timeout")).expect("a script");
    let wrong = script("timeout-wrong.pkt", &text.replace("+.204 >", "+.209 >"));
    let out = run(&["--json", &wrong.to_string_lossy()]);
    assert_eq!(out.status.code(), Some(1));
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(told["scripts"][0]["verdict"], "fail");
    assert_eq!(told["scripts"][0]["got"], "data 2001:3001 at 0.3040 s");
}

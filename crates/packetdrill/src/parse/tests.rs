use super::*;
use crate::check::Action;

fn only(text: &str) -> Event {
    let mut script = parse(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(script.events.len(), 1, "{text}");
    script.events.remove(0)
}

fn error(text: &str) -> String {
    match parse(text) {
        Ok(script) => panic!("{script:?}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn times() {
    let ms = NS / 1000;
    for (text, when) in [
        ("0.25", When::Absolute(250 * ms, 250 * ms)),
        ("+.1", When::Relative(100 * ms, 100 * ms)),
        ("+.3~+.310", When::Relative(300 * ms, 310 * ms)),
        ("1~2", When::Absolute(1000 * ms, 2000 * ms)),
        ("+0...0.2", When::Relative(0, 0)),
        ("+.002 ... 0.004", When::Relative(2 * ms, 2 * ms)),
        ("*", When::Any),
    ] {
        assert_eq!(only(&format!("{text} close(3) = 0")).at, when, "{text}");
    }
}

#[test]
fn packets() {
    let event =
        only("+0 > [ect0] P. 1:2921(2920) ack 7 win 9 <nop,nop,TS val 3 ecr 4,sack 5:6 8:9> // c");
    let What::Packet(packet) = event.what else {
        panic!("{event:?}");
    };
    assert_eq!(packet.ecn.as_deref(), Some("ect0"));
    assert_eq!(
        (packet.flags.as_str(), packet.start, packet.end),
        ("P.", 1, 2921)
    );
    assert_eq!((packet.ack, packet.win), (Some(7), Some(9)));
    assert_eq!(packet.timestamps(), Some((3, 4)));
    assert_eq!((packet.accecn(), packet.ace()), (None, 0));
    assert_eq!(packet.sack(), [(5, 6), (8, 9)]);
}

/// The counters of the AccECN option may come in any order, and some may be missing.
#[test]
fn accurate_ecn() {
    for (text, ace, counters) in [
        (
            "SEWA 0:0(0) <ECN e0b 9 ceb 8 e1b 7,nop>",
            7,
            Some([Some(7), Some(8), Some(9)]),
        ),
        (
            "P.5 0:0(0) <nop,nop,ECN e1b 7 ceb 0 , nop>",
            5,
            Some([Some(7), Some(0), None]),
        ),
        ("EA. 0:0(0) <ECN>", 5, Some([None; 3])),
        ("W. 0:0(0)", 2, None),
    ] {
        let What::Packet(packet) = only(&format!("+0 < {text}")).what else {
            panic!("{text}");
        };
        assert_eq!((packet.ace(), packet.accecn()), (ace, counters), "{text}");
    }
}

#[test]
fn calls_span_lines() {
    let event = only(
        "+0 sendmsg(4, {msg_iov(2)=[{..., 20},\n {..., 30}], msg_flags=0}, 0) = -1 EAGAIN (x y)",
    );
    let What::Call(call) = event.what else {
        panic!("{event:?}");
    };
    assert_eq!((call.name.as_str(), call.args.len()), ("sendmsg", 3));
    assert_eq!((call.result, call.errno.as_deref()), (-1, Some("EAGAIN")));
}

#[test]
fn assertions() {
    let event = only(
        "+0 %{ assert 3 <= a <= 9 and (b & 4) != 0, 'b=%d; }' % b ;\\\n assert not a == 3 or b # c\n}%",
    );
    let What::Check(statements) = event.what else {
        panic!("{event:?}");
    };
    assert_eq!(statements.len(), 2);
    let eval = |n: usize, a: i64, b: i64| {
        let values = [("a".to_owned(), a), ("b".to_owned(), b)]
            .into_iter()
            .collect();
        match &statements[n].action {
            Action::Assert(e) => Some(e.value(&values)),
            _ => None,
        }
    };
    assert_eq!(eval(0, 3, 4), Some(Ok(1)));
    assert_eq!(eval(0, 10, 4), Some(Ok(0)));
    assert_eq!(eval(0, 9, 3), Some(Ok(0)));
    assert_eq!(eval(1, 3, 0), Some(Ok(0)));
    assert_eq!(eval(1, 3, 1), Some(Ok(1)));
}

#[test]
fn errors_name_their_position() {
    for (text, message) in [
        (
            "+0 < X 0:0(0)",
            "1:6: expected TCP flags (S, ., P., F., E, W ...), found `X`",
        ),
        (
            "\n+0 < . 1:1001(99) ack 1",
            "2:15: expected 1000, the length of the range, found `99)`",
        ),
        (
            "+0 close(3",
            "1:11: expected `)`, found the end of the file",
        ),
        (
            "+0 close(3)\n",
            "2:1: expected `=` and the result of the system call, found the end of the file",
        ),
        (
            "+.x close(3) = 0",
            "1:2: expected a time (0.1, +.1, *), found something else",
        ),
        (
            "+0 > . 1:1(0) ack 1 <sac 1:2>",
            "1:22: expected a TCP option (mss, sackOK, TS val, wscale, nop, eol, sack, FO, ECN, md5, ...), found `sac`",
        ),
        (
            "+0 > . 1:1(0) ack 1 <ECN e1b 1 e1b 2>",
            "1:32: expected `e1b`, `ceb` or `e0b`, each once, `,` or `>`, found `e1b`",
        ),
        (
            "+0 > . 1:1(0) ack 1 <ECN e1b 16777216>",
            "1:30: expected a number of at most 24 bits, found `16777216>`",
        ),
        (
            "+0 %{ assert a = 3 }%",
            "1:16: expected an operator, `,` and a message, or a new line, found `=`",
        ),
        (
            "+0 %{ assert a == 3",
            "1:20: expected `}%`, found the end of the file",
        ),
        (
            "+0 `nstat",
            "1:10: expected a closing backquote, found the end of the file",
        ),
    ] {
        assert_eq!(error(text), message);
    }
    // Errors about a file that is not a script do not quote the file.
    assert!(!error("root:$y$secret:19000").contains("root"));
}

#[test]
fn too_deep_expressions_are_rejected() {
    let many = 100_000;
    for (begin, end) in [("(", ")"), ("not ", ""), ("1 + ", ""), ("1 or ", "")] {
        let expression = format!("{}1{}", begin.repeat(many), end.repeat(many));
        let found = error(&format!("+0 %{{ assert {expression}\n}}%"));
        assert!(found.contains("an expression with fewer parts"), "{found}");
        let expression = format!("{}1{}", begin.repeat(50), end.repeat(50));
        only(&format!("+0 %{{ assert {expression}\n}}%"));
    }
}

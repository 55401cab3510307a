//! Parses scripts. Errors state the line, the column and the text that was expected.

mod python;

use crate::script::{Call, Event, Script, Segment, TcpOption, What, When};

/// A syntax error of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Description of the expected text.
    pub expected: String,
    /// Text of the script at this position.
    pub found: String,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SyntaxError {
            line,
            column,
            expected,
            found,
        } = self;
        write!(f, "{line}:{column}: expected {expected}, found {found}")
    }
}

impl std::error::Error for SyntaxError {}

type Parsed<T> = Result<T, SyntaxError>;

const NS: u64 = 1_000_000_000;
const MOST_SECONDS: u64 = 100_000;

/// Parses a script.
pub fn parse(text: &str) -> Parsed<Script> {
    let mut reader = Reader {
        text: text.chars().collect(),
        at: 0,
        known: false,
        parts: 0,
    };
    reader.script()
}

struct Reader {
    text: Vec<char>,
    at: usize,
    /// Whether part of the file was a valid script. Errors quote the file only if this field is
    /// true. If no part of the file is a valid script, the user may have named another file by
    /// mistake, such as a file with passwords.
    known: bool,
    /// Number of operands and brackets in the current expression, limited to `MOST_PARTS`.
    parts: u32,
}

impl Reader {
    fn script(&mut self) -> Parsed<Script> {
        let mut script = Script::default();
        loop {
            self.space();
            let line = self.line();
            let Some(c) = self.peek() else {
                return Ok(script);
            };
            if c == '-' && self.ahead("--") && script.events.is_empty() {
                script.options.push(self.option()?);
                continue;
            }
            // Shell commands at the beginning and at the end of a script are not preceded by a
            // time.
            let at = if c == '`' {
                When::Relative(0, 0)
            } else {
                self.when()?
            };
            self.known = true;
            self.space();
            let what = self.what()?;
            script.events.push(Event { line, at, what });
        }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn ahead(&self, word: &str) -> bool {
        word.chars()
            .enumerate()
            .all(|(i, c)| self.text.get(self.at + i) == Some(&c))
    }

    fn take(&mut self, word: &str) -> bool {
        let there = self.ahead(word);
        if there {
            self.at += word.chars().count();
        }
        there
    }

    fn expect(&mut self, word: &str, what: &str) -> Parsed<()> {
        if self.take(word) {
            Ok(())
        } else {
            Err(self.error(what))
        }
    }

    /// Returns the line and the column of a position.
    fn place(&self, at: usize) -> (u32, u32) {
        let before = &self.text[..at.min(self.text.len())];
        let line = before.iter().filter(|c| **c == '\n').count() as u32 + 1;
        let column = before.iter().rev().take_while(|c| **c != '\n').count() as u32 + 1;
        (line, column)
    }

    fn line(&self) -> u32 {
        self.place(self.at).0
    }

    fn error(&self, expected: &str) -> SyntaxError {
        let (line, column) = self.place(self.at);
        let rest: String = self.text[self.at.min(self.text.len())..]
            .iter()
            .take_while(|c| **c != '\n')
            .take(20)
            .collect();
        let found = match rest.split_whitespace().next() {
            Some(_) if !self.known => "something else".to_owned(),
            Some(word) => format!("`{word}`"),
            None if self.at >= self.text.len() => "the end of the file".to_owned(),
            None => "the end of the line".to_owned(),
        };
        SyntaxError {
            line,
            column,
            expected: expected.to_owned(),
            found,
        }
    }

    fn space(&mut self) {
        loop {
            match self.peek() {
                Some(c) if c.is_whitespace() => self.at += 1,
                Some('/') if self.ahead("//") => self.skip_line(),
                Some('/') if self.ahead("/*") => {
                    while self.at < self.text.len() && !self.take("*/") {
                        self.at += 1;
                    }
                }
                Some('#') => self.skip_line(),
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// Skips blanks within the line.
    fn blanks(&mut self) {
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
    }

    fn word(&mut self, allowed: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&allowed) {
            self.at += 1;
        }
        self.text[start..self.at].iter().collect()
    }

    fn option(&mut self) -> Parsed<(String, String)> {
        self.at += 2;
        let name = self.word(|c| c.is_alphanumeric() || c == '_');
        if name.is_empty() {
            return Err(self.error("the name of an option"));
        }
        let value = if self.take("=") {
            self.word(|c| !c.is_whitespace())
        } else {
            String::new()
        };
        Ok((name, value))
    }

    fn when(&mut self) -> Parsed<When> {
        if self.take("*") {
            return Ok(When::Any);
        }
        let relative = self.take("+");
        let from = self.seconds()?;
        self.blanks();
        // `a...b` means that a system call begins at time a and blocks until time b.
        let until = if self.take("...") {
            self.blanks();
            self.take("+");
            self.seconds()?;
            from
        } else if self.take("~") {
            self.blanks();
            self.take("+");
            self.seconds()?
        } else {
            from
        };
        if until < from {
            return Err(self.error("a range whose end is not below its start"));
        }
        Ok(if relative {
            When::Relative(from, until)
        } else {
            When::Absolute(from, until)
        })
    }

    /// Parses a time in seconds. Returns ns.
    fn seconds(&mut self) -> Parsed<u64> {
        let digit = |c: Option<&char>| c.is_some_and(char::is_ascii_digit);
        let whole = self.word(|c| c.is_ascii_digit());
        let mut fraction = String::new();
        if self.peek() == Some('.') && digit(self.text.get(self.at + 1)) {
            self.at += 1;
            fraction = self.word(|c| c.is_ascii_digit());
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(self.error("a time (0.1, +.1, *)"));
        }
        let whole: u64 = if whole.is_empty() {
            0
        } else {
            whole.parse().map_err(|_| self.error("a time in seconds"))?
        };
        let nine: String = fraction
            .chars()
            .chain("000000000".chars())
            .take(9)
            .collect();
        let below: u64 = nine.parse().map_err(|_| self.error("a time in seconds"))?;
        // Because of this limit, sums of times fit in 64 bits.
        if whole > MOST_SECONDS {
            return Err(self.error("a time of at most 100000 seconds"));
        }
        Ok(whole * NS + below)
    }

    fn what(&mut self) -> Parsed<What> {
        match self.peek() {
            Some('<' | '>') => self.packet(),
            Some('`') => {
                self.at += 1;
                let text = self.word(|c| c != '`');
                self.expect("`", "a closing backquote")?;
                Ok(What::Shell(text))
            }
            Some('%') => {
                self.expect("%{", "`%{`")?;
                self.statements()
            }
            Some(c) if c.is_ascii_alphabetic() => self.call(),
            _ => Err(self.error("a packet (`<`, `>`), a system call, `%{` or a backquote")),
        }
    }

    fn number(&mut self, what: &str) -> Parsed<u32> {
        let start = self.at;
        let digits = self.word(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| {
            self.at = start;
            self.error(what)
        })
    }

    fn packet(&mut self) -> Parsed<What> {
        let inbound = self.peek() == Some('<');
        self.at += 1;
        self.blanks();
        let mut segment = Segment {
            inbound,
            ..Segment::default()
        };
        if self.take("[") {
            let start = self.at;
            let ecn = self.word(|c| c.is_ascii_alphanumeric());
            if !["ect0", "ect1", "ce", "noecn"].contains(&ecn.as_str()) {
                self.at = start;
                return Err(self.error("`ect0`, `ect1`, `ce` or `noecn`"));
            }
            self.expect("]", "`]`")?;
            segment.ecn = Some(ecn);
            self.blanks();
        }
        if self.ahead("icmp") {
            let text = self.word(|c| c != '\n');
            return Ok(What::Icmp(text));
        }
        let start = self.at;
        let flags = self.word(|c| !c.is_whitespace());
        if flags.is_empty() || !flags.chars().all(|c| "FSRP.UEWACN0123456789-".contains(c)) {
            self.at = start;
            return Err(self.error("TCP flags (S, ., P., F., E, W ...)"));
        }
        segment.flags = flags;
        self.blanks();
        segment.start = self.number("a sequence number")?;
        self.expect(":", "`:` and the end of the sequence range")?;
        segment.end = self.number("the end of the sequence range")?;
        self.expect("(", "`(` and the payload's length")?;
        let at_len = self.at;
        let len = self.number("the payload's length")?;
        if segment.end.wrapping_sub(segment.start) != len {
            self.at = at_len;
            let should = segment.end.wrapping_sub(segment.start);
            return Err(self.error(&format!("{should}, the length of the range")));
        }
        self.expect(")", "`)`")?;
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | '\r') => break,
                Some('/') if self.ahead("//") => break,
                Some('#') => break,
                Some('<') => {
                    self.at += 1;
                    segment.options = Some(self.options()?);
                }
                Some(_) if self.take("ack ") => {
                    self.blanks();
                    segment.ack = Some(self.number("an acknowledgement number")?);
                }
                Some(_) if self.take("win ") => {
                    self.blanks();
                    segment.win = Some(self.number("a window")?);
                }
                Some(_) if self.take("urg ") => {
                    self.blanks();
                    segment.urgent = Some(self.number("an urgent pointer")?);
                }
                Some(_) => return Err(self.error("`ack`, `win`, `urg`, `<options>` or a new line")),
            }
        }
        Ok(What::Packet(Box::new(segment)))
    }

    fn options(&mut self) -> Parsed<Vec<TcpOption>> {
        let mut options = Vec::new();
        loop {
            self.blanks();
            options.push(self.tcp_option()?);
            self.blanks();
            if self.take(">") {
                return Ok(options);
            }
            self.expect(",", "`,` or `>` in the list of options")?;
        }
    }

    fn tcp_option(&mut self) -> Parsed<TcpOption> {
        if self.take("...") {
            return Ok(TcpOption::Any);
        }
        let start = self.at;
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        self.blanks();
        Ok(match name.as_str() {
            "nop" | "eol" => TcpOption::Padding,
            "mss" => TcpOption::Mss(self.number("a segment size")?),
            "wscale" => TcpOption::WindowScale(self.number("a window scale")?),
            "sackOK" => TcpOption::SackPermitted,
            "TS" => {
                self.expect("val", "`val`")?;
                self.blanks();
                let value = self.number("a timestamp")?;
                self.blanks();
                self.expect("ecr", "`ecr`")?;
                self.blanks();
                TcpOption::Timestamps(value, self.number("a timestamp")?)
            }
            "sack" => {
                let mut blocks = Vec::new();
                loop {
                    self.blanks();
                    if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
                        break;
                    }
                    let from = self.number("a sequence number")?;
                    self.expect(":", "`:` and the end of the block")?;
                    let end = self.at;
                    let to = self.number("the end of the block")?;
                    if to <= from {
                        self.at = end;
                        return Err(self.error("an end above the start of the block"));
                    }
                    blocks.push((from, to));
                }
                if blocks.is_empty() {
                    return Err(self.error("a block (1001:2001)"));
                }
                TcpOption::Sack(blocks)
            }
            "ECN" => TcpOption::AccEcn(self.counters()?),
            "FO" | "FOEXP" | "md5" | "exp" | "unknown" => {
                let rest = self.word(|c| !",>\n".contains(c));
                TcpOption::Other(format!("{name} {rest}").trim().to_owned())
            }
            _ => {
                self.at = start;
                return Err(self.error(
                    "a TCP option (mss, sackOK, TS val, wscale, nop, eol, sack, FO, ECN, md5, ...)",
                ));
            }
        })
    }

    /// Parses the counters of an option, in any order, such as `e1b 1 ceb 0 e0b 1`.
    fn counters(&mut self) -> Parsed<[Option<u32>; 3]> {
        let mut counters = [None; 3];
        loop {
            self.blanks();
            if self.peek().is_none_or(|c| c == ',' || c == '>') {
                return Ok(counters);
            }
            let start = self.at;
            let name = self.word(|c| c.is_ascii_alphanumeric());
            let at = ["e1b", "ceb", "e0b"]
                .iter()
                .position(|known| *known == name);
            let Some(at) = at.filter(|at| counters[*at].is_none()) else {
                self.at = start;
                return Err(self.error("`e1b`, `ceb` or `e0b`, each once, `,` or `>`"));
            };
            self.blanks();
            let start = self.at;
            let value = self.number("bytes")?;
            if value >> 24 != 0 {
                self.at = start;
                return Err(self.error("a number of at most 24 bits"));
            }
            counters[at] = Some(value);
        }
    }

    fn call(&mut self) -> Parsed<What> {
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
        self.blanks();
        self.expect("(", "`(` and the arguments of the system call")?;
        let mut args = Vec::new();
        let mut arg = String::new();
        let mut open = Vec::new();
        loop {
            let Some(c) = self.peek() else {
                return Err(self.error("`)`"));
            };
            let closes = match c {
                '"' => {
                    self.at += 1;
                    let text = self.word(|c| c != '"' && c != '\n');
                    self.expect("\"", "a closing quotation mark")?;
                    arg.push_str(&format!("\"{text}\""));
                    continue;
                }
                '(' => Some(')'),
                '[' => Some(']'),
                '{' => Some('}'),
                _ => None,
            };
            if let Some(closes) = closes {
                open.push(closes);
            } else if ")]}".contains(c) {
                match open.pop() {
                    None if c == ')' => {
                        self.at += 1;
                        break;
                    }
                    Some(closes) if closes == c => {}
                    expected => {
                        return Err(self.error(&format!("`{}`", expected.unwrap_or(')'))));
                    }
                }
            }
            self.at += 1;
            if c == ',' && open.is_empty() {
                args.push(std::mem::take(&mut arg));
            } else {
                arg.push(c);
            }
        }
        args.push(arg);
        for arg in &mut args {
            *arg = arg.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        self.space();
        self.expect("=", "`=` and the result of the system call")?;
        self.blanks();
        let result = self.result()?;
        self.blanks();
        let errno = self.word(|c| c.is_ascii_alphanumeric());
        self.blanks();
        if self.take("(") {
            self.word(|c| c != ')' && c != '\n');
            self.expect(")", "`)`")?;
        }
        Ok(What::Call(Call {
            name,
            args,
            result,
            errno: Some(errno).filter(|e| !e.is_empty()),
        }))
    }

    fn result(&mut self) -> Parsed<i64> {
        let start = self.at;
        let negative = self.take("-");
        let parsed = if self.take("0x") {
            i64::from_str_radix(&self.word(|c| c.is_ascii_hexdigit()), 16)
        } else {
            self.word(|c| c.is_ascii_digit()).parse()
        };
        match parsed {
            Ok(value) => Ok(if negative { -value } else { value }),
            Err(_) => {
                self.at = start;
                Err(self.error("a number, the result of the system call"))
            }
        }
    }
}

#[cfg(test)]
mod tests;

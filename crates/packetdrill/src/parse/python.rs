//! Parses the assertions in `%{ ... }%`, which use a subset of Python.

use super::{Parsed, Reader};
use crate::check::{Action, Expression, Statement};
use crate::script::What;

/// Largest number of operands and brackets of an expression. This limit bounds the depth of
/// recursion when the expression is parsed, evaluated and dropped.
const MOST_PARTS: u32 = 500;

impl Reader {
    pub(super) fn statements(&mut self) -> Parsed<What> {
        let mut statements = Vec::new();
        loop {
            while self
                .peek()
                .is_some_and(|c| c.is_whitespace() || c == ';' || c == '\\')
            {
                self.at += 1;
            }
            if self.peek() == Some('#') {
                self.skip_line();
                continue;
            }
            if self.take("}%") {
                return Ok(What::Check(statements));
            }
            let line = self.line();
            let start = self.at;
            self.parts = 0;
            let keyword = self.word(|c| c.is_ascii_alphanumeric() || c == '_');
            let action = match keyword.as_str() {
                "assert" => {
                    self.python_space();
                    let expression = self.disjunction()?;
                    self.python_space();
                    if !(self.ahead(",") || self.at_statement_end()) {
                        return Err(self.error("an operator, `,` and a message, or a new line"));
                    }
                    Action::Assert(expression)
                }
                "print" | "import" => Action::Pass,
                _ => self.assignment(keyword, start)?,
            };
            self.skip_message()?;
            statements.push(Statement { line, action });
        }
    }

    /// Parses `name = value` or `name += value`. The name begins at position `start`.
    fn assignment(&mut self, name: String, start: usize) -> Parsed<Action> {
        self.python_space();
        let add = self.take("+=");
        let names = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
        if !names || !(add || !self.ahead("==") && self.take("=")) {
            self.at = start;
            return Err(self.error("`assert`, `print`, an assignment or `}%`"));
        }
        let value = self.disjunction()?;
        self.python_space();
        if !self.at_statement_end() {
            return Err(self.error("an operator or a new line"));
        }
        let value = if add {
            let before = Expression::Name(name.clone());
            Expression::Binary(Box::new(before), "+", Box::new(value))
        } else {
            value
        };
        Ok(Action::Assign(name, value))
    }

    fn at_statement_end(&self) -> bool {
        self.ahead("}%") || self.peek().is_none_or(|c| ";\n#".contains(c))
    }

    /// Skips the message for a failed assertion, up to the end of the statement.
    fn skip_message(&mut self) -> Parsed<()> {
        while !self.at_statement_end() {
            match self.peek() {
                Some(quote @ ('\'' | '"')) => {
                    self.at += 1;
                    self.word(|c| c != quote && c != '\n');
                    if self.peek() != Some(quote) {
                        return Err(self.error("a closing quotation mark"));
                    }
                }
                Some('\\') if self.text.get(self.at + 1) == Some(&'\n') => self.at += 1,
                _ => {}
            }
            self.at += 1;
        }
        if self.peek().is_none() {
            return Err(self.error("`}%`"));
        }
        Ok(())
    }

    fn python_space(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.text.get(self.at + 1) == Some(&'\n') => self.at += 2,
                _ => return,
            }
        }
    }

    fn keyword(&mut self, word: &str) -> bool {
        let after = self.text.get(self.at + word.len());
        let ends = after.is_none_or(|c| !c.is_alphanumeric() && *c != '_');
        ends && self.take(word)
    }

    fn disjunction(&mut self) -> Parsed<Expression> {
        let mut left = self.conjunction()?;
        loop {
            self.python_space();
            if !self.keyword("or") {
                return Ok(left);
            }
            let right = self.conjunction()?;
            left = Expression::Binary(Box::new(left), "or", Box::new(right));
        }
    }

    fn conjunction(&mut self) -> Parsed<Expression> {
        let mut left = self.negation()?;
        loop {
            self.python_space();
            if !self.keyword("and") {
                return Ok(left);
            }
            let right = self.negation()?;
            left = Expression::Binary(Box::new(left), "and", Box::new(right));
        }
    }

    fn negation(&mut self) -> Parsed<Expression> {
        self.python_space();
        self.part()?;
        if self.keyword("not") {
            return Ok(Expression::Not(Box::new(self.negation()?)));
        }
        let first = self.binary(0)?;
        let mut rest = Vec::new();
        loop {
            self.python_space();
            let found = ["==", "!=", "<=", ">=", "<", ">"]
                .into_iter()
                .find(|op| self.take(op));
            let Some(op) = found else { break };
            rest.push((op, self.binary(0)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Expression::Chain(Box::new(first), rest)
        })
    }

    /// Parses operators of the given precedence level and of higher levels.
    fn binary(&mut self, level: usize) -> Parsed<Expression> {
        const LEVELS: [&[&str]; 4] = [&["|"], &["&"], &["+", "-"], &["*", "/", "%"]];
        let Some(operators) = LEVELS.get(level) else {
            return self.atom();
        };
        let mut left = self.binary(level + 1)?;
        loop {
            self.python_space();
            let Some(op) = operators.iter().find(|op| self.take(op)) else {
                return Ok(left);
            };
            let right = self.binary(level + 1)?;
            left = Expression::Binary(Box::new(left), op, Box::new(right));
        }
    }

    /// Counts the operands and brackets of an expression.
    fn part(&mut self) -> Parsed<()> {
        self.parts += 1;
        if self.parts > MOST_PARTS {
            return Err(self.error("an expression with fewer parts"));
        }
        Ok(())
    }

    fn atom(&mut self) -> Parsed<Expression> {
        self.python_space();
        self.part()?;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.disjunction()?;
                self.python_space();
                self.expect(")", "`)`")?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() => {
                let start = self.at;
                let parsed = if self.take("0x") {
                    i64::from_str_radix(&self.word(|c| c.is_ascii_hexdigit()), 16)
                } else {
                    self.word(|c| c.is_ascii_digit()).parse()
                };
                parsed.map(Expression::Number).map_err(|_| {
                    self.at = start;
                    self.error("a number of at most 63 bits")
                })
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => Ok(Expression::Name(
                self.word(|c| c.is_ascii_alphanumeric() || c == '_'),
            )),
            _ => Err(self.error("a number, a name or `(`")),
        }
    }
}

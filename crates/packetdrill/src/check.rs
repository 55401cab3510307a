//! Parses and evaluates the assertions in a script's `%{ ... }%`. Assertions are written in a
//! subset of Python.
//!
//! Statements end at a newline or `;`. The statements `assert EXPRESSION, message`, `name =
//! EXPRESSION` and `name += EXPRESSION` are evaluated, and `print` is ignored. A name keeps its
//! value until the script ends. Expressions consist of integers, names, `not`, `and`, `or`, chained
//! comparisons, `+ - * / % & |` and parentheses.

use std::collections::BTreeMap;

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Line of the script, from 1.
    pub line: u32,
    /// Action of the statement.
    pub action: Action,
}

/// The action of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Checks that the expression is true.
    Assert(Expression),
    /// Sets the name to the value of the expression.
    Assign(String, Expression),
    /// Does nothing, because the statement is a `print`.
    Pass,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A number.
    Number(i64),
    /// The name of a `tcp_info` field, a constant or a variable of the script.
    Name(String),
    /// A negated expression.
    Not(Box<Expression>),
    /// Two expressions and their operator.
    Binary(Box<Expression>, &'static str, Box<Expression>),
    /// A chain of comparisons: `a <= b < c`.
    Chain(Box<Expression>, Vec<(&'static str, Expression)>),
}

impl std::fmt::Display for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expression::Number(n) => write!(f, "{n}"),
            Expression::Name(n) => write!(f, "{n}"),
            Expression::Not(e) => write!(f, "not {e}"),
            Expression::Binary(a, op @ ("and" | "or"), b) => write!(f, "{a} {op} {b}"),
            Expression::Binary(a, op, b) => write!(f, "({a} {op} {b})"),
            Expression::Chain(a, rest) => {
                write!(f, "{a}")?;
                rest.iter().try_for_each(|(op, e)| write!(f, " {op} {e}"))
            }
        }
    }
}

/// The value of each name.
pub type Values = BTreeMap<String, i64>;

impl Expression {
    /// Returns the value of the expression. If a name in the expression has no value, returns this
    /// name as the error.
    pub fn value(&self, values: &Values) -> Result<i64, String> {
        Ok(match self {
            Expression::Number(n) => *n,
            Expression::Name(name) => *values.get(name).ok_or_else(|| name.clone())?,
            Expression::Not(e) => i64::from(e.value(values)? == 0),
            Expression::Binary(a, op, b) => {
                let (a, b) = (a.value(values)?, b.value(values)?);
                match *op {
                    "and" => i64::from(a != 0 && b != 0),
                    "or" => i64::from(a != 0 || b != 0),
                    "+" => a.wrapping_add(b),
                    "-" => a.wrapping_sub(b),
                    "*" => a.wrapping_mul(b),
                    "&" => a & b,
                    "|" => a | b,
                    "%" => a.checked_rem_euclid(b).unwrap_or(0),
                    _ => a.checked_div_euclid(b).unwrap_or(0),
                }
            }
            Expression::Chain(first, rest) => {
                let mut left = first.value(values)?;
                let mut holds = true;
                for (op, right) in rest {
                    let right = right.value(values)?;
                    holds &= match *op {
                        "==" => left == right,
                        "!=" => left != right,
                        "<=" => left <= right,
                        ">=" => left >= right,
                        "<" => left < right,
                        _ => left > right,
                    };
                    left = right;
                }
                i64::from(holds)
            }
        })
    }

    /// Lists the names in the expression that have values, in the form `a = 3, b = 4`.
    pub fn explain(&self, values: &Values) -> String {
        let mut names = Vec::new();
        self.names(&mut names);
        let told: Vec<String> = names
            .iter()
            .filter_map(|n| Some(format!("{n} = {}", values.get(*n)?)))
            .collect();
        told.join(", ")
    }

    fn names<'a>(&'a self, to: &mut Vec<&'a str>) {
        match self {
            Expression::Number(_) => {}
            Expression::Name(n) if n.starts_with("tcpi_") => {
                if !to.contains(&n.as_str()) {
                    to.push(n);
                }
            }
            Expression::Name(_) => {}
            Expression::Not(e) => e.names(to),
            Expression::Binary(a, _, b) => {
                a.names(to);
                b.names(to);
            }
            Expression::Chain(a, rest) => {
                a.names(to);
                rest.iter().for_each(|(_, e)| e.names(to));
            }
        }
    }
}

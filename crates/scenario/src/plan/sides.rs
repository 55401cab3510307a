//! Reads the settings of the program on one host of an entry: command, readiness, root folder and
//! environment.

use tailback_engine::keys::KeyKind;
use tailback_engine::plan::{ProgramPlan, SidePlan};
use tailback_engine::programs::words::{KNOWN, Piece, Placeholder, pieces, placeholder};

use crate::declare::{Bdp, Fields, Reader, expectation};
use crate::read::{Item, Problem, Span, shorten};

/// Placeholders that refer to hosts of other entries. Each item contains the entry's name, the
/// index of the host in this entry, and the placeholder's position.
pub(super) type Mentions<'n> = Vec<(&'n str, usize, Span)>;

/// Reads the root folder of a side. The kind of the entry determines which program the side runs.
pub(super) fn in_root<'n>(
    reader: &mut Reader<'_>,
    fields: &Fields<'n>,
    (kind, side): (&str, &str),
    mentions: &mut Mentions<'n>,
) -> Option<SidePlan> {
    const EXPECTED: &str = "{ root = \"./image\" }";
    let Some(item) = fields.item(side) else {
        let message = format!("{kind} runs in images, and the {side} does not have one");
        let problem = Problem::new(fields.span_of("kind"), message).global();
        let problem = problem.expected(format!("{side} = {EXPECTED}"));
        reader.problem(problem.help(format!("add {side} = {EXPECTED}")));
        return None;
    };
    let (own, plan) = side_of(reader, item, side, mentions)?;
    if let Some(item) = own.item("ready") {
        let message = format!("kind {kind} sets when its server is ready");
        reader.problem(Problem::new(item.key_span, message).expected("no \"ready\""));
    }
    if own.item("root").is_none() {
        let message = format!("{kind} runs in images, and the {side} does not have one");
        let problem = Problem::new(item.node.span, message);
        reader.problem(problem.expected(format!("{side} = {EXPECTED}")));
        return None;
    }
    plan.root.is_some().then_some(plan)
}

/// Merges the settings of a side from two places. The scenario's settings (`said`) override the
/// settings of the kind (`own`).
pub(super) fn over(own: SidePlan, said: SidePlan) -> SidePlan {
    let given = |name: &String| said.env.iter().any(|[known, _]| known == name);
    let mut env: Vec<[String; 2]> = own.env;
    env.retain(|[name, _]| !given(name));
    env.extend(said.env.iter().cloned());
    env.sort();
    SidePlan {
        run: if said.run.is_empty() {
            own.run
        } else {
            said.run
        },
        ready: own.ready,
        env,
        ..said
    }
}

pub(super) fn said_side<'n>(
    reader: &mut Reader<'_>,
    fields: &Fields<'n>,
    side: &str,
    mentions: &mut Mentions<'n>,
) -> Option<SidePlan> {
    let item = fields.item(side)?;
    let (own, plan) = side_of(reader, item, side, mentions)?;
    if own.item("run").is_none() {
        let message = format!("\"run\" is missing in \"{side}\"");
        let problem = Problem::new(item.node.span, message);
        let problem = problem.expected(expectation(KeyKind::Words));
        let help = "add run = [\"program\", \"argument\"]";
        reader.problem(problem.help(help).global());
        return None;
    }
    Some(plan)
}

/// Reads the settings of a side. Returns `None` after an error.
fn side_of<'n>(
    reader: &mut Reader<'_>,
    item: &'n Item,
    side: &str,
    mentions: &mut Mentions<'n>,
) -> Option<(Fields<'n>, SidePlan)> {
    let label = format!("\"{side}\"");
    let own = reader.fields(&item.node, &SidePlan::TABLE, &label, Bdp::Nowhere);
    item.node.table()?;
    let mut good = true;
    let mut plan = SidePlan::default();
    if let Some(item) = own.item("ready") {
        plan.ready = reader.ready(item);
        good &= plan.ready.is_some();
    }
    if let Some(item) = own.item("root") {
        plan.root = reader.root(item);
    }
    if let Some(item) = own.item("cwd") {
        let text = reader.string(item, expectation(KeyKind::Text));
        let absolute = text.filter(|text| text.starts_with('/') && !text.contains('\0'));
        if text.is_some() && absolute.is_none() {
            reader.wrong("cwd", &item.node, "a folder of its root such as \"/app\"");
        }
        plan.cwd = absolute.map(str::to_owned);
    }
    if let Some(item) = own.item("env") {
        plan.env = variables(reader, item, mentions);
    }
    if let Some(run) = own.item("run") {
        let words = reader.words(run)?;
        if words.first().is_none_or(|(word, _)| word.is_empty()) {
            reader.wrong("run", &run.node, "a program and its arguments");
            return None;
        }
        for (word, node) in &words {
            placeholders(reader, word, node.span, mentions);
        }
        plan.run = words.iter().map(|(word, _)| (*word).to_owned()).collect();
    }
    good.then_some((own, plan))
}

pub(super) fn variables<'n>(
    reader: &mut Reader<'_>,
    item: &'n Item,
    mentions: &mut Mentions<'n>,
) -> Vec<[String; 2]> {
    let mut variables = Vec::new();
    for (one, text) in reader.texts(item) {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let digit = one.key.starts_with(|c: char| c.is_ascii_digit());
        if one.key.is_empty() || digit || !one.key.chars().all(letter) || one.key == "OUT" {
            let message = format!("\"{}\" cannot be set", shorten(&one.key));
            let problem = Problem::new(one.key_span, message);
            let expected = "the name of a variable of letters, digits and \"_\", but not OUT";
            reader.problem(problem.expected(expected));
        }
        placeholders(reader, text, one.node.span, mentions);
        variables.push([one.key.clone(), text.to_owned()]);
    }
    variables
}

/// Checks the placeholders in a text. Records the placeholders that refer to hosts of other
/// entries.
fn placeholders<'n>(
    reader: &mut Reader<'_>,
    text: &'n str,
    span: Span,
    mentions: &mut Mentions<'n>,
) {
    for piece in pieces(text) {
        let Piece::Braces(braces) = piece else {
            continue;
        };
        match placeholder(braces) {
            Some(Placeholder::Address {
                entry: Some(entry),
                side,
                ..
            }) => mentions.push((entry, side, span)),
            Some(_) => {}
            None => {
                let message = format!("unknown placeholder {{{}}}", shorten(braces));
                let known: Vec<String> = KNOWN.iter().map(|name| format!("{{{name}}}")).collect();
                let last = braces.rsplit('.').next().unwrap_or(braces);
                let problem = Problem::new(span, message)
                    .expected(format!(
                        "one of {}, {{NAME.sender}} and so on of another entry, or \"{{{{\" for a brace",
                        known.join(", ")
                    ))
                    .nearest(last, KNOWN);
                reader.problem(problem);
            }
        }
    }
}

/// Warns if `packages` has no effect. This key has no effect if every side has its own root folder.
pub(super) fn no_use_of_packages(reader: &mut Reader<'_>, plan: &ProgramPlan, fields: &Fields<'_>) {
    let mut sides = plan.sides().into_iter().flatten().peekable();
    let Some(item) = fields.item("packages") else {
        return;
    };
    if sides.peek().is_some() && sides.all(|side| side.root.is_some()) {
        let problem = Problem::new(
            item.key_span,
            "every side has a root, so no side uses the packages",
        );
        reader.problem(problem.expected("no \"packages\", or a side without root"));
    }
}

//! Where the parts of a plan come from: a path with the plan's indices, as an
//! engine names what it refuses, and the place in the tree it stands for.

use crate::read::{Node, Path, Span, Step, Toml};

/// For the links, flows and sources of a plan: what they were made from.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    /// The name in `[links]`; `None`: `[bottleneck]`. A link on the way back
    /// has that of its twin.
    pub links: Vec<Option<String>>,
    /// Index in `[[flows]]`.
    pub flows: Vec<u32>,
    /// Index in `[[traffic]]`.
    pub traffic: Vec<u32>,
    /// Index in `[[programs]]`.
    pub programs: Vec<u32>,
}

impl Origins {
    /// The place of a path such as `flows[3].tcp.growth`: that of the longest
    /// part of it which is in the tree. What a flow leaves to `[tcp]` or
    /// `[path]` is looked for there.
    pub fn span(&self, root: &Node, path: &str) -> Span {
        let Ok(path) = Path::parse(path, Span::default()) else {
            return root.span;
        };
        let steps = self.in_tree(path.0.into_iter().map(|(step, _)| step).collect());
        let (found, span) = reach(root, &steps);
        if found < steps.len()
            && let [_, Step::Index(_), rest @ ..] = steps.as_slice()
        {
            let shared = match rest {
                [Step::Key(table), Step::Key(_), ..] if table == "tcp" => rest.to_vec(),
                [Step::Key(key)] if key == "rtt" => {
                    vec![Step::Key("path".to_owned()), Step::Key(key.clone())]
                }
                _ => return span,
            };
            let (found, elsewhere) = reach(root, &shared);
            if found >= 2 {
                return elsewhere;
            }
        }
        span
    }

    /// The plan's indices replaced by those of the file.
    fn in_tree(&self, mut steps: Vec<Step>) -> Vec<Step> {
        let (Some(Step::Key(list)), Some(Step::Index(index))) = (steps.first(), steps.get(1))
        else {
            return steps;
        };
        let index = *index;
        let of = |origin: &[u32]| origin.get(index).map(|at| Step::Index(*at as usize));
        match list.as_str() {
            "flows" => {
                if let Some(step) = of(&self.flows) {
                    steps[1] = step;
                }
            }
            "traffic" => {
                if let Some(step) = of(&self.traffic) {
                    steps[1] = step;
                }
            }
            "programs" => {
                if let Some(step) = of(&self.programs) {
                    steps[1] = step;
                }
            }
            "links" => match self.links.get(index) {
                Some(Some(name)) => steps[1] = Step::Key(name.clone()),
                Some(None) => {
                    steps.remove(1);
                    steps[0] = Step::Key("bottleneck".to_owned());
                }
                None => {}
            },
            _ => {}
        }
        steps
    }
}

/// How many steps lead somewhere in the tree, and to which place.
fn reach(root: &Node, steps: &[Step]) -> (usize, Span) {
    let mut node = root;
    for (i, step) in steps.iter().enumerate() {
        let inner = match (step, &node.value) {
            (Step::Key(key), Toml::Table(table)) => table.get(key),
            (Step::Index(index), Toml::Array(list)) => list.get(*index),
            _ => None,
        };
        match inner {
            // A name that was given by default has no place.
            Some(inner) if inner.span.source != u32::MAX => node = inner,
            _ => return (i, node.span),
        }
    }
    (steps.len(), node.span)
}

//! Finds the position in the file for a part of the plan. An engine that rejects a value reports
//! the path of the value in the plan. A path in the plan contains indices instead of the names in
//! the file.

use crate::read::{Node, Path, Span, Step, Toml};

/// The positions of a plan's links, flows and sources in the file.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    /// The name in `[links]` of each link, or `None` for `[bottleneck]`. A link of the return
    /// direction has the same name as its forward link.
    pub links: Vec<Option<String>>,
    /// Index of each flow in `[[flows]]`.
    pub flows: Vec<u32>,
    /// Index of each source in `[[traffic]]`.
    pub traffic: Vec<u32>,
    /// Index of each entry in `[[programs]]`.
    pub programs: Vec<u32>,
    /// Index of each event in `[[events]]`.
    pub events: Vec<u32>,
}

impl Origins {
    /// Returns the position of a path such as `flows[3].tcp.growth`, or of the longest part of the
    /// path that exists in the tree. For a value that a flow inherits from `[tcp]` or `[path]`,
    /// returns the position in `[tcp]` or `[path]`.
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

    /// Replaces indices of the plan with indices or names of the file.
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
            "events" => {
                if let Some(step) = of(&self.events) {
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

/// Returns how many steps of the path exist in the tree, and the position of the last existing
/// step.
fn reach(root: &Node, steps: &[Step]) -> (usize, Span) {
    let mut node = root;
    for (i, step) in steps.iter().enumerate() {
        let inner = match (step, &node.value) {
            (Step::Key(key), Toml::Table(table)) => table.get(key),
            (Step::Index(index), Toml::Array(list)) => list.get(*index),
            _ => None,
        };
        match inner {
            // A default name has no position in the file.
            Some(inner) if inner.span.source != u32::MAX => node = inner,
            _ => return (i, node.span),
        }
    }
    (steps.len(), node.span)
}

//! Converts entries of `[[programs]]` to Python objects.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tailback_engine::plan::{ProgramPlan, SidePlan};

/// Returns an entry of `[[programs]]` as a dict. `count` is the number of copies of the entry that
/// run.
pub fn dict<'py>(py: Python<'py>, program: &ProgramPlan) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &program.name)?;
    dict.set_item("kind", program.kind)?;
    dict.set_item("count", program.count)?;
    dict.set_item("packages", &program.packages)?;
    let files = program.files.iter().map(|file| file.path.as_str());
    dict.set_item("files", files.collect::<Vec<_>>())?;
    let run = PyDict::new(py);
    let roots = PyDict::new(py);
    for (side, runs) in ["sender", "receiver"].into_iter().zip(program.sides()) {
        run.set_item(side, runs.map(|runs| &runs.run))?;
        let Some(SidePlan {
            root: Some(root),
            cwd,
            env,
            ..
        }) = runs
        else {
            continue;
        };
        let one = PyDict::new(py);
        one.set_item("path", &root.path)?;
        one.set_item("cwd", cwd.as_deref().unwrap_or("/"))?;
        one.set_item("env", variables(py, env)?)?;
        roots.set_item(side, one)?;
    }
    dict.set_item("run", run)?;
    dict.set_item("roots", roots)?;
    dict.set_item("env", variables(py, &program.env)?)?;
    dict.set_item("date", program.date)?;
    let results = program.results.iter().map(|result| {
        let one = PyDict::new(py);
        one.set_item("name", &result.name)?;
        one.set_item("file", &result.file)?;
        one.set_item("path", &result.path)?;
        one.set_item("scale", result.scale)?;
        Ok(one)
    });
    dict.set_item("results", results.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

fn variables<'py>(py: Python<'py>, env: &[[String; 2]]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for [name, text] in env {
        dict.set_item(name, text)?;
    }
    Ok(dict)
}

//! Converts data for the guest of the kernel engine from and to JSON.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_guest::job::Job;
use tailback_guest::map::{self, Kit, Places};
use tailback_scenario::Point;

/// Parses JSON that lists the features of the guest's kernel.
pub fn kit(text: &str) -> PyResult<Kit> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(format!("guest kernel: {e}")))
}

/// Parses JSON that lists the paths at which the guest finds the packages and files of
/// `[[programs]]` entries.
pub fn places(text: &str) -> PyResult<Places> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(format!("places: {e}")))
}

fn mapped(point: &Point, kit: &Kit, places: &Places) -> PyResult<Job> {
    map::map_with(&point.plan, point.seed, kit, places).map_err(|refusals| {
        let all: Vec<String> = refusals
            .iter()
            .map(|r| format!("{}: {}", r.path, r.message))
            .collect();
        PyValueError::new_err(all.join("; "))
    })
}

/// Returns the instructions for the guest to run a point of the sweep, as JSON.
pub fn job(point: &Point, kit: &Kit, places: &Places) -> PyResult<String> {
    serde_json::to_string(&mapped(point, kit, places)?)
        .map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Returns the `ip` and `tc` commands with which the guest sets up the network, for display.
pub fn script(point: &Point, kit: &Kit) -> PyResult<String> {
    Ok(mapped(point, kit, &Places::default())?.to_string())
}

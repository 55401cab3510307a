//! Data from Python for a guest of the kernel engine.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_guest::job::Job;
use tailback_guest::map::{self, Kit, Places};
use tailback_scenario::Point;

/// Reads the features of a kit from JSON.
pub fn kit(text: &str) -> PyResult<Kit> {
    serde_json::from_str(text).map_err(|e| PyValueError::new_err(format!("kit: {e}")))
}

/// Reads from JSON the places at which the guest finds the packages and files of a point's
/// programs.
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

/// Returns the job of a point as JSON for the guest.
pub fn job(point: &Point, kit: &Kit, places: &Places) -> PyResult<String> {
    serde_json::to_string(&mapped(point, kit, places)?)
        .map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Returns the job's lines of `ip` and `tc`, for a person to read.
pub fn script(point: &Point, kit: &Kit) -> PyResult<String> {
    Ok(mapped(point, kit, &Places::default())?.to_string())
}

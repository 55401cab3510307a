//! Reads scenario files. The positions in error messages must exist in the file.

use tailback_scenario::{Request, load_request};

use crate::traces;

pub(super) fn read(bytes: &[u8]) {
    let loader = |name: &str| traces::text(name);
    let request = Request {
        memory: Some(256 << 20),
        ..Request::new(bytes, "fuzz.toml", &loader)
    };
    match load_request(&request) {
        Ok(scenario) => assert!(!scenario.points.is_empty(), "a scenario without a run"),
        Err(diagnostics) => {
            assert!(!diagnostics.is_empty(), "refused without a word");
            for diagnostic in &diagnostics {
                assert!(diagnostic.place.line >= 1 && diagnostic.place.column >= 1);
                assert!(!diagnostic.message.is_empty());
            }
        }
    }
}

//! Finds the files to which a scenario refers. Each file is read only once.

use std::collections::HashMap;

use crate::request::{FileLoader, Found};

/// For each path that was looked up, the file or folder at this path, or the error.
#[derive(Default)]
pub(crate) struct Files(HashMap<String, Result<Found, String>>);

impl Files {
    pub(super) fn get(&mut self, name: &str, load: &FileLoader<'_>) -> Result<Found, String> {
        let known = self.0.get(name).cloned();
        known.unwrap_or_else(|| {
            let found = load(name);
            self.0.insert(name.to_owned(), found.clone());
            found
        })
    }
}

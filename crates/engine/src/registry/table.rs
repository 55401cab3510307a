//! A table of algorithms of one kind: tailback's own algorithms and those of plugins.

use std::sync::OnceLock;

use super::Entry;

/// The algorithms of one kind. Plugins add their entries once, before the first look-up.
pub struct Table<B: 'static> {
    shipped: &'static [&'static Entry<B>],
    /// All entries, including those of plugins. Empty until plugins have added their entries.
    all: OnceLock<Vec<&'static Entry<B>>>,
}

impl<B> Table<B> {
    /// Creates a table with tailback's own entries.
    pub const fn of(shipped: &'static [&'static Entry<B>]) -> Table<B> {
        Table {
            shipped,
            all: OnceLock::new(),
        }
    }

    /// Returns all entries, including those of plugins.
    pub fn entries(&'static self) -> &'static [&'static Entry<B>] {
        self.all.get().map_or(self.shipped, Vec::as_slice)
    }

    /// Returns tailback's own entries, without the entries of plugins.
    pub fn shipped(&self) -> &'static [&'static Entry<B>] {
        self.shipped
    }

    /// Adds the entries of plugins.
    ///
    /// # Panics
    /// Panics if the function is called twice, because the entries must not change once they have
    /// been looked up.
    pub(crate) fn add(&self, more: &[&'static Entry<B>]) {
        let all = self.shipped.iter().chain(more).copied().collect();
        assert!(self.all.set(all).is_ok(), "plugins are compiled in once");
    }
}

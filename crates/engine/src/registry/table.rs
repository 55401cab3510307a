//! The entries of one kind: those of this repository, and those of plugins that are compiled in.

use std::sync::OnceLock;

use super::Entry;

/// The entries of one kind. Plugins add theirs once, before anything is looked up.
pub struct Table<B: 'static> {
    /// The entries of this repository.
    shipped: &'static [&'static Entry<B>],
    /// All entries, including those of plugins. Empty until plugins have added theirs.
    all: OnceLock<Vec<&'static Entry<B>>>,
}

impl<B> Table<B> {
    /// Creates a table of the entries of this repository.
    pub const fn of(shipped: &'static [&'static Entry<B>]) -> Table<B> {
        Table {
            shipped,
            all: OnceLock::new(),
        }
    }

    /// All entries, including those of plugins.
    pub fn entries(&'static self) -> &'static [&'static Entry<B>] {
        self.all.get().map_or(self.shipped, Vec::as_slice)
    }

    /// The entries of this repository, without those of plugins.
    pub fn shipped(&self) -> &'static [&'static Entry<B>] {
        self.shipped
    }

    /// Adds the entries of plugins.
    ///
    /// # Panics
    /// On the second call, because entries that have been looked up must not change.
    pub(crate) fn add(&self, more: &[&'static Entry<B>]) {
        let all = self.shipped.iter().chain(more).copied().collect();
        assert!(self.all.set(all).is_ok(), "plugins are compiled in once");
    }
}

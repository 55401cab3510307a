//! The entries of one kind: those of this tree, and those of plugins that are compiled in with it.

use std::sync::OnceLock;

use super::Entry;

/// The entries of one kind. Crates add theirs once, before anything is looked up.
pub struct Table<B: 'static> {
    /// Those of this tree.
    shipped: &'static [&'static Entry<B>],
    /// They and those of plugins.
    all: OnceLock<Vec<&'static Entry<B>>>,
}

impl<B> Table<B> {
    /// A table of the entries of this tree.
    pub const fn of(shipped: &'static [&'static Entry<B>]) -> Table<B> {
        Table {
            shipped,
            all: OnceLock::new(),
        }
    }

    /// Every entry.
    pub fn entries(&'static self) -> &'static [&'static Entry<B>] {
        self.all.get().map_or(self.shipped, Vec::as_slice)
    }

    /// Only the entries of this tree.
    pub fn shipped(&self) -> &'static [&'static Entry<B>] {
        self.shipped
    }

    /// Adds the entries of plugins.
    ///
    /// # Panics
    /// The second time: what has been looked up must not change.
    pub(crate) fn add(&self, more: &[&'static Entry<B>]) {
        let all = self.shipped.iter().chain(more).copied().collect();
        assert!(self.all.set(all).is_ok(), "plugins are compiled in once");
    }
}

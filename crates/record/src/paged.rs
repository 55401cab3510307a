//! A sparse table with a value for each index. An example is a table with the counters of each flow
//! at a link that only some flows use. A page is allocated at the first write to one of its values.

use crate::fetch;

/// Number of values on a page.
const PAGE: usize = 128;

/// Values by index (`number`). An index that was never written has the default value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paged<T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
}

impl<T: Copy + Default> Paged<T> {
    /// Calls a function that changes the value at an index (`number`).
    #[inline]
    pub fn change(&mut self, number: u32, with: impl FnOnce(&mut T)) {
        let place = number as usize;
        match self.pages.get_mut(place / PAGE) {
            Some(Some(page)) => with(&mut page[place % PAGE]),
            _ => with(self.at(number)),
        }
    }

    /// Prefetches the value at an index into the processor's cache.
    #[inline]
    pub fn fetch(&self, number: u32) {
        let place = number as usize;
        if let Some(Some(page)) = self.pages.get(place / PAGE) {
            fetch::line(&page[place % PAGE]);
        }
    }

    /// Returns the value at an index for writing. Allocates the value's page if needed.
    #[cold]
    pub fn at(&mut self, number: u32) -> &mut T {
        let place = number as usize;
        if self.pages.len() <= place / PAGE {
            self.pages.resize_with(place / PAGE + 1, || None);
        }
        let page = &mut self.pages[place / PAGE];
        let page = page.get_or_insert_with(|| Box::new([T::default(); PAGE]));
        &mut page[place % PAGE]
    }

    /// Returns the value at an index.
    pub fn get(&self, number: usize) -> T {
        let page = self.pages.get(number / PAGE).and_then(Option::as_ref);
        page.map_or_else(T::default, |page| page[number % PAGE])
    }

    /// Iterates over the indices and values on the allocated pages, in ascending order of the
    /// indices.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        let pages = self.pages.iter().enumerate();
        let pages = pages.filter_map(|(at, page)| Some((at * PAGE, page.as_ref()?)));
        pages.flat_map(|(first, page)| {
            let values = page.iter().enumerate();
            values.map(move |(at, value)| (first + at, *value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_in_use_are_there() {
        let mut table = Paged::default();
        *table.at(1_000_000) += 7_u64;
        *table.at(3) += 1;
        table.change(1_000_000, |value| *value += 1);
        assert_eq!(table.pages.iter().flatten().count(), 2);
        assert_eq!((table.get(3), table.get(1_000_000)), (1, 8));
        assert_eq!((table.get(4), table.get(2_000_000)), (0, 0));
        let written: Vec<_> = table.iter().filter(|(_, value)| *value > 0).collect();
        assert_eq!(written, [(3, 1), (1_000_000, 8)]);
    }

    #[test]
    fn what_is_not_there_can_be_asked_for_and_stays_away() {
        let mut table = Paged::<u64>::default();
        table.change(300, |value| *value = 5);
        for number in [0, 300, 5_000] {
            table.fetch(number);
        }
        assert_eq!(table.pages.iter().flatten().count(), 1);
        assert_eq!(table.get(300), 5);
    }
}

use std::cell::Cell;
use std::fs::{File, FileTimes};
use std::time::Duration;

use super::*;

const RUN: &str = "0123456789abcdef0123";
const OTHER: &str = "aaaaaaaaaaaaaaaaaaaa";

/// A folder `runs` with runs of two files each. The catalogue of this folder is written after one
/// new entry.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place {
            root: tempfile::tempdir().expect("a folder"),
        };
        for run in [RUN, OTHER] {
            let folder = place.root.path().join(run);
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join("a"), b"four").expect("a file");
            fs::write(folder.join("b"), b"123456").expect("a file");
        }
        place
    }

    /// Waits until the catalogue accepts the folders.
    fn settle(self) -> Place {
        std::thread::sleep(Duration::from_nanos(SETTLED_NS as u64 + 50_000_000));
        self
    }

    fn catalogue(&self, rules: &str) -> Catalogue {
        Catalogue {
            worth_writing: 1,
            ..Catalogue::new(self.root.path(), rules)
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(RUN).join(name)
    }
}

/// Calls `is_intact`. Returns its result, and whether it has verified the run.
fn asked(catalogue: &Catalogue, run: &str, intact: bool) -> (bool, bool) {
    let verified = Cell::new(false);
    let found = catalogue.is_intact(run, |_| {
        verified.set(true);
        intact
    });
    (found, verified.get())
}

#[test]
fn an_unchanged_run_is_verified_once() {
    let place = Place::new().settle();
    let first = place.catalogue("x");
    assert_eq!(asked(&first, RUN, true), (true, true));
    assert_eq!(asked(&first, RUN, false), (true, false));
    first.save();
    let later = place.catalogue("x");
    assert_eq!(asked(&later, RUN, false), (true, false));
    assert_eq!(later.bytes(RUN).expect("a size"), 10);
    // The catalogue verifies a run that it does not list or that was not intact before. If the
    // rules have changed, the catalogue also verifies a run again.
    assert_eq!(asked(&later, OTHER, false), (false, true));
    assert_eq!(asked(&later, OTHER, true), (true, true));
    assert_eq!(asked(&place.catalogue("y"), RUN, false), (false, true));
}

/// The catalogue detects each change, even if content, size and modification time stay the same.
#[test]
fn a_changed_run_is_verified_again() {
    type Change = fn(&Place);
    let changes: [(&str, Change); 6] = [
        ("other content", |p| {
            fs::write(p.file("a"), b"FOUR").expect("a file");
        }),
        ("the modification time set back", |p| {
            let before = fs::metadata(p.file("a")).expect("a file");
            fs::write(p.file("a"), b"FOUR").expect("a file");
            let times = FileTimes::new().set_modified(before.modified().expect("a time"));
            let file = File::options().write(true).open(p.file("a"));
            file.expect("a file").set_times(times).expect("times");
        }),
        ("a new file", |p| {
            fs::write(p.file("c"), b"").expect("a file");
        }),
        ("a missing file", |p| {
            fs::remove_file(p.file("b")).expect("a file");
        }),
        ("a replaced file", |p| {
            fs::write(p.file("c"), b"FOUR").expect("a file");
            fs::rename(p.file("c"), p.file("a")).expect("a file");
        }),
        ("a link", |p| {
            fs::remove_file(p.file("a")).expect("a file");
            std::os::unix::fs::symlink("b", p.file("a")).expect("a link");
        }),
    ];
    let places: Vec<Place> = changes.iter().map(|_| Place::new()).collect();
    // Wait only once, instead of once for each folder.
    let places = {
        std::thread::sleep(Duration::from_nanos(SETTLED_NS as u64 + 50_000_000));
        places
    };
    for ((what, change), place) in changes.iter().zip(&places) {
        let catalogue = place.catalogue("x");
        assert_eq!(asked(&catalogue, RUN, true), (true, true), "{what}");
        assert_eq!(asked(&catalogue, RUN, true), (true, false), "{what}");
        change(place);
        assert_eq!(asked(&catalogue, RUN, false), (false, true), "{what}");
    }
}

/// A change just after the verification could have the same time stamp as the verification. The
/// catalogue must detect such a change, too.
#[test]
fn a_young_run_is_not_catalogued() {
    let place = Place::new();
    let catalogue = place.catalogue("x");
    assert_eq!(asked(&catalogue, RUN, true), (true, true));
    assert_eq!(asked(&catalogue, RUN, false), (false, true));
    assert_eq!(catalogue.bytes(RUN).expect("a size"), 10);
    catalogue.save();
    assert!(!place.root.path().join(NAME).exists());
}

#[test]
fn sizes_follow_the_folder() {
    let place = Place::new().settle();
    let catalogue = place.catalogue("x");
    assert_eq!(catalogue.bytes(RUN).expect("a size"), 10);
    fs::write(place.file("c"), b"1234567").expect("a file");
    assert_eq!(catalogue.bytes(RUN).expect("a size"), 17);
    let runs = place.root.path();
    fs::rename(runs.join(RUN), runs.join("elsewhere")).expect("a folder");
    assert_eq!(catalogue.bytes(RUN).expect("a size"), 0);
    assert_eq!(catalogue.bytes("bbbbbbbbbbbbbbbbbbbb").expect("a size"), 0);
    assert_eq!(catalogue.bytes(OTHER).expect("a size"), 10);
}

#[test]
fn a_damaged_catalogue_is_ignored_and_a_deleted_run_forgotten() {
    let place = Place::new().settle();
    let catalogue = place.catalogue("x");
    assert_eq!(asked(&catalogue, RUN, true), (true, true));
    assert_eq!(asked(&catalogue, OTHER, true), (true, true));
    catalogue.save();
    let path = place.root.path().join(NAME);
    let whole = fs::read(&path).expect("the catalogue");
    assert_eq!(whole.len(), MAGIC.len() + 32 + 2 * ENTRY + 32);
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        assert!(decoded(&catalogue.rules, &flipped).is_none(), "byte {at}");
        assert!(
            decoded(&catalogue.rules, &whole[..at]).is_none(),
            "{at} bytes"
        );
    }
    let later = place.catalogue("x");
    later.forget(&[RUN.to_owned()]);
    later.save();
    assert_eq!(asked(&place.catalogue("x"), RUN, false), (false, true));
    assert_eq!(asked(&place.catalogue("x"), OTHER, false), (true, false));
    later.forget(&[OTHER.to_owned()]);
    later.save();
    assert!(!path.exists());
}

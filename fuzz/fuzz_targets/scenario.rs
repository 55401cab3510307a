//! No file, whatever is in it, makes the parser panic or hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tailback_scenario::load;

fuzz_target!(|data: &[u8]| {
    let _ = load(data, "fuzz.toml", &[], None);
});

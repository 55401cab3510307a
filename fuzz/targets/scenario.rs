#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tailback_swarm::readers::reader("scenario")(data));

//! Parses packetdrill scripts, and runs the valid scripts.

pub(super) fn read(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match tailback_packetdrill::parse(text) {
        Ok(script) => {
            tailback_packetdrill::judge(&script);
        }
        Err(error) => {
            let line = text.split('\n').nth(error.line as usize - 1);
            let columns = line.expect("a line of the script").chars().count() + 1;
            assert!(error.column >= 1 && error.column as usize <= columns);
        }
    }
}

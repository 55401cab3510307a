//! Tests which scenarios get a warning about phase effects, and the position of the warning.

use tailback_scenario::load;

/// Returns the warnings about a scenario with the given keys.
fn warnings(top: &str, link: &str, flows: &str) -> Vec<String> {
    let text =
        format!("duration = \"60s\" {top}\n[bottleneck]\nrate = \"10Mbit\"\n{link}\n{flows}\n");
    warnings_of(&text)
}

fn warnings_of(text: &str) -> Vec<String> {
    let scenario = load(text.as_bytes(), "f.toml", &[], None);
    let scenario = scenario.unwrap_or_else(|errors| panic!("{errors:?} of\n{text}"));
    scenario.warnings.iter().map(ToString::to_string).collect()
}

const FIFO: &str = "queue = \"fifo\"";
const TWO: &str = "[[flows]]\ncc = \"cubic\"\n[[flows]]\ncc = \"cubic\"\nrtt = \"30ms\"";
const WARNING: &str = "several TCP flows share this FIFO and nothing varies when their packets \
    arrive, so phase effects may decide their rates; expected host_jitter = \"1ms\", which \
    spreads the phases";

#[test]
fn flows_that_share_a_fifo_are_warned_of_at_the_queue() {
    let warned = [format!("f.toml:4:9: {WARNING}")];
    for top in ["", "\nhost_jitter = \"0s\""] {
        let line = 4 + top.matches('\n').count();
        assert_eq!(
            warnings(top, FIFO, TWO),
            [format!("f.toml:{line}:9: {WARNING}")]
        );
    }
    for flows in [
        "[[flows]]\ncc = \"bbr\"\ncount = 2",
        "[[flows]]\ncc = \"reno\"\nstop = \"21s\"\n[[flows]]\ncc = \"reno\"\nstart = \"20s\"",
    ] {
        assert_eq!(warnings("", FIFO, flows), warned, "{flows}");
    }
    // The default queue is a FIFO without a position in the file, so the warning states the
    // position of the link.
    assert_eq!(warnings("", "", TWO), [format!("f.toml:2:1: {WARNING}")]);
    // With the suggested jitter, there is no warning.
    assert_eq!(warnings("\nhost_jitter = \"1ms\"", FIFO, TWO), [""; 0]);
}

#[test]
fn nothing_is_said_where_phases_do_not_matter() {
    for link in [
        "queue = \"codel\"",
        "queue = \"fq_codel\"",
        "queue = \"red\"",
        "queue = \"dualpi2\"",
        "queue = { aqm = \"step\", threshold = \"20p\" }",
        "queue = \"fifo\"\nloss = 0.001",
        "queue = \"fifo\"\njitter = \"1ms\"",
        "queue = \"fifo\"\nslots = { min = \"1ms\", max = \"2ms\" }",
    ] {
        let warned = warnings("", link, TWO);
        assert!(!warned.iter().any(|text| text.contains("phase")), "{link}");
    }
    for flows in [
        "[[flows]]\ncc = \"cubic\"",
        "[[flows]]\ncc = \"cubic\"\n[[traffic]]\nkind = \"cbr\"\nrate = \"1Mbit\"",
        "[[flows]]\ncc = \"reno\"\nstop = \"20s\"\n[[flows]]\ncc = \"reno\"\nstart = \"20s\"",
        // The windows of both flows add up to 1000 segments, which fit into a FIFO with the default
        // limit.
        "[tcp]\nrwnd = \"724000b\"\n[[flows]]\ncc = \"cubic\"\ncount = 2",
        "[[flows]]\ncc = \"cubic\"\nbytes = \"724000b\"\ncount = 2",
    ] {
        assert_eq!(warnings("", FIFO, flows), [""; 0], "{flows}");
    }
    let larger = "[[flows]]\ncc = \"cubic\"\nbytes = \"724001b\"\ncount = 2";
    assert_eq!(warnings("", FIFO, larger).len(), 1);
}

#[test]
fn a_fifo_that_slower_links_keep_empty_is_none() {
    let text = |edge: &str| {
        format!(
            "duration = \"60s\"\n[links.core]\nrate = \"100Mbit\"\nqueue = \"fifo\"\n\
             [links.edge]\nrate = \"{edge}\"\nqueue = \"codel\"\n\
             [[flows]]\ncc = \"cubic\"\ncount = 2\nroute = [\"core\", \"edge\"]\n"
        )
    };
    assert_eq!(warnings_of(&text("99Mbit")), [""; 0]);
    let [warned] = &warnings_of(&text("100Mbit"))[..] else {
        panic!("one warning");
    };
    assert!(
        warned.starts_with("f.toml:4:9: several TCP flows"),
        "{warned}"
    );
    assert!(warned.contains("\"100us\""), "{warned}");
}

#[test]
fn a_sweep_is_warned_of_once_with_a_jitter_for_all_points() {
    let sweep = "[sweep]\n\"bottleneck.rate\" = [\"5Mbit\", \"50Mbit\"]\n\
                 \"bottleneck.queue\" = [\"codel\", \"fifo\"]\nseeds = 2\n";
    let [warned] = &warnings("", "queue = \"pie\"", &format!("{TWO}\n{sweep}"))[..] else {
        panic!("one warning");
    };
    assert!(warned.starts_with("f.toml:12:32: several"), "{warned}");
    assert!(warned.contains("host_jitter = \"210us\""), "{warned}");
}

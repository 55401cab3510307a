//! Tests the behaviour of this stack at a bottleneck.

use tailback_sim::{Error, Simulation};
use MODULE::{Receiver, Sender};

#[test]
fn shares_a_dualpi2_with_cubic() -> Result<(), Error> {
    let results = Simulation::from_toml(
        r#"
        duration = "30s"
        warmup = "5s"
        [bottleneck]
        rate = "20Mbit"
        queue = "dualpi2"
        [path]
        rtt = "20ms"
        [[flows]]
        cc = "cubic"
        ecn = true
        [[programs]]
        name = "mine"
        "#,
    )?
    .attach("mine", Sender::new(0.5), Receiver::default())?
    .run()?;
    let share = results.share("mine");
    assert!((0.2..0.6).contains(&share), "{share}");
    assert!(results.marks("mine") > 0);
    assert_eq!(results.drops("mine"), 0);
    Ok(())
}

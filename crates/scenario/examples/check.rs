//! Loads a scenario file and prints what came of it.
use tailback_scenario::{Override, load_with};
fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap_or_default();
    let text = std::fs::read(&file).unwrap_or_default();
    let sets: Vec<Override> = args
        .map(|a| {
            let (k, v) = a.split_once('=').unwrap();
            Override {
                key: k.into(),
                value: v.into(),
            }
        })
        .collect();
    match load_with(&text, &file, &sets, None, &|f| {
        std::fs::read_to_string(f).map_err(|e| e.to_string())
    }) {
        Ok(s) => {
            println!("{} {} axes {:?}", s.title, s.id, s.axes);
            for p in s.points.iter().take(20) {
                println!(
                    "{} seed {} {:?}\n  {}",
                    p.run_id, p.seed, p.params, p.canonical
                );
            }
            println!(
                "mem {}",
                tailback_scenario::estimate_memory(&s.points[0].plan)
            );
            println!("{:?}", s.asserts);
        }
        Err(d) => {
            for d in d {
                println!("{d}");
            }
        }
    }
}

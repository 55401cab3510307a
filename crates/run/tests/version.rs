//! Tests which changes of the sources change the engine's version.

#[path = "../build/sources.rs"]
mod sources;

use std::path::Path;

use sources::{Hash, files, hash_rust};

fn hash(text: &str) -> u64 {
    let mut hash = Hash::default();
    hash_rust(text, &mut hash);
    hash.value()
}

#[test]
fn comments_layout_and_tests_are_not_part_of_the_version() {
    let code = "fn f(x: u32) -> u32 { x + 1 }";
    let same = [
        "//! A file.\nfn f(x: u32) -> u32 { x + 1 }",
        "/// Adds one.\nfn f(x: u32) -> u32 {\n    // Why.\n    x + 1 /* one */\n}\n",
        "fn f(x: u32) -> u32 { x + 1 }\n#[cfg(test)]\nmod tests { fn g() { assert!(true); } }",
        "#[cfg(test)]\nmod tests;\nfn f(x: u32) -> u32 { x + 1 }",
        "#[cfg(test)]\nuse a::{b, c};\nfn f(x: u32) -> u32 { x + 1 }",
    ];
    for text in same {
        assert_eq!(hash(text), hash(code), "{text}");
    }
    let other = [
        "fn f(x: u32) -> u32 { x + 2 }",
        "#[inline]\nfn f(x: u32) -> u32 { x + 1 }",
        "fn f(x: u32) -> u32 { x + 1 } fn g() {}",
        "#[cfg(test)]\nuse a::b;\nfn f(x: u32) -> u32 { x - 1 }",
        "mod tests { fn f(x: u32) -> u32 { x + 1 } }",
        "fn f(x: u32) -> u32 { { x } + 1 }",
    ];
    for text in other {
        assert_ne!(hash(text), hash(code), "{text}");
    }
    assert_ne!(hash("a b"), hash("ab"));
    assert_ne!(hash("f(\"// a\")"), hash("f(\"// b\")"));
}

#[test]
fn every_module_that_is_compiled_is_found() {
    let names = |root: &str| -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
        let all = files(&root);
        let folder = root.parent().expect("it is in a folder");
        let relative = all.iter().map(|f| f.strip_prefix(folder).expect("in it"));
        relative.map(|f| f.display().to_string()).collect()
    };
    let engine = names("../engine/src/lib.rs");
    for file in [
        "network.rs",
        "aqm/codel.rs",
        "aqm/cake/shaper.rs",
        "cc/cubic.rs",
        "capture/headers.rs",
    ] {
        assert!(engine.iter().any(|name| name == file), "{file}");
    }
    assert!(
        !engine.iter().any(|name| name.contains("test")),
        "{engine:?}"
    );
    let run = names("src/lib.rs");
    assert!(run.iter().any(|name| name == "capture.rs"), "{run:?}");
}

//! The functions that the page calls. Names begin with `lab_`: in a native test, shorter names
//! could clash with those of C libraries.
//!
//! A panic leaves its message as the answer before it ends the instance.

#![expect(unsafe_code, reason = "exports have unmangled names")]

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use crate::lab::Lab;

thread_local! {
    static LAB: RefCell<Lab> = RefCell::default();
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Keeps the message of a panic as the answer.
fn keep_panics() {
    static KEPT: Once = Once::new();
    KEPT.call_once(|| {
        panic::set_hook(Box::new(|info| {
            let message = info.to_string().into_bytes();
            ANSWER.with(|answer| {
                if let Ok(mut answer) = answer.try_borrow_mut() {
                    *answer = message;
                }
            });
        }));
    });
}

/// Answers with bytes; returns their number.
fn answer(bytes: Vec<u8>) -> usize {
    let len = bytes.len();
    ANSWER.replace(bytes);
    len
}

/// The input of this call.
fn input() -> Vec<u8> {
    INPUT.take()
}

/// Makes room for the input of the next call; returns where to write it.
#[unsafe(no_mangle)]
pub extern "C" fn lab_take(len: usize) -> *mut u8 {
    keep_panics();
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(len, 0);
        input.as_mut_ptr()
    })
}

/// The address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn lab_answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// How long the last answer is, after a panic too.
#[unsafe(no_mangle)]
pub extern "C" fn lab_answer_len() -> usize {
    ANSWER.with_borrow(Vec::len)
}

/// JSON: the version, every registry, and every key of scenario files.
#[unsafe(no_mangle)]
pub extern "C" fn lab_about() -> usize {
    keep_panics();
    answer(Lab::about())
}

/// JSON: the values of the scenario in the input, with their places.
#[unsafe(no_mangle)]
pub extern "C" fn lab_outline() -> usize {
    answer(Lab::outline(&input()))
}

/// Loads the request in the input. JSON: the scenario, or everything that is wrong with it.
#[unsafe(no_mangle)]
pub extern "C" fn lab_load() -> usize {
    let request = input();
    answer(LAB.with_borrow_mut(|lab| lab.load(&request)))
}

/// Begins the run of a point; returns whether there is one. The packets of a link are watched:
/// stays of up to `stays` packets are kept, from `from_s` on. With `link` at [`u32::MAX`] none are
/// watched.
#[unsafe(no_mangle)]
pub extern "C" fn lab_begin(point: u32, link: u32, stays: u32, from_s: f64) -> bool {
    LAB.with_borrow_mut(|lab| lab.begin(point as usize, link as usize, stays as usize, from_s))
}

/// Continues the run by this many events. Returns how far it is, from 0 to 1; 2 at its end.
#[unsafe(no_mangle)]
pub extern "C" fn lab_advance(events: u32) -> f64 {
    LAB.with_borrow_mut(|lab| lab.advance(u64::from(events)))
}

/// The text of `summary.json` of the run that has ended.
#[unsafe(no_mangle)]
pub extern "C" fn lab_summary() -> usize {
    answer(LAB.with_borrow(Lab::summary))
}

/// The text of its `account.json`.
#[unsafe(no_mangle)]
pub extern "C" fn lab_account() -> usize {
    answer(LAB.with_borrow(Lab::account))
}

/// JSON: what happened in it, in the order of time.
#[unsafe(no_mangle)]
pub extern "C" fn lab_log() -> usize {
    answer(LAB.with_borrow(Lab::log))
}

/// JSON: the subjects of its series.
#[unsafe(no_mangle)]
pub extern "C" fn lab_series() -> usize {
    answer(LAB.with_borrow(Lab::series))
}

/// The rows of a series: times in s, then values, as 64-bit floats.
#[unsafe(no_mangle)]
pub extern "C" fn lab_rows(series: u32) -> usize {
    answer(LAB.with_borrow(|lab| lab.rows(series)))
}

/// JSON: what was watched at the link, and how.
#[unsafe(no_mangle)]
pub extern "C" fn lab_watched() -> usize {
    answer(LAB.with_borrow(Lab::watched))
}

/// A column of the watched packets, by its number in [`lab_watched`].
#[unsafe(no_mangle)]
pub extern "C" fn lab_column(number: u32) -> usize {
    answer(LAB.with_borrow(|lab| lab.column(number)))
}

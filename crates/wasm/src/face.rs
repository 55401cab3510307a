//! The functions that the web page calls. The names of these functions begin with `lab_`. Without
//! this prefix, a name could clash with a name in a C library when the tests run natively.
//!
//! After a panic, `lab_answer` returns the panic's message. The page must then load a new instance
//! of the WebAssembly module.

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

/// Installs a panic hook that stores the message as the answer.
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

/// Stores the answer for `lab_answer`, and returns the length of the answer in bytes.
fn answer(bytes: Vec<u8>) -> usize {
    let len = bytes.len();
    ANSWER.replace(bytes);
    len
}

fn input() -> Vec<u8> {
    INPUT.take()
}

/// Reserves memory for the input of the next call. Returns the address of this memory.
#[unsafe(no_mangle)]
pub extern "C" fn lab_take(len: usize) -> *mut u8 {
    keep_panics();
    INPUT.with_borrow_mut(|input| {
        input.clear();
        input.resize(len, 0);
        input.as_mut_ptr()
    })
}

/// Returns the address of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn lab_answer() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}

/// Returns the length of the last answer, even after a panic.
#[unsafe(no_mangle)]
pub extern "C" fn lab_answer_len() -> usize {
    ANSWER.with_borrow(Vec::len)
}

/// Answers with JSON: the version, the algorithms of every registry, and every key of scenario
/// files.
#[unsafe(no_mangle)]
pub extern "C" fn lab_about() -> usize {
    keep_panics();
    answer(Lab::about())
}

/// Answers with JSON that lists every value in the input's scenario text, with its position in the
/// text.
#[unsafe(no_mangle)]
pub extern "C" fn lab_outline() -> usize {
    answer(Lab::outline(&input()))
}

/// Loads the scenario that the input describes (see `Lab::load`). Answers with JSON: the scenario,
/// or all of its errors.
#[unsafe(no_mangle)]
pub extern "C" fn lab_load() -> usize {
    let request = input();
    answer(LAB.with_borrow_mut(|lab| lab.load(&request)))
}

/// Begins the run of one point of the sweep, and records the packets of a link. For up to `stays`
/// packets that leave at `from_s` or later, records when each packet entered and left the queue. If
/// `link` is [`u32::MAX`], records no packets. Returns whether the sweep point exists.
#[unsafe(no_mangle)]
pub extern "C" fn lab_begin(point: u32, link: u32, stays: u32, from_s: f64) -> bool {
    LAB.with_borrow_mut(|lab| lab.begin(point as usize, link as usize, stays as usize, from_s))
}

/// Continues the run by the given number of events. Returns the run's progress from 0 to 1, or 2 at
/// its end.
#[unsafe(no_mangle)]
pub extern "C" fn lab_advance(events: u32) -> f64 {
    LAB.with_borrow_mut(|lab| lab.advance(u64::from(events)))
}

/// Continues the run up to and including a time. Returns the run's progress from 0 to 1, or 2 if no
/// run has begun. Unlike [`lab_advance`], this function never ends the run.
#[unsafe(no_mangle)]
pub extern "C" fn lab_until(time_s: f64) -> f64 {
    LAB.with_borrow_mut(|lab| lab.until(time_s))
}

/// Changes the run from the current simulated time on. Loads the scenario in the input, which may
/// differ from the current scenario only in `[[events]]` that are not yet due. The answer has the
/// same form as the answer of [`lab_load`].
#[unsafe(no_mangle)]
pub extern "C" fn lab_change() -> usize {
    let request = input();
    answer(LAB.with_borrow_mut(|lab| lab.change(&request)))
}

/// Answers with the text of `summary.json`, after the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn lab_summary() -> usize {
    answer(LAB.with_borrow(Lab::summary))
}

/// Answers with the text of `account.json`, after the end of the run.
#[unsafe(no_mangle)]
pub extern "C" fn lab_account() -> usize {
    answer(LAB.with_borrow(Lab::account))
}

/// Answers with JSON: window reductions, ends of slow start, drops and marks, in the order of time.
#[unsafe(no_mangle)]
pub extern "C" fn lab_log() -> usize {
    answer(LAB.with_borrow(Lab::log))
}

/// Answers with JSON: the flow, link and quantity of each series.
#[unsafe(no_mangle)]
pub extern "C" fn lab_series() -> usize {
    answer(LAB.with_borrow(Lab::series))
}

/// Answers with the rows of a series: first all times (s), then all values, as 64-bit floats.
#[unsafe(no_mangle)]
pub extern "C" fn lab_rows(series: u32) -> usize {
    answer(LAB.with_borrow(|lab| lab.rows(series)))
}

/// Answers with JSON: the columns with data about the watched link, and the types of these columns.
#[unsafe(no_mangle)]
pub extern "C" fn lab_watched() -> usize {
    answer(LAB.with_borrow(Lab::watched))
}

/// Answers with a column of the watched link's data, by its number in [`lab_watched`].
#[unsafe(no_mangle)]
pub extern "C" fn lab_column(number: u32) -> usize {
    answer(LAB.with_borrow(|lab| lab.column(number)))
}

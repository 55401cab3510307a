//! Turns a panic inside a run into an error of this run. The message of the panic is therefore not
//! printed between the progress bar and the results.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tailback_engine::crates::Fault;

thread_local! {
    static IN_RUN: Cell<bool> = const { Cell::new(false) };
    static OF_RUN: RefCell<Option<String>> = const { RefCell::new(None) };
}

static KEEP: AtomicBool = AtomicBool::new(false);
static KEPT: Mutex<Option<String>> = Mutex::new(None);

/// Makes panics inside runs store their message instead of printing it. Call this function once,
/// before the first run.
pub fn keep_those_of_runs() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if IN_RUN.get() {
            let fault = info.payload().downcast_ref::<Fault>();
            // If a plugin or an endpoint caused the panic, omit the location, because it is a line
            // of the engine.
            let text = fault.map_or_else(|| info.to_string(), |fault| fault.0.clone());
            OF_RUN.set(Some(text));
        } else if KEEP.load(Ordering::Relaxed) {
            if let Ok(mut kept) = KEPT.lock() {
                *kept = Some(info.to_string());
            }
        } else {
            default(info);
        }
    }));
}

/// Makes panics outside runs store their message, too. Call this function in programs that report
/// panics themselves.
pub fn keep_all() {
    KEEP.store(true, Ordering::Relaxed);
}

/// Returns the last stored message of a panic outside runs, with its location.
pub fn kept() -> Option<String> {
    KEPT.lock().ok()?.clone()
}

/// Returns the result of `work`, or the message of its panic.
///
/// # Errors
/// Returns the message of the panic, if [`keep_those_of_runs`] was called.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    IN_RUN.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IN_RUN.set(false);
    result.map_err(|_| OF_RUN.take().unwrap_or_else(|| "no message".to_owned()))
}

//! Runs work on a stack that fits the deepest tree: a tree is as deep as its operator chains are
//! long.

use std::cell::Cell;
use std::panic;
use std::thread;

/// The system allocates pages on first use.
const STACK_BYTES: usize = 256 << 20;

thread_local! {
    static IS_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Uses the current stack if no thread can be started.
pub fn deep<T: Send>(work: impl Fn() -> T + Sync) -> T {
    if IS_DEEP.get() {
        return work();
    }
    let done = thread::scope(|scope| {
        let spawned = thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || {
                IS_DEEP.set(true);
                work()
            });
        spawned.ok().map(thread::ScopedJoinHandle::join)
    });
    match done {
        Some(Ok(answer)) => answer,
        Some(Err(payload)) => panic::resume_unwind(payload),
        None => work(),
    }
}

//! Runs work on a stack that fits the deepest tree.
//!
//! Trees are as deep as the operator chains in their texts are long, and measures build on one
//! another. The stack of a worker thread fits only a few hundred levels.

use std::cell::Cell;
use std::panic;
use std::thread;

/// Address space, not memory: the system allocates pages on first use.
const STACK_BYTES: usize = 256 << 20;

thread_local! {
    static IS_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread with a deep stack, or directly if this is one. If no thread can be
/// started, runs on the current stack, which is enough for hand-written texts.
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

//! A stack that fits the deepest tree, wherever a caller runs.
//!
//! Trees are as deep as the operator chains of the texts that they are read from are long, and trees of
//! measures are built on one another. The stack of a worker thread is a few hundred levels deep.

use std::cell::Cell;
use std::panic;
use std::thread;

/// Address space, not memory: pages are taken as they are touched.
const STACK_BYTES: usize = 256 << 20;

thread_local! {
    static IS_DEEP: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread with a deep stack; inside of such a thread at once. Where no thread can be
/// started it runs where it is, which is enough for what people write by hand.
pub(crate) fn deep<T: Send>(work: impl Fn() -> T + Sync) -> T {
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

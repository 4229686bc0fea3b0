//! Cancel requests to servers. Each is sent from its own task, because its sender can be dropped at
//! any time, and usually is: the call that it belongs to was cancelled.

use std::sync::LazyLock;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The operations that run on a server and the cancel requests in flight, for the whole process.
static RUNNING: LazyLock<TaskTracker> = LazyLock::new(|| {
    let tracker = TaskTracker::new();
    // `wait` returns only on a closed tracker; closing does not refuse new tasks.
    tracker.close();
    tracker
});

/// Held by an operation while a server may work for it, so that [`settle`] waits for the cancel
/// request that the operation sends when it is dropped.
pub(crate) fn track_operation() -> TaskTrackerToken {
    RUNNING.token()
}

/// Sends a request even if the sender is dropped. Outside of a runtime nothing can be sent.
pub(crate) fn send<T: Send + 'static>(
    order: impl Future<Output = T> + Send + 'static,
) -> Option<JoinHandle<T>> {
    let runtime = Handle::try_current().ok()?;
    Some(RUNNING.spawn_on(order, &runtime))
}

/// `None` if the request could not be sent or its task failed.
pub(crate) async fn send_and_wait<T: Send + 'static>(
    order: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let outcome = send(order)?.await;
    outcome
        .inspect_err(|error| tracing::debug!(%error, "a cancel request failed"))
        .ok()
}

/// Waits until no server works for this process: every operation has ended and every cancel request
/// has been sent. A program awaits this before its runtime ends, with a timeout of its own.
pub async fn settle() {
    RUNNING.wait().await;
}

//! Cancel requests. Each has its own task, because the cancelled call is usually dropped.

use std::sync::LazyLock;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

static RUNNING: LazyLock<TaskTracker> = LazyLock::new(|| {
    let tracker = TaskTracker::new();
    // `wait` requires a closed tracker, which still accepts tasks.
    tracker.close();
    tracker
});

/// While held, [`settle`] waits, including for the cancel request of a dropped operation.
pub(crate) fn track_operation() -> TaskTrackerToken {
    RUNNING.token()
}

/// Sends a request even if the sender is dropped; requires a runtime.
pub(crate) fn send<T: Send + 'static>(
    order: impl Future<Output = T> + Send + 'static,
) -> Option<JoinHandle<T>> {
    let runtime = Handle::try_current().ok()?;
    Some(RUNNING.spawn_on(order, &runtime))
}

pub(crate) async fn send_and_wait<T: Send + 'static>(
    order: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let outcome = send(order)?.await;
    outcome
        .inspect_err(|error| tracing::debug!(%error, "a cancel request failed"))
        .ok()
}

/// Waits for all operations and cancel requests. Await this before the runtime ends, with a
/// timeout.
pub async fn settle() {
    RUNNING.wait().await;
}

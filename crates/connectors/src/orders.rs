//! Orders to a server to stop work. Each is sent from a task of its own: whoever gives one may be
//! dropped at any moment, and most often is, because the call that it belongs to was cancelled.

use std::sync::LazyLock;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The operations at work on a server, and the orders that are on their way, of the whole process.
static AT_WORK: LazyLock<TaskTracker> = LazyLock::new(|| {
    let tracker = TaskTracker::new();
    // Closed means only that one can wait for it to be empty.
    tracker.close();
    tracker
});

/// Held by an operation as long as a server may work for it, so that nobody overlooks the order that
/// it gives when it is dropped.
pub(crate) fn at_work() -> TaskTrackerToken {
    AT_WORK.token()
}

/// Sends an order, whatever happens to the one who gives it. Outside of a runtime nothing can be sent.
pub(crate) fn send<T: Send + 'static>(
    order: impl Future<Output = T> + Send + 'static,
) -> Option<JoinHandle<T>> {
    let runtime = Handle::try_current().ok()?;
    Some(AT_WORK.spawn_on(order, &runtime))
}

/// Sends an order and waits for its outcome; `None` when it could not be sent or broke.
pub(crate) async fn carry_out<T: Send + 'static>(
    order: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let outcome = send(order)?.await;
    outcome
        .inspect_err(|error| tracing::debug!(%error, "an order to stop broke"))
        .ok()
}

/// Waits until no server works for this process any more: every operation has ended, and every order to
/// stop is carried out. A program waits for it before its runtime ends, for a time of its own choice.
pub async fn settle() {
    AT_WORK.wait().await;
}

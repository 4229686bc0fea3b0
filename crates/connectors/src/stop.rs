//! When and why blocking work of an embedded database must end.

use std::time::Duration;

use ktx_warehouse::WarehouseError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone)]
pub(crate) struct StopSignal {
    caller: CancellationToken,
    token: CancellationToken,
    deadline: Option<Instant>,
    limit: Duration,
}

impl StopSignal {
    pub(crate) fn new(
        caller: &CancellationToken,
        deadline: Option<Instant>,
        limit: Duration,
    ) -> Self {
        Self {
            caller: caller.clone(),
            token: caller.child_token(),
            deadline,
            limit,
        }
    }

    pub(crate) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    pub(crate) fn reason(&self) -> WarehouseError {
        if self.caller.is_cancelled() || self.token.is_cancelled() {
            WarehouseError::cancelled()
        } else {
            crate::limits::timed_out(self.limit)
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.token.is_cancelled()
            || self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) async fn due(&self) {
        match self.deadline {
            Some(deadline) => {
                tokio::select! {
                    () = self.token.cancelled() => {}
                    () = tokio::time::sleep_until(deadline) => {}
                }
            }
            None => self.token.cancelled().await,
        }
    }
}

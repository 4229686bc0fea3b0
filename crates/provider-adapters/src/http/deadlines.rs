//! Deadlines of an answer: first byte, bytes, content, total, run.

use std::time::Duration;

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Failure, RetryRule};
use crate::settings::Timeouts;

pub(super) struct Deadlines<'a> {
    timeouts: &'a Timeouts,
    ends_at: Option<Instant>,
    started: Instant,
    last_bytes: Option<Instant>,
    grown: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpiredDeadline {
    FirstByte,
    Between,
    Idle,
    Total,
    Run,
}

impl<'a> Deadlines<'a> {
    pub(super) fn new(timeouts: &'a Timeouts, ends_at: Option<Instant>) -> Self {
        let now = Instant::now();
        Self {
            timeouts,
            ends_at,
            started: now,
            last_bytes: None,
            grown: now,
        }
    }

    /// Bytes of any content count.
    pub(super) fn note_bytes(&mut self) {
        self.last_bytes = Some(Instant::now());
    }

    pub(super) fn renew(&mut self) {
        self.grown = Instant::now();
    }

    /// Excludes time spent by ktx.
    pub(super) fn extend(&mut self, time: Duration) {
        self.grown += time;
        self.started += time;
        self.last_bytes = self.last_bytes.map(|last_bytes| last_bytes + time);
    }

    /// Runs the work until its end, a cancellation, or a deadline. Dropping the work closes the
    /// socket.
    pub(super) async fn wait<T>(
        &self,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let (left, over) = self.next();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failure::new(LlmError::cancelled(), RetryRule::Pointless)),
            done = tokio::time::timeout(left, work) => done.map_err(|_| self.failure(over)),
        }
    }

    fn next(&self) -> (Duration, ExpiredDeadline) {
        let (since, longest, over) = match self.last_bytes {
            None => (
                self.started,
                self.timeouts.first_byte,
                ExpiredDeadline::FirstByte,
            ),
            Some(last_bytes) => (
                last_bytes,
                self.timeouts.between_bytes,
                ExpiredDeadline::Between,
            ),
        };
        let left = |since: Instant, longest: Duration| longest.saturating_sub(since.elapsed());
        let mut all = vec![
            (left(since, longest), over),
            (left(self.grown, self.timeouts.idle), ExpiredDeadline::Idle),
            (
                left(self.started, self.timeouts.total),
                ExpiredDeadline::Total,
            ),
        ];
        if let Some(end) = self.ends_at {
            all.push((
                end.saturating_duration_since(Instant::now()),
                ExpiredDeadline::Run,
            ));
        }
        let first = all.into_iter().min_by_key(|(left, _)| *left);
        first.unwrap_or((longest, over))
    }

    fn failure(&self, over: ExpiredDeadline) -> Failure {
        let timeouts = self.timeouts;
        let silence = |longest: Duration, key: &str| {
            let words = format!("the provider sent nothing for {} s", longest.as_secs());
            let error = LlmError::new(LlmErrorKind::Timeout, words).hint(format!(
                "run the command again; if a model needs longer, raise `llm.timeouts.{key}` in ktx.yaml"
            ));
            Failure::new(error, RetryRule::Once)
        };
        match over {
            ExpiredDeadline::FirstByte => silence(timeouts.first_byte, "first_byte_seconds"),
            ExpiredDeadline::Between => silence(timeouts.between_bytes, "between_bytes_seconds"),
            ExpiredDeadline::Idle => {
                let words = format!(
                    "the provider sent nothing for {} s",
                    timeouts.idle.as_secs()
                );
                Failure::new(LlmError::new(LlmErrorKind::Timeout, words), RetryRule::Once)
            }
            ExpiredDeadline::Total => {
                let words = format!("the answer took more than {} s", timeouts.total.as_secs());
                Failure::new(
                    LlmError::new(LlmErrorKind::Timeout, words),
                    RetryRule::Pointless,
                )
            }
            ExpiredDeadline::Run => Failure::new(run_time_is_over(), RetryRule::Pointless),
        }
    }
}

fn run_time_is_over() -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        "the time of the run is over: a model call was cut off",
    )
    .hint("run the same command again with a larger budget")
}

#[cfg(test)]
mod tests;

//! How long an answer is waited for: for its first byte, for the next one, for something that is said,
//! and in all; and never beyond the time of the run.

use std::time::Duration;

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Again, Failure};
use crate::settings::Timeouts;

/// The deadlines of one exchange that has begun.
pub(super) struct Deadlines<'a> {
    timeouts: &'a Timeouts,
    /// When the time of the run is over.
    ends_at: Option<Instant>,
    started: Instant,
    /// When bytes of the answer came last.
    heard: Option<Instant>,
    /// When the answer has grown last.
    grown: Instant,
}

/// Why nothing more is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
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
            heard: None,
            grown: now,
        }
    }

    /// Bytes have come, whatever they say.
    pub(super) fn hear(&mut self) {
        self.heard = Some(Instant::now());
    }

    /// The answer has grown.
    pub(super) fn renew(&mut self) {
        self.grown = Instant::now();
    }

    /// So much time passed on our side.
    pub(super) fn excuse(&mut self, time: Duration) {
        self.grown += time;
        self.started += time;
        self.heard = self.heard.map(|heard| heard + time);
    }

    /// Ends the work with the caller's wish or with the next deadline; dropping it closes the socket.
    pub(super) async fn wait<T>(
        &self,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let (left, over) = self.next();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Failure::new(LlmError::cancelled(), Again::Pointless)),
            done = tokio::time::timeout(left, work) => done.map_err(|_| self.failure(over)),
        }
    }

    /// The deadline that comes first.
    fn next(&self) -> (Duration, Over) {
        let (since, longest, over) = match self.heard {
            None => (self.started, self.timeouts.first_byte, Over::FirstByte),
            Some(heard) => (heard, self.timeouts.between_bytes, Over::Between),
        };
        let left = |since: Instant, longest: Duration| longest.saturating_sub(since.elapsed());
        let mut all = vec![
            (left(since, longest), over),
            (left(self.grown, self.timeouts.idle), Over::Idle),
            (left(self.started, self.timeouts.total), Over::Total),
        ];
        if let Some(end) = self.ends_at {
            all.push((end.saturating_duration_since(Instant::now()), Over::Run));
        }
        let first = all.into_iter().min_by_key(|(left, _)| *left);
        first.unwrap_or((longest, over))
    }

    fn failure(&self, over: Over) -> Failure {
        let timeouts = self.timeouts;
        let silence = |longest: Duration, key: &str| {
            let words = format!("the provider said nothing for {} s", longest.as_secs());
            let error = LlmError::new(LlmErrorKind::Timeout, words).hint(format!(
                "run the command again; where a model needs longer, raise `llm.timeouts.{key}` in ktx.yaml"
            ));
            Failure::new(error, Again::Once)
        };
        match over {
            Over::FirstByte => silence(timeouts.first_byte, "first_byte_seconds"),
            Over::Between => silence(timeouts.between_bytes, "between_bytes_seconds"),
            Over::Idle => {
                let words = format!(
                    "the provider said nothing for {} s",
                    timeouts.idle.as_secs()
                );
                Failure::new(LlmError::new(LlmErrorKind::Timeout, words), Again::Once)
            }
            Over::Total => {
                let words = format!("the answer took more than {} s", timeouts.total.as_secs());
                // The next try would take as long.
                Failure::new(
                    LlmError::new(LlmErrorKind::Timeout, words),
                    Again::Pointless,
                )
            }
            Over::Run => Failure::new(time_is_over(), Again::Pointless),
        }
    }
}

/// The error of a call that was cut off because the time of the run is over.
fn time_is_over() -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        "the time of the run is over: a model call was cut off",
    )
    .hint("run the same command again with a larger budget: what is finished is kept")
}

#[cfg(test)]
mod tests;

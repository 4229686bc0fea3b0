//! The deadlines of an answer: for its first byte, between bytes, between pieces of content, and in
//! total; never beyond the end of the run.

use std::time::Duration;

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Again, Failure};
use crate::settings::Timeouts;

pub(super) struct Deadlines<'a> {
    timeouts: &'a Timeouts,
    /// The end of the run.
    ends_at: Option<Instant>,
    started: Instant,
    /// When the last bytes arrived.
    heard: Option<Instant>,
    /// When the answer last grew.
    grown: Instant,
}

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

    /// Records that bytes arrived, whatever their content.
    pub(super) fn hear(&mut self) {
        self.heard = Some(Instant::now());
    }

    /// Records that the answer has grown.
    pub(super) fn renew(&mut self) {
        self.grown = Instant::now();
    }

    /// Excludes time spent on our side.
    pub(super) fn excuse(&mut self, time: Duration) {
        self.grown += time;
        self.started += time;
        self.heard = self.heard.map(|heard| heard + time);
    }

    /// Runs the work until it ends, the caller cancels or the next deadline passes; dropping it
    /// closes the socket.
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

    /// Returns the deadline that comes first.
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
                // Another attempt would take as long.
                Failure::new(
                    LlmError::new(LlmErrorKind::Timeout, words),
                    Again::Pointless,
                )
            }
            Over::Run => Failure::new(time_is_over(), Again::Pointless),
        }
    }
}

/// Returns the error of a call that the end of the run cut off.
fn time_is_over() -> LlmError {
    LlmError::new(
        LlmErrorKind::Budget,
        "the time of the run is over: a model call was cut off",
    )
    .hint("run the same command again with a larger budget")
}

#[cfg(test)]
mod tests;

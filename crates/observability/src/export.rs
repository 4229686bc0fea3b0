//! Sends finished spans from a bounded queue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::otlp;
use crate::redaction::SharedRedactor;
use crate::settings::ExportSettings;
use crate::span::FinishedSpan;

/// More are dropped and counted.
const QUEUE: usize = 2048;
/// Per post.
const BATCH: usize = 512;
/// A span waits for others.
const GATHER: Duration = Duration::from_secs(2);
/// Includes the first post.
const TRIES: u32 = 3;
/// Doubles with each retry.
const PAUSE: Duration = Duration::from_millis(200);
/// Even if a collector asks for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct SpanShipment<'a> {
    pub url: &'a str,
    /// Values are secrets.
    pub headers: &'a [(String, String)],
    /// JSON.
    pub body: Vec<u8>,
    /// Whole exchange.
    pub timeout: Duration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryReceipt {
    pub status: u16,
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

#[async_trait]
pub trait Delivery: Send + Sync {
    /// Errors are for display, without secrets.
    async fn post(&self, shipment: SpanShipment<'_>) -> Result<DeliveryReceipt, String>;
}

/// On the exporter's thread, at the first span.
type DeliveryFactory = Box<dyn FnOnce() -> Result<Box<dyn Delivery>, String> + Send>;

#[derive(Debug, Default)]
struct LossTally {
    lost: u64,
    reason: Option<String>,
}

impl LossTally {
    fn lose(&mut self, spans: u64, reason: String) {
        self.lost += spans;
        self.reason.get_or_insert(reason);
    }
}

struct ExportThread {
    queue: SyncSender<FinishedSpan>,
    done: Receiver<LossTally>,
}

enum ExporterState {
    Waiting(ExportSettings, DeliveryFactory),
    Running(ExportThread),
    Over,
}

/// Costs nothing before its first span.
pub struct Exporter {
    state: Mutex<ExporterState>,
    dropped: AtomicU64,
    redactor: SharedRedactor,
    longest_end: Duration,
}

impl std::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

impl Exporter {
    pub fn new(
        settings: ExportSettings,
        redactor: SharedRedactor,
        opening: impl FnOnce() -> Result<Box<dyn Delivery>, String> + Send + 'static,
    ) -> Self {
        for (_, value) in &settings.headers {
            redactor.learn(&ktx_secrets::Secret::new(value.as_str()));
        }
        Self {
            longest_end: settings.timeout.min(Duration::from_secs(3)),
            state: Mutex::new(ExporterState::Waiting(settings, Box::new(opening))),
            dropped: AtomicU64::new(0),
            redactor,
        }
    }

    pub(crate) fn take(&self, span: FinishedSpan) {
        let mut state = self.lock();
        if matches!(*state, ExporterState::Waiting(..))
            && let ExporterState::Waiting(settings, opening) =
                std::mem::replace(&mut *state, ExporterState::Over)
        {
            match start(settings, opening, self.redactor.clone()) {
                Ok(running) => *state = ExporterState::Running(running),
                Err(error) => tracing::warn!(%error, "traces are not exported"),
            }
        }
        let accepted = match &*state {
            ExporterState::Running(running) => match running.queue.try_send(span) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
            },
            ExporterState::Waiting(..) | ExporterState::Over => false,
        };
        if !accepted {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits at most for the timeout of a post, and never longer than 3 s. One warning about lost
    /// spans.
    pub fn finish(&self) {
        let state = std::mem::replace(&mut *self.lock(), ExporterState::Over);
        let mut tally = match state {
            ExporterState::Running(running) => {
                drop(running.queue);
                running
                    .done
                    .recv_timeout(self.longest_end)
                    .unwrap_or_else(|_| LossTally {
                        lost: 0,
                        reason: Some(format!(
                            "the collector did not accept everything within {} s",
                            self.longest_end.as_secs_f64()
                        )),
                    })
            }
            ExporterState::Waiting(..) | ExporterState::Over => LossTally::default(),
        };
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            tally.lose(dropped, "more spans than the queue holds".to_owned());
        }
        if let Some(reason) = tally.reason {
            let reason = self.redactor.redact(&reason);
            tracing::warn!(
                spans = tally.lost,
                reason,
                "traces were not exported in full"
            );
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ExporterState> {
        // Stays usable after a poisoned lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(
    settings: ExportSettings,
    opening: DeliveryFactory,
    redactor: SharedRedactor,
) -> std::io::Result<ExportThread> {
    let (queue, spans) = sync_channel(QUEUE);
    let (tell, done) = sync_channel(1);
    std::thread::Builder::new()
        .name("ktx-traces".to_owned())
        .spawn(move || {
            let tally = work(&settings, opening, &redactor, &spans);
            if tell.send(tally).is_err() {
                tracing::trace!("no caller waits for the traces");
            }
        })?;
    Ok(ExportThread { queue, done })
}

fn work(
    settings: &ExportSettings,
    opening: DeliveryFactory,
    redactor: &SharedRedactor,
    spans: &Receiver<FinishedSpan>,
) -> LossTally {
    let mut tally = LossTally::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let ready = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| Ok((runtime, opening()?)));
    let (runtime, delivery) = match ready {
        Ok(ready) => ready,
        Err(reason) => {
            let lost = u64::try_from(spans.iter().count()).unwrap_or(u64::MAX);
            tally.lose(lost, reason);
            return tally;
        }
    };
    while let Some(batch) = gather(spans) {
        let body = otlp::body(&settings.resource, &batch, redactor).to_string();
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let posted = runtime.block_on(post(settings, delivery.as_ref(), body.as_bytes()));
        match posted {
            Ok(receipt) => {
                if let Some((rejected, words)) = rejected(&receipt) {
                    tally.lose(rejected, format!("the collector refused spans: {words}"));
                }
            }
            Err(reason) => tally.lose(count, reason),
        }
    }
    tally
}

fn gather(spans: &Receiver<FinishedSpan>) -> Option<Vec<FinishedSpan>> {
    let mut batch = vec![spans.recv().ok()?]; // closed and empty
    let until = Instant::now() + GATHER;
    while batch.len() < BATCH {
        match spans.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(span) => batch.push(span),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    Some(batch)
}

async fn post(
    settings: &ExportSettings,
    delivery: &dyn Delivery,
    body: &[u8],
) -> Result<DeliveryReceipt, String> {
    let mut pause = PAUSE;
    let mut tries = 1;
    loop {
        let shipment = SpanShipment {
            url: &settings.url,
            headers: &settings.headers,
            body: body.to_vec(),
            timeout: settings.timeout,
        };
        let (reason, hint) = match delivery.post(shipment).await {
            Ok(receipt) if (200..300).contains(&receipt.status) => return Ok(receipt),
            Ok(receipt) => {
                let reason = format!("the collector answers with HTTP {}", receipt.status);
                if !matches!(receipt.status, 429 | 502 | 503 | 504) {
                    return Err(reason);
                }
                (reason, receipt.retry_after)
            }
            Err(reason) => (reason, None),
        };
        if tries == TRIES {
            return Err(reason);
        }
        tries += 1;
        tokio::time::sleep(hint.unwrap_or(pause).min(LONGEST_PAUSE)).await;
        pause *= 2;
    }
}

fn rejected(receipt: &DeliveryReceipt) -> Option<(u64, String)> {
    let answer: serde_json::Value = serde_json::from_slice(&receipt.body).ok()?; // not JSON: nothing was rejected
    let partial = answer.get("partialSuccess")?;
    let count = partial.get("rejectedSpans")?;
    let count = count
        .as_u64()
        .or_else(|| count.as_str()?.parse().ok()) // 64-bit numbers may be text
        .filter(|count| *count > 0)?;
    let words = partial.get("errorMessage").and_then(|words| words.as_str());
    Some((count, words.unwrap_or("no reason given").to_owned()))
}

#[cfg(test)]
mod tests;

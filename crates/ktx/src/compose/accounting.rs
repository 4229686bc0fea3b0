//! Usage while a run goes on: facts to the ledger, sums to the budget, waits to people.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ktx_llm_runtime::{EventSink, RuntimeEvent};
use ktx_usage_ledger::{Ledger, Meter, PriceTable, PriceTableError, price_of};

use super::ledger_path;
use super::limits::{LimitBook, clock};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::report::{Failure, Outcome};
use crate::session::{Opened, Session};

/// Where a project keeps a price table of its own.
pub(crate) fn price_file(opened: &Opened) -> PathBuf {
    opened.store.layout().state().join("llm-pricing.json")
}

/// The project's own price table, else the one that comes with the program.
pub(crate) fn prices(opened: &Opened) -> Outcome<PriceTable> {
    read_prices(&price_file(opened))
        .map_err(|error| Failure::from_error(Exit::Config, "price_table", &error))
}

pub(super) fn read_prices(file: &Path) -> Result<PriceTable, PriceTableError> {
    match std::fs::read_to_string(file) {
        Ok(text) => PriceTable::parse(&text),
        // No table of its own, or one that cannot be read: the built-in one is always there.
        Err(_) => PriceTable::built_in(),
    }
}

/// Writes usage facts to the ledger while a run goes on, and tells people about waits.
pub(crate) struct LedgerSink {
    printer: Printer,
    path: PathBuf,
    prices: PathBuf,
    now: jiff::Timestamp,
    open: Mutex<Option<(Ledger, PriceTable)>>,
    meter: Arc<Meter>,
    limits: LimitBook,
}

impl std::fmt::Debug for LedgerSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerSink")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl LedgerSink {
    /// A sink that opens the ledger at its first fact.
    pub(crate) fn new(session: &Session, opened: &Opened, printer: Printer) -> Self {
        Self {
            printer,
            path: ledger_path(opened),
            prices: price_file(opened),
            now: session.now,
            open: Mutex::new(None),
            meter: Arc::default(),
            limits: LimitBook::new(opened),
        }
    }

    /// What the run has used so far, for its budget.
    pub(crate) fn meter(&self) -> Arc<Meter> {
        Arc::clone(&self.meter)
    }

    fn record(&self, fact: &ktx_llm_runtime::UsageFact) -> Result<(), String> {
        let mut open = self
            .open
            .lock()
            .map_err(|_| "the ledger is poisoned".to_owned())?;
        if open.is_none() {
            let ledger = Ledger::open(&self.path).map_err(|error| error.to_string())?;
            let prices = read_prices(&self.prices).map_err(|error| error.to_string())?;
            *open = Some((ledger, prices));
        }
        let Some((ledger, prices)) = open.as_ref() else {
            return Err("the ledger is not open".to_owned());
        };
        let at = self.now.to_string();
        self.meter.add(&fact.usage, price_of(fact, &at, prices));
        ledger
            .record(fact, &at, prices)
            .map(|_| ())
            .map_err(|error| error.to_string())
    }
}

impl EventSink for LedgerSink {
    fn event(&self, event: RuntimeEvent) {
        let now = jiff::Timestamp::now();
        if let Err(reason) = self.limits.note(&event, now) {
            tracing::warn!(
                reason,
                "what the provider says about its limits is not kept"
            );
        }
        match event {
            RuntimeEvent::Usage(fact) => {
                if let Err(reason) = self.record(&fact) {
                    self.printer
                        .note(&format!("warning: usage was not recorded: {reason}"));
                }
            }
            RuntimeEvent::WaitStarted { reason, duration } => {
                self.printer.note(&waiting(&reason, duration, now));
            }
            RuntimeEvent::ConcurrencyAdjusted { from, to, reason } => {
                self.printer
                    .note(&format!("calls at the same time: {from} → {to}, {reason}"));
            }
            RuntimeEvent::Warning(text) => self.printer.note(&format!("warning: {text}")),
            RuntimeEvent::Retry { attempt, code } => {
                self.printer
                    .note(&format!("trying again ({attempt}) after {code}"));
            }
            RuntimeEvent::RateLimitObserved { .. }
            | RuntimeEvent::RateLimitRefused { .. }
            | RuntimeEvent::WaitTick { .. }
            | RuntimeEvent::WaitFinished
            | RuntimeEvent::IsolationVerified { .. } => {}
        }
    }
}

/// What people read while nothing happens: seconds when it is short, else the time at which it goes on.
fn waiting(reason: &str, duration: Duration, now: jiff::Timestamp) -> String {
    let until = jiff::SignedDuration::try_from(duration)
        .ok() // longer than time itself
        .and_then(|wait| now.checked_add(wait).ok());
    match until {
        Some(until) if duration >= Duration::from_mins(1) => {
            format!("waiting until {}, {reason}", clock(until, now))
        }
        _ => format!("waiting {} s, {reason}", duration.as_secs_f64().ceil()),
    }
}

#[cfg(test)]
mod tests;

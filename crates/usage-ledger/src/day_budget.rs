//! The budget of a project for each day, which all its processes share.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ktx_llm_runtime::LlmError;
use tokio::time::Instant;

use crate::ceiling::{Fit, Load};
use crate::refusal::{DayRefusal, ledger_unusable, unrecorded};
use crate::reservation::{Reservation, Viewpoint};
use crate::{Amount, Ceiling, Day, Ledger, LedgerError, Money, Owner, Standing, UsageRecorder};

/// The limits of a project for each day of the user's calendar. Reservations are in the ledger, so
/// that all processes of the project share them. Cheap to clone.
#[derive(Clone)]
pub struct DayBudget {
    ceiling: Ceiling,
    recorder: Arc<UsageRecorder>,
    zone: TimeZone,
    patience: Duration,
}

/// The size of a planned call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// What it will probably use.
    pub(crate) expected: Amount,
    /// The most that it may use: what it reserves.
    pub(crate) bound: Amount,
}

/// How often a call looks whether others have ended.
const POLL: Duration = Duration::from_millis(250);

impl std::fmt::Debug for DayBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DayBudget")
            .field("ceiling", &self.ceiling)
            .finish_non_exhaustive()
    }
}

impl DayBudget {
    /// Creates the budget of the project whose usage the recorder writes. A call waits up to
    /// `patience` for calls of other processes that have reserved what is left.
    pub fn new(
        ceiling: Ceiling,
        recorder: Arc<UsageRecorder>,
        zone: TimeZone,
        patience: Duration,
    ) -> Self {
        Self {
            ceiling,
            recorder,
            zone,
            patience,
        }
    }

    /// Returns its limit of money, if it has one.
    pub(crate) const fn money(&self) -> Option<Money> {
        self.ceiling.cost
    }

    /// Reserves what a call may use, at once or after others have ended, or refuses it.
    pub(crate) async fn admit(&self, size: Size) -> Result<Reserved, LlmError> {
        let began = Instant::now();
        loop {
            match self.tried(size).await? {
                Verdict::Reserved(reserved) => return Ok(reserved),
                Verdict::AfterOurs => {}
                Verdict::AfterTheirs(_) if began.elapsed() < self.patience => {}
                Verdict::AfterTheirs(error) | Verdict::Never(error) => return Err(error),
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Fails if the amounts that are used and reserved leave no room for a further turn of an
    /// admitted call.
    pub(crate) fn check(&self, next: Amount) -> Result<(), LlmError> {
        self.recorder.flush().map_err(unrecorded)?;
        let day = self.today();
        let standing = self.standing(&day)?;
        self.unpriced(&standing)?;
        let load = Load {
            // The turn is part of a reservation of this process.
            ours: standing.ours.beyond(standing.smallest),
            ..load(&standing)
        };
        match self.ceiling.fit(&load, next) {
            Fit::Now => Ok(()),
            fit => Err(self.refusal(fit, &standing, &day)),
        }
    }

    async fn tried(&self, size: Size) -> Result<Verdict, LlmError> {
        let budget = self.clone();
        let tried = tokio::task::spawn_blocking(move || budget.tried_now(size));
        tried
            .await
            .unwrap_or_else(|error| Err(unrecorded(error.to_string())))
    }

    fn tried_now(&self, size: Size) -> Result<Verdict, LlmError> {
        self.recorder.flush().map_err(unrecorded)?;
        let day = self.today();
        let since = day.since();
        let reserved = Ledger::open(self.recorder.ledger())
            .and_then(|ledger| {
                ledger.reserve(&viewpoint(&since), |standing| {
                    if let Err(error) = self.unpriced(standing) {
                        return Err(Verdict::Never(error));
                    }
                    match self.ceiling.fit(&load(standing), size.expected) {
                        Fit::Now => Ok(size.bound),
                        Fit::AfterOurs => Err(Verdict::AfterOurs),
                        fit @ Fit::AfterTheirs(_) => {
                            Err(Verdict::AfterTheirs(self.refusal(fit, standing, &day)))
                        }
                        fit @ Fit::Never(_) => {
                            Err(Verdict::Never(self.refusal(fit, standing, &day)))
                        }
                    }
                })
            })
            .map_err(|error| ledger_unusable(&error))?;
        Ok(match reserved {
            Ok(reservation) => Verdict::Reserved(Reserved {
                recorder: Arc::clone(&self.recorder),
                reservation,
            }),
            Err(verdict) => verdict,
        })
    }

    fn today(&self) -> Day {
        Day::of(self.recorder.now(), self.zone.clone())
    }

    fn standing(&self, day: &Day) -> Result<Standing, LlmError> {
        Ledger::open(self.recorder.ledger())
            .and_then(|ledger| ledger.standing(&viewpoint(&day.since())))
            .map_err(|error| ledger_unusable(&error))
    }

    /// Fails if money is limited and the cost of a call is unknown.
    fn unpriced(&self, standing: &Standing) -> Result<(), LlmError> {
        match (self.ceiling.cost, &standing.unpriced) {
            (Some(limit), Some(reason)) => Err(crate::refusal::unpriced_day(reason, limit)),
            _ => Ok(()),
        }
    }

    fn refusal(&self, fit: Fit, standing: &Standing, day: &Day) -> LlmError {
        DayRefusal {
            fit,
            ceiling: &self.ceiling,
            standing,
            day,
        }
        .to_error()
    }
}

enum Verdict {
    Reserved(Reserved),
    /// Only if calls of this process use less than they reserved.
    AfterOurs,
    /// The error, unless calls of other processes end in time.
    AfterTheirs(LlmError),
    Never(LlmError),
}

/// The reservation of a running call. It is given back on drop, after the facts of the call.
pub(crate) struct Reserved {
    recorder: Arc<UsageRecorder>,
    reservation: Reservation,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.recorder.release(self.reservation);
    }
}

/// The budget of a day as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayStatus {
    /// The limits.
    pub ceiling: Ceiling,
    /// What is used, and what running calls may still use.
    pub standing: Standing,
    /// The day.
    pub day: Day,
}

impl DayStatus {
    /// Reads how the budget of a day stands from the ledger in this file.
    pub fn read(ledger: &Path, ceiling: Ceiling, day: Day) -> Result<Self, LedgerError> {
        let since = day.since();
        let standing = Ledger::open_to_read(ledger)?.standing(&viewpoint(&since))?;
        Ok(Self {
            ceiling,
            standing,
            day,
        })
    }
}

/// Formats as `$1.2000 of $5.0000 used, $0.1000 more in flight, until 2026-11-27 00:00`.
impl std::fmt::Display for DayStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (spent, in_flight) = (self.standing.spent, self.standing.in_flight());
        if let Some(limit) = self.ceiling.cost {
            write!(f, "{} of {limit} used, ", spent.cost)?;
            if in_flight != Amount::default() {
                write!(f, "{} more in flight, ", in_flight.cost)?;
            }
        }
        if let Some(limit) = self.ceiling.tokens {
            write!(f, "{} of {limit} tokens used, ", spent.tokens)?;
            if in_flight != Amount::default() {
                write!(f, "{} more in flight, ", in_flight.tokens)?;
            }
        }
        write!(f, "until {}", self.day.ends_at_local())
    }
}

fn viewpoint(since: &str) -> Viewpoint<'_> {
    Viewpoint {
        since,
        owner: Owner::this_process(),
        is_running: &Owner::is_running,
    }
}

const fn load(standing: &Standing) -> Load {
    Load {
        spent: standing.spent,
        ours: standing.ours,
        theirs: standing.theirs,
    }
}

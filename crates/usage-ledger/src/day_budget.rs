//! The daily budget of a project.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ktx_llm_runtime::LlmError;
use tokio::time::Instant;

use crate::ceiling::{BudgetFit, CeilingLoad};
use crate::refusal::{DayRefusal, ledger_unusable, unrecorded};
use crate::reservation::{Reservation, Viewpoint};
use crate::{
    Ceiling, Day, Ledger, LedgerError, Money, PeriodUsage, ReservationOwner, UsageAmount,
    UsageRecorder,
};

/// Limits per day of the user's calendar, shared by all processes. Cheap to clone.
#[derive(Clone)]
pub struct DayBudget {
    ceiling: Ceiling,
    recorder: Arc<UsageRecorder>,
    zone: TimeZone,
    patience: Duration,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct CallSize {
    pub(crate) expected: UsageAmount,
    pub(crate) bound: UsageAmount,
}

const POLL: Duration = Duration::from_millis(250);

impl std::fmt::Debug for DayBudget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DayBudget")
            .field("ceiling", &self.ceiling)
            .finish_non_exhaustive()
    }
}

impl DayBudget {
    /// A call waits up to `patience` for reservations of other processes, and for those of loops of
    /// this process that may have asked for it.
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

    pub(crate) const fn money(&self) -> Option<Money> {
        self.ceiling.cost
    }

    pub(crate) async fn admit(
        &self,
        size: CallSize,
        may_be_asked_by_a_loop: impl Fn() -> bool,
    ) -> Result<DayReservation, LlmError> {
        let began = Instant::now();
        loop {
            let is_patient = began.elapsed() < self.patience;
            match self.try_admit(size).await? {
                DayAdmission::Reserved(reserved) => return Ok(reserved),
                DayAdmission::AfterOurs(_) if is_patient || !may_be_asked_by_a_loop() => {}
                DayAdmission::AfterTheirs(_) if is_patient => {}
                DayAdmission::AfterOurs(error)
                | DayAdmission::AfterTheirs(error)
                | DayAdmission::Never(error) => return Err(error),
            }
            tokio::time::sleep(POLL).await;
        }
    }

    pub(crate) fn check(&self, next: UsageAmount) -> Result<(), LlmError> {
        self.recorder.flush().map_err(unrecorded)?;
        let day = self.today();
        let usage = self.usage(&day)?;
        self.unpriced(&usage)?;
        let load = CeilingLoad {
            // The turn is part of a reservation of this process.
            ours: usage.ours.minus(usage.smallest),
            ..load(&usage)
        };
        match self.ceiling.fit(&load, next) {
            BudgetFit::Now => Ok(()),
            fit => Err(self.refusal(fit, &usage, &day)),
        }
    }

    async fn try_admit(&self, size: CallSize) -> Result<DayAdmission, LlmError> {
        let budget = self.clone();
        let tried = tokio::task::spawn_blocking(move || budget.try_admit_now(size));
        tried
            .await
            .unwrap_or_else(|error| Err(unrecorded(error.to_string())))
    }

    fn try_admit_now(&self, size: CallSize) -> Result<DayAdmission, LlmError> {
        self.recorder.flush().map_err(unrecorded)?;
        let day = self.today();
        let since = day.since();
        let reserved = Ledger::open(self.recorder.ledger())
            .and_then(|ledger| {
                ledger.reserve(&viewpoint(&since), |usage| {
                    if let Err(error) = self.unpriced(usage) {
                        return Err(DayAdmission::Never(error));
                    }
                    match self.ceiling.fit(&load(usage), size.expected) {
                        BudgetFit::Now => Ok(size.bound),
                        fit @ BudgetFit::AfterOurs => {
                            Err(DayAdmission::AfterOurs(self.refusal(fit, usage, &day)))
                        }
                        fit @ BudgetFit::AfterTheirs(_) => {
                            Err(DayAdmission::AfterTheirs(self.refusal(fit, usage, &day)))
                        }
                        fit @ BudgetFit::Never(_) => {
                            Err(DayAdmission::Never(self.refusal(fit, usage, &day)))
                        }
                    }
                })
            })
            .map_err(|error| ledger_unusable(&error))?;
        Ok(match reserved {
            Ok(reservation) => DayAdmission::Reserved(DayReservation {
                recorder: Arc::clone(&self.recorder),
                reservation,
            }),
            Err(verdict) => verdict,
        })
    }

    fn today(&self) -> Day {
        Day::of(self.recorder.now(), self.zone.clone())
    }

    fn usage(&self, day: &Day) -> Result<PeriodUsage, LlmError> {
        Ledger::open(self.recorder.ledger())
            .and_then(|ledger| ledger.period_usage(&viewpoint(&day.since())))
            .map_err(|error| ledger_unusable(&error))
    }

    fn unpriced(&self, usage: &PeriodUsage) -> Result<(), LlmError> {
        match (self.ceiling.cost, &usage.unpriced) {
            (Some(limit), Some(reason)) => Err(crate::refusal::unpriced_day(reason, limit)),
            _ => Ok(()),
        }
    }

    fn refusal(&self, fit: BudgetFit, usage: &PeriodUsage, day: &Day) -> LlmError {
        DayRefusal {
            fit,
            ceiling: &self.ceiling,
            usage,
            day,
        }
        .to_error()
    }
}

enum DayAdmission {
    Reserved(DayReservation),
    /// If calls of this process use less than they reserved.
    AfterOurs(LlmError),
    /// If calls of other processes end in time.
    AfterTheirs(LlmError),
    Never(LlmError),
}

/// Released on drop, after the facts of the call.
pub(crate) struct DayReservation {
    recorder: Arc<UsageRecorder>,
    reservation: Reservation,
}

impl Drop for DayReservation {
    fn drop(&mut self) {
        self.recorder.release(self.reservation);
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayStatus {
    pub ceiling: Ceiling,
    pub usage: PeriodUsage,
    pub day: Day,
}

impl DayStatus {
    pub fn read(ledger: &Path, ceiling: Ceiling, day: Day) -> Result<Self, LedgerError> {
        let since = day.since();
        let usage = Ledger::open_to_read(ledger)?.period_usage(&viewpoint(&since))?;
        Ok(Self {
            ceiling,
            usage,
            day,
        })
    }
}

/// `$1.2000 of $5.0000 used, $0.1000 more in flight, until 2026-11-27 00:00`
impl std::fmt::Display for DayStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (spent, in_flight) = (self.usage.spent, self.usage.in_flight());
        if let Some(limit) = self.ceiling.cost {
            write!(f, "{} of {limit} used, ", spent.cost)?;
            if in_flight != UsageAmount::default() {
                write!(f, "{} more in flight, ", in_flight.cost)?;
            }
        }
        if let Some(limit) = self.ceiling.tokens {
            write!(f, "{} of {limit} tokens used, ", spent.tokens)?;
            if in_flight != UsageAmount::default() {
                write!(f, "{} more in flight, ", in_flight.tokens)?;
            }
        }
        write!(f, "until {}", self.day.ends_at_local())
    }
}

fn viewpoint(since: &str) -> Viewpoint<'_> {
    Viewpoint {
        since,
        owner: ReservationOwner::this_process(),
        is_running: &ReservationOwner::is_running,
    }
}

const fn load(usage: &PeriodUsage) -> CeilingLoad {
    CeilingLoad {
        spent: usage.spent,
        ours: usage.ours,
        theirs: usage.theirs,
    }
}

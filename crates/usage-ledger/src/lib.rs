//! Usage facts, prices, budgets, reports, and account limits.
//!
//! Facts never change (COG-12, COG-14): one per message, and one for a call's other usage. A
//! message is recorded when it begins, so that it survives its process. This crate must never know
//! which backend produced a fact.

mod account_limits;
mod budget;
mod budgeted;
mod ceiling;
mod cost;
mod day;
mod day_budget;
mod ledger;
mod lookup;
mod matching;
mod meter;
mod owner;
mod price;
mod price_source;
mod record;
mod recorder;
mod refusal;
mod report;
mod reported;
mod reservation;
mod table;
mod window;

pub use account_limits::{AccountLimit, LimitBook, LimitStatus, LimitedAccount, clock};
pub use budget::{AgentShare, Budget, Limits};
pub use budgeted::BudgetedRuntime;
pub use ceiling::{Ceiling, UsageAmount};
pub use cost::{Cost, Money, PriceRegion, RequestTraits};
pub use day::Day;
pub use day_budget::{DayBudget, DayStatus};
pub use ledger::{Ledger, LedgerError};
pub use meter::Meter;
pub use owner::ReservationOwner;
pub use price::{price, price_of};
pub use price_source::PriceSource;
pub use record::RecordOutcome;
pub use recorder::{Clock, Notify, UsageRecorder};
pub use report::{ReportRow, UsageReport};
pub use reported::ReportedCosts;
pub use reservation::{PeriodUsage, Reservation, Viewpoint};
pub use table::{PriceTable, PriceTableError};
pub use window::{ReportGroup, ReportWindow};

#[cfg(test)]
mod tests;

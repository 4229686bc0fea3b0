//! Stored limits of model accounts.

mod book_file;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ktx_llm_runtime::{LONGEST_WAIT, RuntimeEvent, window_words};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Without a known end: the length of the shortest window.
const WINDOWLESS_LIFE: SignedDuration = SignedDuration::from_mins(1);

const FIVE_HOURS: &str = "5-hour window";

const SKEW: SignedDuration = SignedDuration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitStatus {
    Allowed,
    Refused,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountLimit {
    /// Such as `5-hour window`.
    pub window: String,
    #[serde(rename = "standing")]
    pub status: LimitStatus,
    /// In 0..=1.
    #[serde(default)]
    pub utilization: Option<f64>,
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
    pub observed_at: Timestamp,
}

impl AccountLimit {
    /// Ignores reports from the future and refusals longer than their window: a clock or the
    /// provider was wrong.
    fn holds(&self, now: Timestamp) -> bool {
        if self.observed_at.duration_since(now) > SKEW {
            return false;
        }
        match self.resets_at {
            Some(until) => now < until && until.duration_since(self.observed_at) <= self.longest(),
            None => now.duration_since(self.observed_at) < WINDOWLESS_LIFE,
        }
    }

    fn longest(&self) -> SignedDuration {
        let longest = match (self.status, self.window.as_str()) {
            // A window that admits calls blocks none, however long it lasts.
            (LimitStatus::Allowed, _) => SignedDuration::MAX,
            (LimitStatus::Refused, FIVE_HOURS) => SignedDuration::from_hours(5),
            (LimitStatus::Refused, _) => {
                SignedDuration::try_from(LONGEST_WAIT).unwrap_or(SignedDuration::MAX)
            }
        };
        longest.saturating_add(SignedDuration::from_hours(1))
    }

    /// True if a refusal must stay despite another run's newer report.
    fn outlasts(&self, other: &Self, now: Timestamp) -> bool {
        self.holds(now)
            && self.status == LimitStatus::Refused
            && (other.status == LimitStatus::Allowed || self.resets_at > other.resets_at)
    }

    /// A newer report about a limit without an end is news.
    fn covers(&self, later: &Self) -> bool {
        let heard_again = Self {
            observed_at: later.observed_at,
            ..self.clone()
        };
        heard_again == *later
            && (self.resets_at.is_some()
                || later.observed_at.duration_since(self.observed_at) < WINDOWLESS_LIFE / 2)
    }

    /// `None` if calls are admitted or the end is unknown.
    pub fn refused_for(&self, now: Timestamp) -> Option<Duration> {
        let until = self
            .resets_at
            .filter(|_| self.status == LimitStatus::Refused)?;
        until.duration_since(now).try_into().ok() // it has just ended
    }

    pub fn words(&self, now: Timestamp) -> String {
        let mut words = match (self.status, self.utilization) {
            (LimitStatus::Refused, _) => format!("{}: calls are refused", self.window),
            (LimitStatus::Allowed, Some(share)) => {
                format!("{}: {:.0} % used", self.window, share * 100.0)
            }
            (LimitStatus::Allowed, None) => format!("{}: calls are allowed", self.window),
        };
        if let Some(until) = self.resets_at {
            let verb = match self.status {
                LimitStatus::Refused => "until",
                LimitStatus::Allowed => "resets",
            };
            words = format!("{words}, {verb} {}", clock(until, now));
        }
        words
    }
}

/// In the user's zone, with the date if it is another day.
pub fn clock(at: Timestamp, now: Timestamp) -> String {
    let zone = TimeZone::system();
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone));
    let form = if at.date() == now.date() {
        "%H:%M"
    } else {
        "%Y-%m-%d %H:%M"
    };
    at.strftime(form).to_string()
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredLimits {
    #[serde(default)]
    salt: String,
    #[serde(default)]
    accounts: BTreeMap<String, AccountLimit>,
}

impl StoredLimits {
    /// Contains only a hash: no file of ktx may contain a key, and an address can contain one.
    fn name(&self, account: &LimitedAccount) -> String {
        let mut hash = Sha256::new();
        for part in std::iter::once(&self.salt).chain(&account.identity) {
            // Lengths keep parts from running together.
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        let bytes = hash.finalize().into_iter().take(8);
        let number = bytes.fold(0_u64, |number, byte| number << 8 | u64::from(byte));
        format!("{} {number:016x}", account.backend)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitedAccount {
    pub backend: &'static str,
    /// Address and key; stored only as a salted hash.
    pub identity: Vec<String>,
}

/// The limits of one account, in a file shared by commands.
#[derive(Debug)]
pub struct LimitBook {
    path: PathBuf,
    account: LimitedAccount,
    last: Mutex<Option<AccountLimit>>,
}

impl LimitBook {
    /// The file can be missing.
    pub fn new(path: PathBuf, account: LimitedAccount) -> Self {
        Self {
            path,
            account,
            last: Mutex::new(None),
        }
    }

    pub fn known(&self, now: Timestamp) -> Option<AccountLimit> {
        let mut book = book_file::read(&self.path);
        let name = book.name(&self.account);
        book.accounts.remove(&name).filter(|limit| limit.holds(now))
    }

    pub fn forget_refusal(&self) -> Result<(), String> {
        let is_refused = |book: &StoredLimits| {
            let known = book.accounts.get(&book.name(&self.account));
            known.is_some_and(|limit| limit.status == LimitStatus::Refused)
        };
        if !is_refused(&book_file::read(&self.path)) {
            return Ok(());
        }
        book_file::change(&self.path, |book| {
            if is_refused(book) {
                book.accounts.remove(&book.name(&self.account));
            }
        })
    }

    pub fn note(&self, event: &RuntimeEvent, now: Timestamp) -> Result<(), String> {
        let Some(limit) = limit_of(event, now) else {
            return Ok(());
        };
        let mut last = self.last.lock().map_err(|error| error.to_string())?;
        if last.as_ref().is_some_and(|last| last.covers(&limit)) {
            return Ok(());
        }
        book_file::change(&self.path, |book| {
            if book.salt.is_empty() {
                book.salt = uuid::Uuid::new_v4().simple().to_string();
            }
            book.accounts.retain(|_, limit| limit.holds(now));
            let name = book.name(&self.account);
            let known = book.accounts.get(&name);
            if !known.is_some_and(|known| known.outlasts(&limit, now)) {
                book.accounts.insert(name, limit.clone());
            }
        })?;
        *last = Some(limit);
        Ok(())
    }
}

fn limit_of(event: &RuntimeEvent, now: Timestamp) -> Option<AccountLimit> {
    let moment = |seconds: &Option<i64>| Timestamp::from_second((*seconds)?).ok(); // without an end there is nothing to store
    let limit = |window: String, status, utilization, resets_at| AccountLimit {
        window,
        status,
        utilization,
        resets_at,
        observed_at: now,
    };
    match event {
        RuntimeEvent::RateLimitObserved {
            window,
            utilization,
            resets_at,
        } => {
            let (end, window) = (moment(resets_at), window_words(window));
            // Not worth storing without share and end.
            (utilization.is_some() || end.is_some())
                .then(|| limit(window, LimitStatus::Allowed, *utilization, end))
        }
        RuntimeEvent::RateLimitRefused { window, resets_at } => Some(limit(
            window_words(window),
            LimitStatus::Refused,
            None,
            moment(resets_at),
        )),
        RuntimeEvent::WaitStarted { reason, duration } => {
            let wait = jiff::SignedDuration::try_from(*duration).ok()?; // longer than time itself
            let until = now.checked_add(wait).ok();
            Some(limit(reason.clone(), LimitStatus::Refused, None, until))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;

//! What is known about the limits of the accounts that models are used with, kept in the project's
//! local state, so that the next command knows it too.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ktx_llm_runtime::{RuntimeEvent, window_words};
use ktx_project_store::{read_optional, write_atomically};
use ktx_secrets::SecretRef;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::session::{Opened, Session};

/// How an account stands with one of its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    /// Calls are let through.
    Allowed,
    /// Calls are refused until the window ends.
    Refused,
}

/// The last thing that was heard about an account's limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountLimit {
    /// The window in words, such as `5-hour window`.
    window: String,
    /// Whether calls are let through.
    standing: Standing,
    /// The share of the window that is used, 0..=1, when told.
    #[serde(default)]
    utilization: Option<f64>,
    /// When the window ends, when told.
    #[serde(default)]
    resets_at: Option<Timestamp>,
    /// When it was heard.
    observed_at: Timestamp,
}

impl AccountLimit {
    /// Whether the window is not over yet.
    fn holds(&self, now: Timestamp) -> bool {
        match self.resets_at {
            Some(until) => now < until,
            // Without an end it is news for as long as the shortest window there is.
            None => now.duration_since(self.observed_at).as_secs() < 60,
        }
    }

    /// The form of `ktx status --json`.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "window": self.window,
            "standing": match self.standing {
                Standing::Allowed => "allowed",
                Standing::Refused => "refused",
            },
            "utilization": self.utilization,
            "resetsAt": self.resets_at.map(|at| at.to_string()),
            "observedAt": self.observed_at.to_string(),
            "detail": self.words(),
        })
    }

    /// One line for people.
    fn words(&self) -> String {
        let mut words = match (self.standing, self.utilization) {
            (Standing::Refused, _) => format!("{}: calls are refused", self.window),
            (Standing::Allowed, Some(share)) => {
                format!("{}: {:.0} % used", self.window, share * 100.0)
            }
            (Standing::Allowed, None) => format!("{}: calls are let through", self.window),
        };
        if let Some(until) = self.resets_at {
            let verb = match self.standing {
                Standing::Refused => "until",
                Standing::Allowed => "resets",
            };
            words = format!("{words}, {verb} {}", clock(until, self.observed_at));
        }
        words
    }
}

/// The time of day of a moment where the user is, with the date when it is another day.
pub(super) fn clock(at: Timestamp, now: Timestamp) -> String {
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
struct Book {
    #[serde(default)]
    accounts: BTreeMap<String, AccountLimit>,
}

/// Keeps what is heard about one account.
#[derive(Debug)]
pub(super) struct LimitBook {
    path: PathBuf,
    account: String,
    last: Mutex<Option<AccountLimit>>,
}

impl LimitBook {
    /// The book of the account that the project's backend uses.
    pub(super) fn new(opened: &Opened) -> Self {
        Self {
            path: path(opened),
            account: account(opened),
            last: Mutex::new(None),
        }
    }

    /// Takes note of an event that concerns limits; others are left alone.
    pub(super) fn note(&self, event: &RuntimeEvent, now: Timestamp) -> Result<(), String> {
        let Some(limit) = limit_of(event, now) else {
            return Ok(());
        };
        let mut last = self.last.lock().map_err(|error| error.to_string())?;
        if last.as_ref() == Some(&limit) {
            return Ok(());
        }
        let mut book = read(&self.path);
        book.accounts.insert(self.account.clone(), limit.clone());
        let text = serde_json::to_string_pretty(&book).map_err(|error| error.to_string())?;
        write_atomically(&self.path, text.as_bytes()).map_err(|error| error.to_string())?;
        *last = Some(limit);
        Ok(())
    }
}

fn limit_of(event: &RuntimeEvent, now: Timestamp) -> Option<AccountLimit> {
    let moment = |seconds: &Option<i64>| Timestamp::from_second((*seconds)?).ok(); // no time is no news
    let limit = |window: String, standing, utilization, resets_at| AccountLimit {
        window,
        standing,
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
            // What is neither used nor ends says nothing that would be worth keeping.
            (utilization.is_some() || end.is_some())
                .then(|| limit(window, Standing::Allowed, *utilization, end))
        }
        RuntimeEvent::RateLimitRefused { window, resets_at } => Some(limit(
            window_words(window),
            Standing::Refused,
            None,
            moment(resets_at),
        )),
        RuntimeEvent::WaitStarted { reason, duration } => {
            let wait = jiff::SignedDuration::try_from(*duration).ok()?; // longer than time itself
            let until = now.checked_add(wait).ok();
            Some(limit(reason.clone(), Standing::Refused, None, until))
        }
        _ => None,
    }
}

/// What still holds about the account that the project's backend uses.
pub(crate) fn known_limit(session: &Session, opened: &Opened) -> Option<AccountLimit> {
    read(&path(opened))
        .accounts
        .remove(&account(opened))
        .filter(|limit| limit.holds(session.now))
}

/// How long calls of the account are still refused, and by which window.
pub(super) fn refused_for(
    session: &Session,
    opened: &Opened,
) -> Option<(String, std::time::Duration)> {
    let limit = known_limit(session, opened)?;
    let until = limit
        .resets_at
        .filter(|_| limit.standing == Standing::Refused)?;
    let wait = until.duration_since(session.now);
    Some((limit.window, wait.unsigned_abs()))
}

fn path(opened: &Opened) -> PathBuf {
    opened.store.layout().state().join("rate-limits.json")
}

/// The account: the backend, and where it is when that is not its usual place.
fn account(opened: &Opened) -> String {
    let llm = &opened.config.llm;
    let backend = llm.backend.as_str();
    let place = llm
        .endpoints
        .get(&llm.backend)
        .and_then(|endpoint| endpoint.base_url.as_ref());
    match place {
        None => backend.to_owned(),
        Some(SecretRef::Env(name)) => format!("{backend} env:{name}"),
        Some(SecretRef::File(path)) => format!("{backend} file:{}", path.display()),
        Some(SecretRef::Literal(address)) => {
            format!("{backend} {}", ktx_secrets::redact_url(address.expose()))
        }
    }
}

/// A book that is missing or cannot be read is empty: it is rebuilt from what comes next.
fn read(path: &std::path::Path) -> Book {
    read_optional(path)
        .ok()
        .flatten()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;

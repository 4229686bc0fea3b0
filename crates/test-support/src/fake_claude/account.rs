//! An account shared through a file that is used up or logged out after a number of prompts.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ScenarioHalt;
use super::channel::say;
use super::scenario::ApiError;
use super::session::Session;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedAccount {
    pub file: PathBuf,
    #[serde(default = "always")]
    pub serves: u64,
    /// Prompts before the usage warning; unlimited if absent.
    #[serde(default)]
    pub warns_after: Option<u64>,
    #[serde(default)]
    pub then: Turn,
}

const fn always() -> u64 {
    u64::MAX
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Turn {
    Limit {
        /// Such as `five_hour`.
        window: String,
        /// Unix seconds.
        #[serde(default)]
        resets_at: Option<u64>,
        /// Seconds from the first refusal.
        #[serde(default)]
        resets_in: Option<u64>,
    },
    #[default]
    Logout,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct State {
    /// Processes that received `initialize`.
    starts: u64,
    served: u64,
    refused: u64,
    /// Unix seconds.
    limited_until: Option<u64>,
    logged_out: bool,
}

impl Session {
    pub(crate) fn account(&self) -> Result<Option<Value>, ScenarioHalt> {
        if let Some(shared) = &self.scenario.shared_account
            && update(shared, |state| {
                state.starts += 1;
                state.logged_out
            })?
        {
            return Ok(Some(json!({ "tokenSource": "none" })));
        }
        Ok(self.scenario.account.clone())
    }

    pub(crate) fn serves(&mut self) -> Result<bool, ScenarioHalt> {
        let Some(shared) = self.scenario.shared_account.clone() else {
            return Ok(true);
        };
        let now = now();
        let refusal = update(&shared, |state| state.judge(&shared, now))?;
        let refusal = match refusal {
            AccountVerdict::Served => return Ok(true),
            AccountVerdict::Warned(window) => {
                say(&window)?;
                return Ok(true);
            }
            AccountVerdict::Refused(refusal) => refusal,
        };
        if let Some(window) = refusal.window {
            say(&window)?;
        }
        self.api_error(&refusal.error)?;
        Ok(false)
    }
}

enum AccountVerdict {
    Served,
    Warned(Value),
    Refused(AccountRefusal),
}

struct AccountRefusal {
    window: Option<Value>,
    error: ApiError,
}

impl State {
    fn judge(&mut self, shared: &SharedAccount, now: u64) -> AccountVerdict {
        let was_limited = self.limited_until.is_some();
        let open = !was_limited && !self.logged_out && self.served < shared.serves;
        let reset = self.limited_until.is_some_and(|until| now >= until);
        if open || reset {
            self.served += 1;
            let near = shared.warns_after.is_some_and(|few| self.served > few);
            return match &shared.then {
                Turn::Limit { window, .. } if near && !reset => {
                    AccountVerdict::Warned(json!({ "type": "rate_limit_event", "rate_limit_info": {
                        "status": "allowed_warning", "rateLimitType": window, "utilization": 0.9,
                        "isUsingOverage": false,
                    } }))
                }
                _ => AccountVerdict::Served,
            };
        }
        self.refused += 1;
        AccountVerdict::Refused(match &shared.then {
            Turn::Limit {
                window,
                resets_at,
                resets_in,
            } => {
                let until = *self.limited_until.get_or_insert_with(|| {
                    resets_at.unwrap_or_else(|| now + resets_in.unwrap_or_default())
                });
                AccountRefusal {
                    window: Some(json!({ "type": "rate_limit_event", "rate_limit_info": {
                        "status": "rejected", "rateLimitType": window, "resetsAt": until,
                        "isUsingOverage": false,
                    } })),
                    error: ApiError {
                        class: "rate_limit".to_owned(),
                        status: Some(429),
                        text: "You've hit your limit".to_owned(),
                    },
                }
            }
            Turn::Logout => {
                self.logged_out = true;
                AccountRefusal {
                    window: None,
                    error: ApiError {
                        class: "authentication_failed".to_owned(),
                        status: Some(401),
                        text: "Please run /login".to_owned(),
                    },
                }
            }
        })
    }
}

/// Changes the state under a lock. Readers without it see complete states.
#[expect(
    clippy::disallowed_methods,
    reason = "the fake is a program of its own"
)]
fn update<T>(
    shared: &SharedAccount,
    change: impl FnOnce(&mut State) -> T,
) -> Result<T, ScenarioHalt> {
    let lock = std::fs::File::create(shared.file.with_extension("lock"))?;
    lock.lock()?;
    let mut state: State = match std::fs::read_to_string(&shared.file) {
        Ok(text) if text.trim().is_empty() => State::default(),
        Ok(text) => {
            serde_json::from_str(&text).map_err(|error| ScenarioHalt::Fault(error.to_string()))?
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::default(),
        Err(error) => return Err(error.into()),
    };
    let outcome = change(&mut state);
    let text =
        serde_json::to_string(&state).map_err(|error| ScenarioHalt::Fault(error.to_string()))?;
    let beside = shared.file.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(beside, &shared.file)?;
    Ok(outcome)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the fake is a program of its own, and its windows end at a time of day"
)]
fn now() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0, |passed| passed.as_secs())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the fake is a program of its own, and its messages are unique over all processes"
)]
pub(crate) fn unique() -> String {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = passed.map_or(0, |passed| passed.as_nanos());
    format!("{:x}{nanoseconds:x}", std::process::id())
}

pub(crate) fn bill(session: &Session, message: &str, usage: &Value) {
    let Some(file) = &session.scenario.bill else {
        return;
    };
    let mut line = Map::new();
    for (key, value) in [
        ("message", json!(message)),
        ("model", json!(session.model_name())),
        ("process", json!(std::process::id())),
        ("usage", usage.clone()),
    ] {
        line.insert(key.to_owned(), value);
    }
    super::session::append(file, &format!("{}\n", Value::Object(line)));
}

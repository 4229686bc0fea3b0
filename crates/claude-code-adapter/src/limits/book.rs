//! The rules over announced limits, without a clock.

use std::time::Duration;

use ktx_llm_runtime::{LONGEST_WAIT, window_words};

use crate::protocol::RateLimit;
use crate::settings::KnownLimits;

/// Seconds from now to an end that is still taken for one: a hundred years. Milliseconds that stand for
/// seconds are far behind it.
const FARTHEST: i64 = 100 * 365 * 24 * 60 * 60;

/// Seconds by which two looks at a clock may differ.
const SKEW: i64 = 60;

/// A limit that the provider has announced with its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    /// The window, such as `five_hour`.
    pub(crate) window: String,
    /// The model that it holds for; all when absent.
    pub(crate) model: Option<String>,
    /// When it resets, in Unix seconds.
    pub(crate) resets_at: i64,
    /// When it was heard, in Unix seconds.
    pub(crate) heard_at: i64,
}

impl Announced {
    /// The limit that refused a call of this model; `None` when its end was not told.
    pub(crate) fn of(limit: &RateLimit, model: &str, now: i64) -> Option<Self> {
        let one_model = limit.window.starts_with("seven_day_");
        Some(Self {
            window: limit.window.clone(),
            model: one_model.then(|| model.to_owned()),
            resets_at: limit.resets_at?,
            heard_at: now,
        })
    }

    /// Whether it is one that nobody waits for.
    pub(crate) fn is_weekly(&self) -> bool {
        self.window.starts_with("seven_day")
    }

    /// What is waited for, for people.
    pub(crate) fn words(&self) -> String {
        match self.window.as_str() {
            "" => "usage limit".to_owned(),
            window => window_words(window),
        }
    }

    /// Whether the end can be true. One that nobody lives to see is none: the unit is wrong.
    pub(crate) fn is_believable(&self, now: i64) -> bool {
        self.resets_at.saturating_sub(now) <= FARTHEST
    }

    /// Whether it keeps calls out now. What was heard in the future is no news: a clock was wrong.
    pub(crate) fn closes(&self, now: i64) -> bool {
        self.resets_at > now && self.is_believable(now) && self.heard_at <= now.saturating_add(SKEW)
    }

    /// Whether another run may take it as it is: it keeps calls out no longer than its window can.
    pub(crate) fn is_sound(&self, now: i64) -> bool {
        let longest = match self.window.as_str() {
            "five_hour" => Duration::from_hours(5),
            _ => LONGEST_WAIT,
        };
        // Our clock and the provider's are two.
        let longest = longest.saturating_add(Duration::from_hours(1));
        let lasts = self.resets_at.saturating_sub(self.heard_at);
        self.closes(now) && u64::try_from(lasts).is_ok_and(|lasts| lasts <= longest.as_secs())
    }

    /// Whether calls of this model are kept out by it.
    pub(crate) fn holds_for(&self, model: &str) -> bool {
        self.model.as_deref().is_none_or(|own| own == model)
    }

    /// Whether both are about the same window of the same model.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.window, &self.model) == (&other.window, &other.model)
    }
}

/// Whether a call may ask now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It may.
    Open,
    /// A limit should be over, or is not to be believed: one call finds out.
    Trial,
    /// It may not, because of this limit.
    Closed(Announced),
}

/// All that was announced and not seen to be over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Book {
    /// What this run was told. The same window of the same model has one end: the one that was told last.
    own: Vec<Own>,
    /// What is kept for all runs, this one's words among it.
    kept: Vec<Announced>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Own {
    limit: Announced,
    noted: Noted,
}

/// Whether a limit stands where all runs look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It does.
    Yes,
    /// It could not be written down.
    No,
}

impl Book {
    /// Whether a call of this model may ask at this moment, in Unix seconds.
    pub(crate) fn admission(&self, model: &str, now: i64, known: KnownLimits) -> Admission {
        let own = self.own.iter().map(|own| &own.limit);
        let own = || own.clone().filter(|limit| limit.holds_for(model));
        let kept = || self.kept.iter().filter(|limit| limit.holds_for(model));
        let believed = kept().filter(|limit| known == KnownLimits::Believed && limit.is_sound(now));
        let closing = own().filter(|limit| limit.closes(now)).chain(believed);
        match closing.max_by_key(|limit| limit.resets_at) {
            Some(limit) => Admission::Closed(limit.clone()),
            None if own().chain(kept()).next().is_none() => Admission::Open,
            None => Admission::Trial,
        }
    }

    /// Takes in what this run was told.
    pub(crate) fn announce(&mut self, limit: Announced, noted: Noted) {
        self.own.retain(|own| !own.limit.is_like(&limit));
        self.own.push(Own { limit, noted });
    }

    /// Takes in what is kept for all runs. What stood there and is gone was seen to be over.
    pub(crate) fn hear(&mut self, kept: Vec<Announced>) {
        let stands = |limit: &Announced| kept.iter().any(|kept| kept.is_like(limit));
        self.own
            .retain(|own| own.noted == Noted::No || stands(&own.limit));
        self.kept = kept;
    }

    /// A call of this model was served: what should be over is over. True when something that is kept is.
    pub(crate) fn served(&mut self, model: &str, now: i64, known: KnownLimits) -> bool {
        self.own
            .retain(|Own { limit, .. }| !limit.holds_for(model) || limit.closes(now));
        let over = |limit: &Announced| is_over(limit, model, now, known);
        self.kept.iter().any(over)
    }
}

/// Whether a call of this model that was served shows a kept limit to be over.
pub(crate) fn is_over(limit: &Announced, model: &str, now: i64, known: KnownLimits) -> bool {
    match known {
        KnownLimits::Believed => limit.holds_for(model) && !limit.is_sound(now),
        // The account or its plan is another one: what was said about other models is as old.
        KnownLimits::Tried => true,
    }
}

//! The rules for announced limits, without a clock.

use std::time::Duration;

use ktx_llm_runtime::{LONGEST_WAIT, window_words};

use crate::protocol::RateLimit;
use crate::settings::KnownLimits;

/// Seconds. Milliseconds would be far beyond.
const FARTHEST: i64 = 100 * 365 * 24 * 60 * 60;

/// Seconds.
const SKEW: i64 = 60;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnnouncedLimit {
    /// Such as `five_hour`.
    pub(crate) window: String,
    /// `None` means all models.
    pub(crate) model: Option<String>,
    /// Unix seconds.
    pub(crate) resets_at: i64,
    /// Unix seconds.
    pub(crate) heard_at: i64,
}

impl AnnouncedLimit {
    /// `None` without an end.
    pub(crate) fn of(limit: &RateLimit, model: &str, now: i64) -> Option<Self> {
        let one_model = limit.window.starts_with("seven_day_");
        Some(Self {
            window: limit.window.clone(),
            model: one_model.then(|| model.to_owned()),
            resets_at: limit.resets_at?,
            heard_at: now,
        })
    }

    /// ktx never waits for a weekly limit.
    pub(crate) fn is_weekly(&self) -> bool {
        self.window.starts_with("seven_day")
    }

    pub(crate) fn words(&self) -> String {
        match self.window.as_str() {
            "" => "usage limit".to_owned(),
            window => window_words(window),
        }
    }

    /// Milliseconds in place of seconds are not believable.
    pub(crate) fn is_plausible(&self, now: i64) -> bool {
        self.resets_at.saturating_sub(now) <= FARTHEST
    }

    /// Ignores limits from the future: a clock was wrong.
    pub(crate) fn closes(&self, now: i64) -> bool {
        self.resets_at > now && self.is_plausible(now) && self.heard_at <= now.saturating_add(SKEW)
    }

    /// Another run trusts only limits no longer than their window.
    pub(crate) fn is_sound(&self, now: i64) -> bool {
        let longest = match self.window.as_str() {
            "five_hour" => Duration::from_hours(5),
            _ => LONGEST_WAIT,
        };
        // Clocks differ.
        let longest = longest.saturating_add(Duration::from_hours(1));
        let lasts = self.resets_at.saturating_sub(self.heard_at);
        self.closes(now) && u64::try_from(lasts).is_ok_and(|lasts| lasts <= longest.as_secs())
    }

    pub(crate) fn holds_for(&self, model: &str) -> bool {
        self.model.as_deref().is_none_or(|own| own == model)
    }

    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.window, &self.model) == (&other.window, &other.model)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Admission {
    Open,
    /// Should be over, or is not plausible.
    Trial,
    Closed(AnnouncedLimit),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LimitBook {
    /// One end per window and model.
    own: Vec<OwnLimit>,
    /// Stored for all runs.
    kept: Vec<AnnouncedLimit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnLimit {
    limit: AnnouncedLimit,
    noted: StoreStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreStatus {
    Stored,
    NotStored,
}

impl LimitBook {
    /// Unix seconds.
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

    pub(crate) fn announce(&mut self, limit: AnnouncedLimit, noted: StoreStatus) {
        self.own.retain(|own| !own.limit.is_like(&limit));
        self.own.push(OwnLimit { limit, noted });
    }

    /// Disappeared limits are over.
    pub(crate) fn merge_stored(&mut self, kept: Vec<AnnouncedLimit>) {
        let stands = |limit: &AnnouncedLimit| kept.iter().any(|kept| kept.is_like(limit));
        self.own
            .retain(|own| own.noted == StoreStatus::NotStored || stands(&own.limit));
        self.kept = kept;
    }

    /// True if a stored limit ended.
    pub(crate) fn served(&mut self, model: &str, now: i64, known: KnownLimits) -> bool {
        self.own
            .retain(|OwnLimit { limit, .. }| !limit.holds_for(model) || limit.closes(now));
        let over = |limit: &AnnouncedLimit| is_over(limit, model, now, known);
        self.kept.iter().any(over)
    }
}

/// True if a served call of this model proves that a stored limit is over.
pub(crate) fn is_over(limit: &AnnouncedLimit, model: &str, now: i64, known: KnownLimits) -> bool {
    match known {
        KnownLimits::Believed => limit.holds_for(model) && !limit.is_sound(now),
        // Account or plan changed, so all limits are outdated.
        KnownLimits::Tried => true,
    }
}

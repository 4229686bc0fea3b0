//! The rules over announced limits, without a clock.

use ktx_llm_runtime::window_words;

use crate::protocol::RateLimit;

/// Seconds from now to an end that is still taken for one: a hundred years. Milliseconds that stand for
/// seconds are far behind it.
const FARTHEST: i64 = 100 * 365 * 24 * 60 * 60;

/// A limit that the provider has announced with its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    /// The window, such as `five_hour`.
    pub(crate) window: String,
    /// The model that it holds for; all when absent.
    pub(crate) model: Option<String>,
    /// When it resets, in Unix seconds.
    pub(crate) resets_at: i64,
}

impl Announced {
    /// The limit that refused a call of this model; `None` when its end was not told.
    pub(crate) fn of(limit: &RateLimit, model: &str) -> Option<Self> {
        let one_model = limit.window.starts_with("seven_day_");
        Some(Self {
            window: limit.window.clone(),
            model: one_model.then(|| model.to_owned()),
            resets_at: limit.resets_at?,
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

    fn holds_for(&self, model: &str) -> bool {
        self.model.as_deref().is_none_or(|own| own == model)
    }
}

/// Whether a call may ask now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It may.
    Open,
    /// A limit should be over: one call finds out.
    Trial,
    /// It may not, because of this limit.
    Closed(Announced),
}

/// All that was announced and not seen to be over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Book {
    announced: Vec<Announced>,
}

impl Book {
    /// Whether a call of this model may ask at this moment, in Unix seconds.
    pub(crate) fn admission(&self, model: &str, now: i64) -> Admission {
        let own = || self.announced.iter().filter(|limit| limit.holds_for(model));
        let believable = own().filter(|limit| limit.is_believable(now));
        match believable.max_by_key(|limit| limit.resets_at) {
            Some(limit) if limit.resets_at > now => Admission::Closed(limit.clone()),
            None if own().next().is_none() => Admission::Open,
            _ => Admission::Trial,
        }
    }

    /// Takes a limit in. The same window of the same model has one end: the one that was told last.
    pub(crate) fn announce(&mut self, limit: Announced) {
        self.announced
            .retain(|known| (&known.window, &known.model) != (&limit.window, &limit.model));
        self.announced.push(limit);
        self.announced
            .sort_by(|left, right| (&left.window, &left.model).cmp(&(&right.window, &right.model)));
    }

    /// Takes in what another run was told: the later end counts.
    pub(crate) fn merge(&mut self, others: Vec<Announced>) {
        for other in others {
            let known = self
                .announced
                .iter()
                .find(|known| (&known.window, &known.model) == (&other.window, &other.model));
            if known.is_none_or(|known| known.resets_at < other.resets_at) {
                self.announce(other);
            }
        }
    }

    /// A call of this model was served: what should be over is over. True when something was
    /// forgotten.
    pub(crate) fn served(&mut self, model: &str, now: i64) -> bool {
        let before = self.announced.len();
        self.announced.retain(|limit| {
            !limit.holds_for(model) || (limit.resets_at > now && limit.is_believable(now))
        });
        self.announced.len() != before
    }

    /// The limits, by window and model.
    pub(crate) fn all(&self) -> &[Announced] {
        &self.announced
    }
}

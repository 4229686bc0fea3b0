//! What a caller may ask of the calls of a run, and what of it a model takes.

use std::collections::BTreeSet;

/// Settings of the calls of a run. A backend sends only those that the model takes; see
/// [`Abilities::unsent`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallSettings {
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// The share of probable tokens to sample from, 0 to 1.
    pub top_p: Option<f64>,
    /// The longest answer in tokens; a longer one ends the run.
    pub max_output: Option<u64>,
    /// How much the model thinks; as the backend decides if absent.
    pub thinking: Option<ThinkingSetting>,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThinkingSetting {
    /// As little as the model allows.
    Off,
    /// At most this many tokens; raised to the least that the provider accepts.
    Budget(u32),
    /// A level in the provider's spelling, such as `high`.
    Effort(String),
}

/// One of the [`CallSettings`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallSetting {
    Temperature,
    TopP,
    MaxOutput,
    Thinking,
}

/// One thing that a model of a backend takes from its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    /// A limit of the answer.
    OutputLimit,
    /// A temperature or a share of probable tokens, while the model does not think.
    Sampling,
    /// A temperature and a share of probable tokens in one request.
    JointSampling,
    /// The model thinks unless it is told otherwise.
    Thinks,
    /// Less thinking.
    ThinkingOff,
    /// A number of tokens for thinking.
    ThinkingBudget,
}

/// What the model of a role takes from its caller. A backend that takes nothing has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    pub has: BTreeSet<Ability>,
    /// The accepted levels of thinking, weakest first.
    pub efforts: Vec<String>,
}

impl Abilities {
    /// Returns whether the model takes this.
    pub fn has(&self, ability: Ability) -> bool {
        self.has.contains(&ability)
    }

    /// Returns the settings that are sent. Sampling values are not sent to a model that thinks.
    pub fn accepted(&self, settings: &CallSettings) -> CallSettings {
        let thinking = settings.thinking.clone().filter(|wanted| match wanted {
            ThinkingSetting::Off => self.has(Ability::ThinkingOff),
            ThinkingSetting::Budget(_) => self.has(Ability::ThinkingBudget),
            ThinkingSetting::Effort(effort) => self.efforts.contains(effort),
        });
        let thinks = match &thinking {
            Some(ThinkingSetting::Off) => false,
            Some(_) => true,
            None => self.has(Ability::Thinks),
        };
        let samples = self.has(Ability::Sampling) && !thinks;
        let temperature = settings.temperature.filter(|_| samples);
        let joint = temperature.is_none() || self.has(Ability::JointSampling);
        CallSettings {
            temperature,
            top_p: settings.top_p.filter(|_| samples && joint),
            max_output: settings
                .max_output
                .filter(|_| self.has(Ability::OutputLimit)),
            thinking,
        }
    }

    /// Returns the settings that are not sent, in the order of the fields.
    pub fn unsent(&self, settings: &CallSettings) -> Vec<CallSetting> {
        let sent = self.accepted(settings);
        [
            (
                CallSetting::Temperature,
                sent.temperature != settings.temperature,
            ),
            (CallSetting::TopP, sent.top_p != settings.top_p),
            (
                CallSetting::MaxOutput,
                sent.max_output != settings.max_output,
            ),
            (CallSetting::Thinking, sent.thinking != settings.thinking),
        ]
        .into_iter()
        .filter_map(|(setting, differs)| differs.then_some(setting))
        .collect()
    }
}

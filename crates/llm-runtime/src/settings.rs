//! What a caller may ask of the calls of a run, and what a model accepts.

use std::collections::BTreeSet;

/// A backend sends only what the model takes; see [`Abilities::unsent`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallSettings {
    pub temperature: Option<f64>,
    /// Share of probable tokens to sample from, 0 to 1.
    pub top_p: Option<f64>,
    /// The longest answer in tokens; a longer one ends the run.
    pub max_output: Option<u64>,
    /// How much the model thinks; as the backend decides if absent.
    pub thinking: Option<ThinkingSetting>,
}

/// How much a model thinks before it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThinkingSetting {
    /// The model thinks as little as it can.
    Off,
    /// A number of tokens, raised to the provider's minimum.
    Budget(u32),
    /// A level in the provider's spelling, such as `high`.
    Effort(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallSetting {
    Temperature,
    TopP,
    MaxOutput,
    Thinking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ability {
    OutputLimit,
    /// A temperature or a share of probable tokens, unless the model thinks.
    Sampling,
    /// Both of them in one request.
    JointSampling,
    /// The model thinks by default.
    Thinks,
    ThinkingOff,
    /// Thinking can be limited in tokens.
    ThinkingBudget,
    /// Messages can be added or replaced between two steps of a run.
    BetweenSteps,
}

/// What the model of a role accepts; empty for a backend that takes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    pub has: BTreeSet<Ability>,
    /// The accepted levels of thinking, weakest first.
    pub efforts: Vec<String>,
    /// Tokens of the context window, if known.
    pub window: Option<u64>,
}

impl Abilities {
    pub fn has(&self, ability: Ability) -> bool {
        self.has.contains(&ability)
    }

    /// Returns the settings that are sent. A model that thinks gets no sampling values.
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

//! Call settings and model abilities.

use std::collections::BTreeSet;

/// Settings of a call. A backend sends only supported ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallSettings {
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    pub top_p: Option<f64>,
    /// Maximum tokens; a longer answer ends the run.
    pub max_output: Option<u64>,
    pub thinking: Option<ThinkingSetting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThinkingSetting {
    /// As little as possible.
    Off,
    /// Tokens, raised to the provider's minimum.
    Budget(u32),
    /// In the provider's spelling, such as `high`.
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
    /// Temperature or `top_p`, unless the model thinks.
    Sampling,
    /// Both in one request.
    JointSampling,
    Thinks,
    ThinkingOff,
    /// A limit in tokens.
    ThinkingBudget,
    /// Messages can be added or replaced between steps.
    BetweenSteps,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abilities {
    pub has: BTreeSet<Ability>,
    /// Weakest first.
    pub efforts: Vec<String>,
    /// Context window in tokens.
    pub window: Option<u64>,
}

impl Abilities {
    pub fn has(&self, ability: Ability) -> bool {
        self.has.contains(&ability)
    }

    /// Returns the settings to send. A thinking model gets no sampling values.
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

    /// Returns the settings not sent, in field order.
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

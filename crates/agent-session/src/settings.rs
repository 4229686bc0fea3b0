//! Model settings of an agent (HOLO-03, C-14).

use ktx_llm_runtime::{Abilities, Ability, CallSetting, CallSettings, ThinkingSetting};
use serde::{Deserialize, Serialize};

/// Model settings, named as in the agent file. Absent ones are the backend's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Maximum tokens of one model message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<AgentThinking>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentThinking {
    Off,
    Budget(u32),
}

impl AgentSettings {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the settings for a model. A model with adaptive thinking gets no budget.
    pub fn for_model(&self, abilities: &Abilities) -> CallSettings {
        let adaptive = self.is_adaptive(abilities);
        let thinking = self.thinking.filter(|_| !adaptive);
        CallSettings {
            temperature: self.temperature,
            top_p: self.top_p,
            max_output: self.max_tokens,
            thinking: thinking.map(|thinking| match thinking {
                AgentThinking::Off => ThinkingSetting::Off,
                AgentThinking::Budget(tokens) => ThinkingSetting::Budget(tokens),
            }),
        }
    }

    /// Returns the agent file's keys that the model does not support.
    pub fn refused(&self, abilities: &Abilities) -> Vec<&'static str> {
        let unsent = abilities.unsent(&self.for_model(abilities));
        let mut keys: Vec<&'static str> = unsent
            .into_iter()
            .map(|setting| match setting {
                CallSetting::Temperature => "model.temperature",
                CallSetting::TopP => "model.top_p",
                CallSetting::MaxOutput => "model.max_tokens",
                CallSetting::Thinking => "claude.extended_thinking",
            })
            .collect();
        if self.is_adaptive(abilities) {
            keys.push("claude.extended_thinking.budget_tokens");
        }
        keys
    }

    fn is_adaptive(&self, abilities: &Abilities) -> bool {
        matches!(self.thinking, Some(AgentThinking::Budget(_)))
            && abilities.has(Ability::Thinks)
            && !abilities.has(Ability::ThinkingBudget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: AgentSettings = AgentSettings {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_tokens: Some(500),
        thinking: Some(AgentThinking::Budget(2000)),
    };

    fn able(has: &[Ability]) -> Abilities {
        Abilities {
            has: has.iter().copied().collect(),
            ..Abilities::default()
        }
    }

    /// HOLO-03, C-14.
    #[test]
    fn settings_follow_the_abilities_of_the_model() {
        let nothing = able(&[]);
        assert_eq!(
            ALL.refused(&nothing),
            [
                "model.temperature",
                "model.top_p",
                "model.max_tokens",
                "claude.extended_thinking"
            ]
        );
        let adaptive = able(&[Ability::OutputLimit, Ability::Sampling, Ability::Thinks]);
        assert_eq!(ALL.for_model(&adaptive).thinking, None);
        assert_eq!(
            ALL.refused(&adaptive),
            [
                "model.temperature",
                "model.top_p",
                "claude.extended_thinking.budget_tokens"
            ]
        );
        let budget = able(&[Ability::OutputLimit, Ability::ThinkingBudget]);
        assert_eq!(
            ALL.for_model(&budget).thinking,
            Some(ThinkingSetting::Budget(2000))
        );
        assert_eq!(ALL.refused(&budget), ["model.temperature", "model.top_p"]);
        let calm = AgentSettings {
            thinking: Some(AgentThinking::Off),
            ..ALL
        };
        let sampling = able(&[
            Ability::OutputLimit,
            Ability::Sampling,
            Ability::JointSampling,
            Ability::Thinks,
            Ability::ThinkingOff,
        ]);
        assert_eq!(calm.refused(&sampling), Vec::<&str>::new());
    }
}

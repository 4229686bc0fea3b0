//! Allowed calls (KODE-61): a pure function of rules, tool and arguments.

mod pattern;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::Effect;

pub use pattern::RuleError;

/// The verdict on calls without a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Auto,
    #[default]
    Approval,
    /// Allows known read-only tools.
    Readonly,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rule {
    /// A name with `*`, or a group: `@read`, `@write`, `@all`, `@mcp:<server>`.
    Tool(String),
    Arguments {
        /// As above.
        tool: String,
        /// All must match.
        args: Map<String, Value>,
    },
}

/// The rules of an agent. Deny goes before allow, allow before ask, ask before the mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Permissions {
    pub mode: Mode,
    pub deny: Vec<Rule>,
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    /// Seconds until a waiting call expires; never if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    pub on_expiry: OnExpiry,
}

/// The effect of an expired decision on the turn. The call is always denied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExpiry {
    /// The turn continues.
    #[default]
    Deny,
    Fail,
}

impl Default for Permissions {
    fn default() -> Self {
        Self {
            mode: Mode::Approval,
            deny: Vec::new(),
            allow: vec![Rule::Tool("@read".to_owned())],
            ask: Vec::new(),
            expires: None,
            on_expiry: OnExpiry::Deny,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// The model sees the reason.
    Deny(String),
    Ask,
}

#[derive(Debug, Clone, Copy)]
pub struct ToolRequest<'a> {
    pub tool: &'a str,
    pub effect: Effect,
    pub input: &'a Value,
}

impl Permissions {
    pub fn verdict(&self, wanted: ToolRequest<'_>) -> Verdict {
        let matches = |rules: &[Rule]| rules.iter().any(|rule| rule.covers(wanted));
        if let Some(rule) = self.deny.iter().find(|rule| rule.covers(wanted)) {
            return Verdict::Deny(format!("a rule forbids it: `{}`", rule.tool()));
        }
        if self.mode == Mode::Readonly && wanted.effect == Effect::Writes {
            return Verdict::Deny("the agent may only read".to_owned());
        }
        if matches(&self.allow) {
            return Verdict::Allow;
        }
        if matches(&self.ask) {
            return Verdict::Ask;
        }
        match self.mode {
            Mode::Auto | Mode::Readonly => Verdict::Allow,
            Mode::Approval => Verdict::Ask,
        }
    }

    /// Returns the first invalid rule as an error.
    pub fn check(&self) -> Result<(), RuleError> {
        let mut rules = self.deny.iter().chain(&self.allow).chain(&self.ask);
        rules.try_for_each(Rule::check)
    }
}

impl Rule {
    fn tool(&self) -> &str {
        match self {
            Self::Tool(tool) | Self::Arguments { tool, .. } => tool,
        }
    }

    fn check(&self) -> Result<(), RuleError> {
        pattern::check_tool(self.tool())?;
        match self {
            Self::Tool(_) => Ok(()),
            Self::Arguments { args, .. } => args
                .values()
                .try_for_each(|matcher| pattern::matcher_of(matcher).map(drop)),
        }
    }

    /// A rule with an invalid matcher covers nothing; [`Permissions::check`] reports it before.
    fn covers(&self, wanted: ToolRequest<'_>) -> bool {
        if !pattern::names(self.tool(), wanted.tool, wanted.effect) {
            return false;
        }
        match self {
            Self::Tool(_) => true,
            Self::Arguments { args, .. } => args.iter().all(|(name, expected)| {
                let actual = wanted.input.get(name);
                let matcher = pattern::matcher_of(expected).ok();
                actual.is_some_and(|actual| matcher.is_some_and(|it| it.matches(actual)))
            }),
        }
    }
}

#[cfg(test)]
mod tests;

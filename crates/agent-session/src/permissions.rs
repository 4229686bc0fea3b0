//! Which calls may begin (KODE-61): a pure function of the rules, the tool and its arguments.

mod pattern;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::Effect;

pub use pattern::RuleError;

/// What happens to a call that no rule names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It runs.
    Auto,
    /// Somebody is asked.
    #[default]
    Approval,
    /// It runs if its tool is known to only read.
    Readonly,
}

/// A rule: the tools that it names and, if given, the arguments that it is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rule {
    /// A name with `*`, or a group: `@read`, `@write`, `@all`, `@mcp:<server>`.
    Tool(String),
    Arguments {
        /// As above.
        tool: String,
        /// Arguments that must match, by name.
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
    /// Seconds that a call waits for a decision; without end if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// What happens then.
    pub on_expiry: OnExpiry,
}

/// What happens when a call has waited too long for a decision. Either way the call is denied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExpiry {
    /// The model learns of it and continues.
    #[default]
    Deny,
    /// The turn ends.
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

/// What the rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// The reason is shown to the model.
    Deny(String),
    Ask,
}

/// A call that wants to begin.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The tool.
    pub tool: &'a str,
    pub effect: Effect,
    /// The arguments.
    pub input: &'a Value,
}

impl Permissions {
    /// Decides about a call.
    pub fn verdict(&self, wanted: Wanted<'_>) -> Verdict {
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

    /// Checks the rules themselves.
    ///
    /// # Errors
    /// The first rule that can never be understood.
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

    /// A rule whose matcher is wrong covers nothing; [`Permissions::check`] finds it before a run.
    fn covers(&self, wanted: Wanted<'_>) -> bool {
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

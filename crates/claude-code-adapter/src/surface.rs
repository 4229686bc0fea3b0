//! Checks account and surface before the first token counts (KTX-30…32).

use ktx_llm_runtime::{LlmError, LlmErrorKind};
use serde_json::Value;

use crate::environment::Substitution;
use crate::invocation::Query;
use crate::outcome::not_usable;
use crate::protocol::{InitFrame, Plugin};
use crate::versions::{is_older, too_old, use_a_tested_version};

/// No key, or the user's own login in Claude Code.
const OWN_SESSION: &[&str] = &["none", "/login managed key"];

const OURS: &str = "sdk";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PayingAccount {
    pub(crate) payer: String,
    pub(crate) is_metered: bool,
}

impl PayingAccount {
    /// Bills must not surprise.
    pub(crate) fn warning(&self) -> Option<String> {
        let text = "Claude Code is logged in with an Anthropic Console account: its calls are billed at API prices";
        self.is_metered.then(|| text.to_owned())
    }
}

pub(crate) fn usual_payer() -> String {
    "your Claude subscription through the local Claude Code session".to_owned()
}

/// Only the user's own session may pay. Runs before the prompt, so that a refused account costs
/// nothing.
pub(crate) fn checked_account(account: &Value) -> Result<PayingAccount, LlmError> {
    let field = |key: &str| account.get(key).and_then(Value::as_str);
    let source = field("apiKeySource");
    if let Some(source) = source
        && !OWN_SESSION.contains(&source)
    {
        return Err(foreign_key(source));
    }
    if let Some(provider) = field("apiProvider")
        && provider != "firstParty"
    {
        return Err(LlmError::new(
            LlmErrorKind::Billing,
            "Claude Code would send the prompt to another provider than your local session's",
        )
        .hint("remove the provider from the Claude Code configuration, or choose another `llm.provider.backend`")
        .detail(format!("apiProvider is {provider}")));
    }
    let session = "through the local Claude Code session";
    let is_metered = source == Some("/login managed key");
    let payer = if is_metered {
        format!("your Anthropic Console account, at API prices, {session}")
    } else if field("tokenSource") == Some("none") {
        return Err(not_usable().detail("tokenSource is none"));
    } else if let Some(plan) = field("subscriptionType").filter(|plan| is_plain(plan)) {
        format!("your {plan} subscription {session}")
    } else if field("tokenSource") == Some("CLAUDE_CODE_OAUTH_TOKEN") {
        format!("the Claude subscription of `CLAUDE_CODE_OAUTH_TOKEN` {session}")
    } else {
        usual_payer()
    };
    Ok(PayingAccount { payer, is_metered })
}

fn foreign_key(source: &str) -> LlmError {
    LlmError::new(
        LlmErrorKind::Billing,
        "Claude Code would bill an API key instead of your local session",
    )
    .hint(
        "remove the key from the Claude Code configuration, or use it with the backend `anthropic`",
    )
    .detail(format!("apiKeySource is {source}"))
}

pub(crate) fn hook_warning(event: &str) -> String {
    format!(
        "{} runs inside each call and may change what the model reads",
        hook_text(event)
    )
}

pub(crate) fn hook_error(event: &str) -> LlmError {
    LlmError::new(
        LlmErrorKind::Isolation,
        format!(
            "{} runs inside the call; ktx discarded the answer",
            hook_text(event)
        ),
    )
    .hint("ask the administrator to remove the hook from the managed settings of Claude Code, or set `llm.provider.isolation` to `warn`")
}

fn hook_text(event: &str) -> String {
    let is_name = event.chars().all(|letter| letter.is_ascii_alphabetic());
    let event = if is_name && (1..=40).contains(&event.len()) {
        format!(" (`{event}`)")
    } else {
        String::new()
    };
    format!("a hook{event} from the Claude Code settings of this machine")
}

fn is_plain(plan: &str) -> bool {
    (1..=40).contains(&plan.len())
        && plan
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == ' ')
}

/// Harmless additions are warnings.
pub(crate) fn checked_surface(init: &InitFrame, query: &Query) -> Result<Vec<String>, LlmError> {
    if is_older(&init.version) {
        return Err(too_old(Some(&init.version)));
    }
    checked_servers(init, query)?;
    let mut tools = (init.tools.clone()).ok_or_else(|| absent("tools"))?;
    tools.sort();
    let expected = query.expected_tools();
    if tools != expected {
        return Err(violation("tools", &expected, &tools));
    }
    let plugins = (init.plugins.as_ref()).ok_or_else(|| absent("plugins"))?;
    let foreign: Vec<&str> = plugins
        .iter()
        .filter(|plugin| !is_built_in(plugin))
        .map(|plugin| &*plugin.name)
        .collect();
    if !foreign.is_empty() {
        return Err(violation::<&str>("plugins", &[], &foreign));
    }
    if init.permission_mode != "dontAsk" {
        return Err(violation(
            "permission mode",
            &["dontAsk"],
            &[&*init.permission_mode],
        ));
    }
    if let Some(source) = init.api_key_source.as_deref()
        && !OWN_SESSION.contains(&source)
    {
        return Err(foreign_key(source));
    }
    Ok(plugins
        .iter()
        .map(|plugin| plugin_warning(&plugin.name))
        .collect())
}

/// The host can have one of the same name.
fn checked_servers(init: &InitFrame, query: &Query) -> Result<(), LlmError> {
    let servers = (init.servers.as_ref()).ok_or_else(|| absent("tool servers"))?;
    let names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
    if names != query.expected_servers() {
        return Err(violation("tool servers", &query.expected_servers(), &names));
    }
    for server in servers {
        if server.status != "connected" {
            let found = [&server.status];
            return Err(violation("connected tool server", &["connected"], &found));
        }
        if let Some(source) = server.source.as_deref().filter(|source| *source != OURS) {
            return Err(violation("tool server", &[OURS], &[source]));
        }
    }
    Ok(())
}

/// The name comes from outside, so only a plain one is shown.
fn plugin_warning(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if (1..=64).contains(&name.len()) && name.chars().all(plain) {
        format!("Claude Code keeps its built-in plugin `{name}` on")
    } else {
        "Claude Code keeps a built-in plugin on".to_owned()
    }
}

fn is_built_in(plugin: &Plugin) -> bool {
    let source = plugin.source.as_deref();
    plugin.path == "builtin" && source.is_none_or(|source| source.ends_with("@builtin"))
}

pub(crate) fn too_early() -> LlmError {
    LlmError::new(
        LlmErrorKind::Isolation,
        "Claude Code answered before it reported what the model can reach; ktx discarded the answer",
    )
    .hint("update Claude Code, then run the command again")
}

pub(crate) fn no_session(reason: &str) -> LlmError {
    LlmError::new(
        LlmErrorKind::Protocol,
        "Claude Code refused to start the session",
    )
    .hint(use_a_tested_version())
    .detail(reason)
}

fn absent(what: &str) -> LlmError {
    violation::<&str>(what, &["a list"], &["none"])
}

fn violation<T: AsRef<str>>(what: &str, expected: &[T], found: &[impl AsRef<str>]) -> LlmError {
    let expected: Vec<&str> = expected.iter().map(AsRef::as_ref).collect();
    let found: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
    LlmError::new(
        LlmErrorKind::Isolation,
        format!("Claude Code did not start with the {what} that ktx requested; ktx discarded the answer"),
    )
    .hint("update Claude Code; if the error stays, report it with the output of the command under `--debug`")
    .detail(format!("expected {expected:?}, found {found:?}"))
}

/// An alias allows its family, an id only itself.
pub(crate) fn substituted(query: &Query, asked: &str, by: &str) -> Result<String, LlmError> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.@[]".contains(letter);
    let named = |model: &str| {
        let is_name = (1..=80).contains(&model.len()) && model.chars().all(plain);
        if is_name {
            format!("`{model}`")
        } else {
            "another model".to_owned()
        }
    };
    let (asked, by) = (named(asked), named(by));
    if query.substitution() == Substitution::Refused {
        let message = format!("Claude Code would use {by} instead of {asked}");
        return Err(LlmError::new(LlmErrorKind::ModelNotFound, message)
            .hint("set `llm.models` to `sonnet`, `opus`, `haiku` or a model id of your plan"));
    }
    Ok(format!(
        "`{}` is answered by {by}: {asked} is not available to this Claude account",
        query.model()
    ))
}

#[cfg(test)]
mod tests;

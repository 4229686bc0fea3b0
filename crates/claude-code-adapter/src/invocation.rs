//! One query, always with the whole isolation tuple (KTX-20…34).

use ktx_llm_runtime::{LlmError, Patience};
use ktx_tool_descriptors::{ObjectSchema, ToolError, ToolSet, handler_fn};
use serde_json::{Value, json};

use crate::environment::{Compaction, Substitution};
use crate::mcp::{SERVER, listed, tool_id};
use crate::outcome::{no_object, out_of_turns};

/// In case a version ignores that all are disabled (KTX-29).
pub(crate) const DISALLOWED_TOOLS: &str = "Agent,Task,AskUserQuestion,Bash,Read,Edit,Write,Glob,\
Grep,WebFetch,WebSearch,TodoWrite";

/// Newer versions have built-in plugins (KTX-32).
pub(crate) const SETTINGS: &str = concat!(
    r#"{"enabledPlugins":{"cc-plugin-agents-md@builtin":false,"cc-plugin-privacy@builtin":false,"#,
    r#""cc-plugin-plugin-authoring@builtin":false,"cc-plugin-telemetry@builtin":false,"#,
    r#""cc-plugin-sec-default@builtin":false}}"#
);

/// The program inspects the last block for files and commands, so it must not be untrusted.
pub(crate) const LAST_BLOCK: &str = "Follow the instructions above.";

/// On some versions accepted and rejected objects cost a turn (KTX-33).
pub(crate) const OBJECT_TURNS: u32 = 5;

pub(crate) const OBJECT_TOOL: &str = "StructuredOutput";

/// Denies foreign tools.
pub(crate) const GATE_HOOK: &str = "gate";

pub(crate) const FAILURE_HOOK: &str = "failure";

#[derive(Debug, Clone)]
pub(crate) enum QueryPurpose {
    Text,
    Probe(Patience),
    Object(ObjectSchema),
    Loop { tools: ToolSet, budget: u32 },
}

#[derive(Debug, Clone)]
pub(crate) struct Query {
    model: String,
    system: String,
    prompt: String,
    title: String,
    purpose: QueryPurpose,
}

impl Query {
    /// The only constructor.
    pub(crate) fn new(
        purpose: QueryPurpose,
        model: &str,
        system: String,
        prompt: String,
        stage: &str,
    ) -> Self {
        Self {
            model: model.to_owned(),
            system,
            prompt,
            title: format!("ktx {stage}").trim_end().to_owned(),
            purpose,
        }
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.system.len() + self.prompt.len()
    }

    pub(crate) fn tools(&self) -> ToolSet {
        match &self.purpose {
            QueryPurpose::Loop { tools, .. } => tools.clone(),
            QueryPurpose::Text | QueryPurpose::Probe(_) | QueryPurpose::Object(_) => {
                ToolSet::default()
            }
        }
    }

    pub(crate) fn schema(&self) -> Option<&ObjectSchema> {
        match &self.purpose {
            QueryPurpose::Object(schema) => Some(schema),
            QueryPurpose::Text | QueryPurpose::Probe(_) | QueryPurpose::Loop { .. } => None,
        }
    }

    pub(crate) fn max_turns(&self) -> u32 {
        match &self.purpose {
            QueryPurpose::Text | QueryPurpose::Probe(_) => 1,
            QueryPurpose::Object(_) => OBJECT_TURNS,
            QueryPurpose::Loop { budget, .. } => *budget,
        }
    }

    pub(crate) fn out_of_turns(&self) -> LlmError {
        match &self.purpose {
            QueryPurpose::Object(_) => no_object(),
            QueryPurpose::Text | QueryPurpose::Probe(_) | QueryPurpose::Loop { .. } => {
                out_of_turns()
            }
        }
    }

    /// True if the answer is the only effect, except for the probe, which shows a first call.
    pub(crate) fn is_repeatable(&self) -> bool {
        match &self.purpose {
            QueryPurpose::Text
            | QueryPurpose::Object(_)
            | QueryPurpose::Probe(Patience::AsConfigured) => true,
            QueryPurpose::Probe(Patience::None) | QueryPurpose::Loop { .. } => false,
        }
    }

    pub(crate) fn compaction(&self) -> Compaction {
        match &self.purpose {
            QueryPurpose::Loop { .. } => Compaction::Allowed,
            QueryPurpose::Text | QueryPurpose::Probe(_) | QueryPurpose::Object(_) => {
                Compaction::Refused
            }
        }
    }

    /// An alias allows its family, a full id only itself.
    pub(crate) fn substitution(&self) -> Substitution {
        if self.model.starts_with("claude-") {
            Substitution::Refused
        } else {
            Substitution::InFamily
        }
    }

    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    pub(crate) fn patience(&self) -> Patience {
        match &self.purpose {
            QueryPurpose::Probe(patience) => *patience,
            QueryPurpose::Text | QueryPurpose::Object(_) | QueryPurpose::Loop { .. } => {
                Patience::AsConfigured
            }
        }
    }

    pub(crate) fn tool_ids(&self) -> Vec<String> {
        self.tools()
            .iter()
            .map(|tool| tool_id(&tool.name))
            .collect()
    }

    /// Exactly these, sorted.
    pub(crate) fn expected_tools(&self) -> Vec<String> {
        let mut expected = self.tool_ids();
        if self.schema().is_some() {
            expected.push(OBJECT_TOOL.to_owned());
        }
        expected.sort();
        expected
    }

    pub(crate) fn expected_servers(&self) -> Vec<String> {
        if self.tools().is_empty() {
            Vec::new()
        } else {
            vec![SERVER.to_owned()]
        }
    }

    /// No prompt and no schema: argument lists are public on most systems and limited in size.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = [
            "--output-format=stream-json",
            "--input-format=stream-json",
            "--verbose",
            "--include-partial-messages",
            "--no-session-persistence",
            "--setting-sources=",
            "--strict-mcp-config",
            "--tools=",
            "--permission-mode=dontAsk",
            "--permission-prompt-tool=stdio",
        ]
        .map(str::to_owned)
        .to_vec();
        arguments.push(format!("--disallowedTools={DISALLOWED_TOOLS}"));
        let ids = self.tool_ids();
        if !ids.is_empty() {
            arguments.push(format!("--allowedTools={}", ids.join(",")));
        }
        arguments.push(format!("--settings={SETTINGS}"));
        arguments.push(format!("--max-turns={}", self.max_turns()));
        arguments.push(format!("--model={}", self.model));
        arguments
    }

    /// Older versions silently ignore a list as system prompt. A string cannot mark a shared cache
    /// prefix (KTX-82).
    pub(crate) fn initialize(&self) -> Value {
        let mut request = json!({
            "subtype": "initialize",
            "systemPrompt": self.system,
            "skills": [],
            "title": self.title,
            "hooks": {
                "PreToolUse": [self.gate_hook()],
                "PostToolUseFailure": [{ "hookCallbackIds": [FAILURE_HOOK] }],
            },
        });
        if let Some(map) = request.as_object_mut() {
            if !self.tools().is_empty() {
                map.insert("sdkMcpServers".to_owned(), json!([SERVER]));
            }
            if let Some(schema) = self.schema() {
                map.insert("jsonSchema".to_owned(), schema.as_value().clone());
            }
        }
        request
    }

    /// Denied calls cost nothing.
    fn gate_hook(&self) -> Value {
        let expected = self.expected_tools();
        if expected.is_empty() {
            json!({ "hookCallbackIds": [GATE_HOOK] })
        } else {
            let matcher = format!("^(?!(?:{})$)", expected.join("|"));
            json!({ "matcher": matcher, "hookCallbackIds": [GATE_HOOK] })
        }
    }

    /// Queries with the same text can use each other's child.
    pub(crate) fn kind(&self) -> String {
        let compaction = self.compaction() == Compaction::Allowed;
        json!([
            self.arguments(),
            self.initialize(),
            listed(&self.tools()),
            compaction
        ])
        .to_string()
    }

    /// `None` for the probe, which shows a first call.
    pub(crate) fn waiting(&self) -> Option<Self> {
        let purpose = match &self.purpose {
            QueryPurpose::Probe(_) => return None,
            QueryPurpose::Text => QueryPurpose::Text,
            QueryPurpose::Object(schema) => QueryPurpose::Object(schema.clone()),
            QueryPurpose::Loop { tools, budget } => QueryPurpose::Loop {
                tools: without_handlers(tools),
                budget: *budget,
            },
        };
        Some(Self {
            model: self.model.clone(),
            system: self.system.clone(),
            prompt: String::new(),
            title: self.title.clone(),
            purpose,
        })
    }

    pub(crate) fn prompt_line(&self) -> Value {
        json!({
            "type": "user",
            "session_id": "",
            "parent_tool_use_id": null,
            "client_composed": true,
            "message": {
                "role": "user",
                "content": [
                    { "type": "text", "text": self.prompt },
                    { "type": "text", "text": LAST_BLOCK },
                ],
            },
        })
    }
}

fn without_handlers(tools: &ToolSet) -> ToolSet {
    let nothing = handler_fn(|_, _| Err(ToolError::new("there is no call yet")));
    tools.with_handlers(|_| std::sync::Arc::clone(&nothing))
}

#[cfg(test)]
mod tests;

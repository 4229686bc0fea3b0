//! What one query is started with: the argument list, the `initialize` request and the prompt.
//!
//! Every query of the adapter is a [`Query`], made by [`Query::new`] alone, and every `Query`
//! carries the whole isolation tuple (KTX-20…34).

use ktx_llm_runtime::{LlmError, Patience};
use ktx_tool_descriptors::{ObjectSchema, ToolError, ToolSet, handler_fn};
use serde_json::{Value, json};

use crate::environment::{Compaction, Substitution};
use crate::mcp::{SERVER, listed, tool_id};
use crate::outcome::{no_object, out_of_turns};

/// Built-in tools that stay off even if a version forgets that all of them are (KTX-29).
pub(crate) const DISALLOWED_TOOLS: &str = "Agent,Task,AskUserQuestion,Bash,Read,Edit,Write,Glob,\
Grep,WebFetch,WebSearch,TodoWrite";

/// Switches off the plugins that are built into newer versions (KTX-32).
pub(crate) const SETTINGS: &str = concat!(
    r#"{"enabledPlugins":{"cc-plugin-agents-md@builtin":false,"cc-plugin-privacy@builtin":false,"#,
    r#""cc-plugin-plugin-authoring@builtin":false,"cc-plugin-telemetry@builtin":false,"#,
    r#""cc-plugin-sec-default@builtin":false}}"#
);

/// Ends every prompt, so that the block with untrusted text is never the one that is inspected for
/// file references and commands.
pub(crate) const LAST_BLOCK: &str = "Follow the instructions above.";

/// Turns of an object query: the accepted object costs one more turn on some versions and each
/// rejected one another (KTX-33).
pub(crate) const OBJECT_TURNS: u32 = 5;

/// The tool through which the child accepts an object.
pub(crate) const OBJECT_TOOL: &str = "StructuredOutput";

/// The id of the gate over tools that are not ours.
pub(crate) const GATE_HOOK: &str = "gate";

/// The id of the hook that reports failed calls.
pub(crate) const FAILURE_HOOK: &str = "failure";

/// What a query is for.
#[derive(Debug, Clone)]
pub(crate) enum Purpose {
    /// One text answer without tools.
    Text,
    /// The probe: as text.
    Probe(Patience),
    /// One object.
    Object(ObjectSchema),
    /// Turns and tool calls; also the purpose of a run.
    Loop {
        /// The tools, all of them ours.
        tools: ToolSet,
        /// Turns allowed.
        budget: u32,
    },
}

/// Everything that one child is asked to do.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    model: String,
    system: String,
    prompt: String,
    title: String,
    purpose: Purpose,
}

impl Query {
    /// Makes a query. There is no other way to make one, and no way to start a child without one.
    pub(crate) fn new(
        purpose: Purpose,
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

    /// How much text is sent, in bytes.
    pub(crate) const fn bytes(&self) -> usize {
        self.system.len() + self.prompt.len()
    }

    /// The tools that the child may see.
    pub(crate) fn tools(&self) -> ToolSet {
        match &self.purpose {
            Purpose::Loop { tools, .. } => tools.clone(),
            Purpose::Text | Purpose::Probe(_) | Purpose::Object(_) => ToolSet::default(),
        }
    }

    /// The schema of the object that is asked for.
    pub(crate) fn schema(&self) -> Option<&ObjectSchema> {
        match &self.purpose {
            Purpose::Object(schema) => Some(schema),
            Purpose::Text | Purpose::Probe(_) | Purpose::Loop { .. } => None,
        }
    }

    /// Turns allowed (KTX-33).
    pub(crate) fn max_turns(&self) -> u32 {
        match &self.purpose {
            Purpose::Text | Purpose::Probe(_) => 1,
            Purpose::Object(_) => OBJECT_TURNS,
            Purpose::Loop { budget, .. } => *budget,
        }
    }

    /// The error of a model that never comes to an end.
    pub(crate) fn out_of_turns(&self) -> LlmError {
        match &self.purpose {
            Purpose::Object(_) => no_object(),
            Purpose::Text | Purpose::Probe(_) | Purpose::Loop { .. } => out_of_turns(),
        }
    }

    /// Whether the call may be made twice: nothing but an answer comes of it. A person who probes sees how a
    /// first call goes.
    pub(crate) fn is_repeatable(&self) -> bool {
        match &self.purpose {
            Purpose::Text | Purpose::Object(_) | Purpose::Probe(Patience::AsConfigured) => true,
            Purpose::Probe(Patience::None) | Purpose::Loop { .. } => false,
        }
    }

    /// Whether the child may summarise.
    pub(crate) fn compaction(&self) -> Compaction {
        match &self.purpose {
            Purpose::Loop { .. } => Compaction::Allowed,
            Purpose::Text | Purpose::Probe(_) | Purpose::Object(_) => Compaction::Refused,
        }
    }

    /// Whether another model may answer: an alias stands for what of its family the account can use,
    /// a full model id for itself.
    pub(crate) fn substitution(&self) -> Substitution {
        if self.model.starts_with("claude-") {
            Substitution::Refused
        } else {
            Substitution::InFamily
        }
    }

    /// The model that is asked for.
    pub(crate) fn model(&self) -> &str {
        &self.model
    }

    /// How long the call may wait for a limit.
    pub(crate) fn patience(&self) -> Patience {
        match &self.purpose {
            Purpose::Probe(patience) => *patience,
            Purpose::Text | Purpose::Object(_) | Purpose::Loop { .. } => Patience::AsConfigured,
        }
    }

    /// The full ids of the tools that may be called, sorted.
    pub(crate) fn tool_ids(&self) -> Vec<String> {
        self.tools()
            .iter()
            .map(|tool| tool_id(&tool.name))
            .collect()
    }

    /// Every tool that the child must list, and nothing else: sorted.
    pub(crate) fn expected_tools(&self) -> Vec<String> {
        let mut expected = self.tool_ids();
        if self.schema().is_some() {
            expected.push(OBJECT_TOOL.to_owned());
        }
        expected.sort();
        expected
    }

    /// The servers that the child must list.
    pub(crate) fn expected_servers(&self) -> Vec<String> {
        if self.tools().is_empty() {
            Vec::new()
        } else {
            vec![SERVER.to_owned()]
        }
    }

    /// The argument list. Holds nothing of the prompt, the system prompt or a schema: argument
    /// lists are public on most systems and limited in size.
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

    /// The body of the `initialize` request. The system prompt is one text: older versions pass over
    /// a list of blocks without a word and use their own. So no prefix of it is marked as cacheable
    /// for everybody (KTX-82): that takes a list.
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

    /// The hook that is asked about every tool but the expected ones; their calls cost nothing.
    fn gate_hook(&self) -> Value {
        let expected = self.expected_tools();
        if expected.is_empty() {
            json!({ "hookCallbackIds": [GATE_HOOK] })
        } else {
            let matcher = format!("^(?!(?:{})$)", expected.join("|"));
            json!({ "matcher": matcher, "hookCallbackIds": [GATE_HOOK] })
        }
    }

    /// Everything that a child is told before its prompt, as one text: two queries with the same
    /// text can take each other's child. The rest of the environment is the same for all children
    /// of a runtime.
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

    /// The query of a child that waits: of the same kind, without a prompt and without what stands
    /// behind the caller's tools. The probe has none, for it shows how a first call goes.
    pub(crate) fn waiting(&self) -> Option<Self> {
        let purpose = match &self.purpose {
            Purpose::Probe(_) => return None,
            Purpose::Text => Purpose::Text,
            Purpose::Object(schema) => Purpose::Object(schema.clone()),
            Purpose::Loop { tools, budget } => Purpose::Loop {
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

    /// The prompt line.
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

/// The same tools with nothing behind them.
fn without_handlers(tools: &ToolSet) -> ToolSet {
    let nothing = handler_fn(|_, _| Err(ToolError::new("there is no call yet")));
    tools.with_handlers(|_| std::sync::Arc::clone(&nothing))
}

#[cfg(test)]
mod tests;

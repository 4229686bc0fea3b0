//! Agents from `agents/<name>.yaml`.

use std::collections::BTreeMap;

use ktx_agent_file::{
    AgentFile, ArgumentMatcher, Capabilities, Model, PermissionMode, Tool, ToolKind,
    ToolPermission, ToolRule,
};
use ktx_agent_session::{
    Agent, AgentModel, AgentSettings, AgentThinking, AgentTool, ContextSettings,
    MOST_ASKED_AT_ONCE, Mode, OnExpiry, Permissions, Rule, Spending, ToolSource,
};
use ktx_diagnostics::{Code, Diagnostics, Failure};
use ktx_secrets::SecretRef;
use ktx_vocabulary::{Backend, ModelRole};
use serde_json::{Map, Value, json};

use super::layer::notes;
use super::{Place, workspace};
use crate::commands::agent::files;
use crate::invocation::{self, CommandContext, OpenProject};
use crate::report::{Outcome, Report as _};

pub(in crate::commands::agent) fn load(name: &str, place: Place<'_>) -> Outcome<Agent> {
    let Place {
        invocation,
        project,
        printer,
    } = place;
    let path = files::named_file(name, invocation, project)?;
    let around = files::surroundings(invocation, project, Capabilities::Refused)?;
    let checked = AgentFile::check(&path, &project.dir, &around);
    let Some(file) = checked.value else {
        return Err(Diagnostics(checked.faults).into());
    };
    for warning in &checked.faults {
        printer.note(&format!("warning: {warning}"));
    }
    agent_of(&file)
}

pub(in crate::commands::agent) fn agent_of(file: &AgentFile) -> Outcome<Agent> {
    let mut permissions = permissions(file);
    let mut tools = Vec::new();
    let mut sources = Vec::new();
    let mut call_limits = BTreeMap::new();
    for tool in &file.tools {
        let rule = || Rule::Tool(tool_pattern(tool));
        match tool.permission {
            Some(ToolPermission::Deny) => permissions.deny.push(rule()),
            Some(ToolPermission::Allow) => permissions.allow.push(rule()),
            // The rule of one tool overrides the groups of the file.
            Some(ToolPermission::Ask) => {
                permissions.allow.retain(|known| !is_group(known));
                permissions.ask.push(rule());
            }
            None => {}
        }
        if tool.timeout_s != Tool::usual_timeout() {
            call_limits.insert(first_part(tool), tool.timeout_s);
        }
        let ktx_name = match &tool.kind {
            ToolKind::Function { tool, .. } => tool.as_str(),
            _ => tool.name.as_str(),
        };
        if ktx_name == notes::NAME {
            call_limits
                .entry(first_part(tool))
                .or_insert(notes::LONGEST);
        }
        let (ktx, arguments) = match &tool.kind {
            ToolKind::Ktx => (&tool.name, Map::new()),
            ToolKind::Function { tool, arguments } => (tool, arguments.clone()),
            ToolKind::Mcp(_)
            | ToolKind::Prompt { .. }
            | ToolKind::Vectorstore(_)
            | ToolKind::HierarchicalDocument(_) => {
                sources.push(source(tool, file)?);
                continue;
            }
        };
        tools.push(AgentTool {
            name: tool.name.clone(),
            tool: ktx.clone(),
            description: tool.description.clone(),
            arguments,
        });
    }
    sources.extend(workspace::source(file)?);
    Ok(Agent {
        name: file.name.clone(),
        instructions: file.instructions.text.clone(),
        file: Some(file.path.display().to_string()),
        model: model(&file.model),
        tools,
        sources,
        max_turns: file.limits.max_turns,
        max_messages: file.limits.messages,
        max_message_chars: file.limits.message_chars,
        call_limits,
        spending: Spending {
            usd: file.limits.max_usd,
            tokens: file.limits.max_tokens,
            minutes: file.limits.max_minutes,
        },
        permissions,
        settings: settings(file),
        context: ContextSettings {
            compress_at: file.context.compress_at,
            target: file.context.target,
            role: file.context.role,
            window: file.context.window,
        },
        todo: file.todo.enabled.then_some(file.todo.remind_every_steps),
        agents: file.agents.clone(),
        max_parallel: usize::try_from(file.max_parallel).unwrap_or(MOST_ASKED_AT_ONCE),
        response_format: file.response_format.clone(),
    })
}

fn settings(file: &AgentFile) -> AgentSettings {
    let thinking = file.claude.as_ref().and_then(|it| it.extended_thinking);
    AgentSettings {
        temperature: file.model.temperature,
        top_p: file.model.top_p,
        max_tokens: file.model.max_tokens,
        thinking: thinking.map(|thinking| {
            if thinking.enabled {
                AgentThinking::Budget(thinking.budget_tokens)
            } else {
                AgentThinking::Off
            }
        }),
    }
}

fn tool_pattern(tool: &Tool) -> String {
    match tool.kind {
        ToolKind::Mcp(_) => format!("@mcp:{}", tool.name),
        _ => tool.name.clone(),
    }
}

fn source(tool: &Tool, file: &AgentFile) -> Outcome<ToolSource> {
    let mut tool = tool.clone();
    if let ToolKind::Vectorstore(search) | ToolKind::HierarchicalDocument(search) = &mut tool.kind {
        search.embeddings = file.embedding_provider.clone().map(Box::new);
    }
    let settings = serde_json::to_value(&tool);
    Ok(ToolSource {
        name: tool.name,
        settings: settings.map_err(|error| Failure::from_error(Code::Internal, &error))?,
    })
}

fn first_part(tool: &Tool) -> String {
    match tool.kind {
        ToolKind::Mcp(_) => format!("mcp__{}__", tool.name),
        _ => tool.name.clone(),
    }
}

fn is_group(rule: &Rule) -> bool {
    matches!(rule, Rule::Tool(tool) if tool.starts_with('@'))
}

fn permissions(file: &AgentFile) -> Permissions {
    let given = &file.permissions;
    let rules = |rules: &[ToolRule]| rules.iter().map(rule_of).collect();
    Permissions {
        mode: match given.mode {
            PermissionMode::Auto => Mode::Auto,
            PermissionMode::Approval => Mode::Approval,
            PermissionMode::Readonly => Mode::Readonly,
        },
        deny: rules(&given.deny),
        allow: rules(&given.allow),
        ask: rules(&given.ask),
        expires: given.expires,
        on_expiry: match given.on_expiry {
            ktx_agent_file::OnExpiry::Deny => OnExpiry::Deny,
            ktx_agent_file::OnExpiry::Fail => OnExpiry::Fail,
        },
    }
}

fn rule_of(rule: &ToolRule) -> Rule {
    if rule.args.is_empty() {
        return Rule::Tool(rule.tool.clone());
    }
    let matcher = |matcher: &ArgumentMatcher| match matcher {
        ArgumentMatcher::Literal(value) => value.clone(),
        ArgumentMatcher::Fuzzy(text) => json!({ "fuzzy": text }),
        ArgumentMatcher::Regex(pattern) => json!({ "regex": pattern }),
    };
    let args = rule.args.iter();
    let args: Map<String, Value> = args.map(|(name, it)| (name.clone(), matcher(it))).collect();
    Rule::Arguments {
        tool: rule.tool.clone(),
        args,
    }
}

fn model(model: &Model) -> Option<AgentModel> {
    let named = AgentModel {
        provider: model.provider.clone(),
        name: model.name.clone(),
        address: model.address().map(str::to_owned),
        api_key: model.api_key.clone(),
        auth_provider: model.auth_provider.clone(),
    };
    (named != AgentModel::default()).then_some(named)
}

pub(in crate::commands::agent) fn with_model(
    named: &Model,
    context: CommandContext<'_>,
) -> Outcome<OpenProject> {
    let CommandContext {
        invocation,
        project,
        ..
    } = context;
    let mut project = invocation::load(&project.dir, &invocation.environment)?;
    if let Some(named) = model(named) {
        use_named(&mut project, &named);
    }
    Ok(project)
}

pub(in crate::commands::agent) fn use_model(project: &mut OpenProject, agent: &Agent) {
    if let Some(named) = &agent.model {
        use_named(project, named);
    }
}

fn use_named(project: &mut OpenProject, named: &AgentModel) {
    let llm = &mut project.config.llm;
    let block = Model {
        provider: named.provider.clone(),
        auth_provider: named.auth_provider.clone(),
        ..Model::default()
    };
    let backend = block.backend(llm.backend);
    if backend != llm.backend {
        // Another provider does not know these model ids.
        llm.models.clear();
        llm.backend = backend;
    }
    if let Some(name) = &named.name {
        llm.models.insert(ModelRole::Default, name.clone());
    }
    if let Backend::Http(provider) = backend {
        let endpoint = llm.endpoints.entry(provider).or_default();
        if let Some(key) = &named.api_key {
            endpoint.api_key = Some(SecretRef::parse(key));
        }
        if let Some(address) = &named.address {
            endpoint.base_url = Some(SecretRef::parse(address));
        }
    }
}

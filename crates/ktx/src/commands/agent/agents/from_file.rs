//! Agents of `agents/<name>.yaml`, as sessions run them.

use ktx_agent_file::{
    AgentFile, ArgumentMatcher, Capabilities, Model, PermissionMode, ToolKind, ToolPermission,
    ToolRule,
};
use ktx_agent_session::{Agent, AgentModel, AgentTool, Mode, Permissions, Rule, Spending};
use ktx_diagnostics::{Code, Diagnostics, Failure};
use ktx_secrets::SecretRef;
use ktx_vocabulary::{Backend, ModelRole};
use serde_json::{Map, Value, json};

use super::Place;
use crate::commands::agent::files;
use crate::invocation::OpenProject;
use crate::report::Outcome;

/// Loads the agent of a name or a file, and prints its warnings.
pub(super) fn load(name: &str, place: Place<'_>) -> Outcome<Agent> {
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
    let backend = file.model.backend(project.config.llm.backend);
    for key in unused(&file, backend) {
        printer.note(&format!(
            "warning: {}: `{key}` has no effect on a run yet",
            file.path.display()
        ));
    }
    agent_of(&file)
}

/// The keys that this version of ktx checks and does not follow.
fn unused(file: &AgentFile, backend: Backend) -> Vec<&'static str> {
    let model = &file.model;
    // A backend that takes no such setting has its own warning.
    let sampling = backend.takes_sampling();
    let keys = [
        ("model.temperature", sampling && model.temperature.is_some()),
        ("model.top_p", sampling && model.top_p.is_some()),
        ("model.max_tokens", sampling && model.max_tokens.is_some()),
        ("response_format", file.response_format.is_some()),
        ("todo", file.todo.enabled),
        ("agents", !file.agents.is_empty()),
        ("workspace", file.workspace.is_some()),
        ("permissions.expires", file.permissions.expires.is_some()),
    ];
    let set = keys.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(key, _)| key).collect()
}

fn agent_of(file: &AgentFile) -> Outcome<Agent> {
    let mut permissions = permissions(file);
    let mut tools = Vec::new();
    for tool in &file.tools {
        let rule = || Rule::Tool(tool.name.clone());
        match tool.permission {
            Some(ToolPermission::Deny) => permissions.deny.push(rule()),
            Some(ToolPermission::Allow) => permissions.allow.push(rule()),
            // A rule for one tool goes before the groups of the file.
            Some(ToolPermission::Ask) => {
                permissions.allow.retain(|known| !is_group(known));
                permissions.ask.push(rule());
            }
            None => {}
        }
        let (ktx, arguments) = match &tool.kind {
            ToolKind::Ktx => (&tool.name, Map::new()),
            ToolKind::Function { tool, arguments } => (tool, arguments.clone()),
            ToolKind::Mcp(_)
            | ToolKind::Prompt { .. }
            | ToolKind::Vectorstore(_)
            | ToolKind::HierarchicalDocument(_) => return Err(not_run(file, &tool.name)),
        };
        tools.push(AgentTool {
            name: tool.name.clone(),
            tool: ktx.clone(),
            description: tool.description.clone(),
            arguments,
        });
    }
    Ok(Agent {
        name: file.name.clone(),
        instructions: file.instructions.text.clone(),
        file: Some(file.path.display().to_string()),
        model: model(&file.model),
        tools,
        max_turns: file.limits.max_turns,
        max_messages: file.limits.messages,
        spending: Spending {
            usd: file.limits.max_usd,
            tokens: file.limits.max_tokens,
            minutes: file.limits.max_minutes,
        },
        permissions,
    })
}

fn not_run(file: &AgentFile, tool: &str) -> Failure {
    Failure::new(
        Code::AgentSettings,
        format!(
            "{}: the tool `{tool}` has a type that `ktx agent run` does not run yet",
            file.path.display()
        ),
    )
    .hint("leave it out, or name a tool of ktx")
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

/// Makes the model of an agent the one that the project's settings reach.
pub(in crate::commands::agent) fn use_model(project: &mut OpenProject, agent: &Agent) {
    let Some(named) = &agent.model else {
        return;
    };
    let llm = &mut project.config.llm;
    let block = Model {
        provider: named.provider.clone(),
        auth_provider: named.auth_provider.clone(),
        ..Model::default()
    };
    let backend = block.backend(llm.backend);
    if backend != llm.backend {
        // Ids of one provider's models mean nothing to another.
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

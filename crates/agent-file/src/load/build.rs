//! Builds the value of a file without errors.

use std::fs;
use std::path::Path;

use ktx_diagnostics::{Code, Diagnostic, Location};
use serde_json::{Map, Value, json};

use crate::complete::complete;
use crate::digest::digest;
use crate::folder::FileRoots;
use crate::model::{AgentFile, CaseFile};
use crate::spec::{PathKind, ROOT, ValueShape};

pub(super) fn agent(
    written: &Value,
    path: &Path,
    disk: &FileRoots,
    cases: Option<&CaseFile>,
) -> Result<AgentFile, Diagnostic> {
    let file = disk.relative(path);
    let failed = |what: String| {
        Diagnostic::error(Code::FileUnreadable, what).at(Location {
            file: file.display().to_string(),
            position: None,
        })
    };
    let Value::Object(mut agent) = complete(written, &ValueShape::Object(ROOT)) else {
        return Err(failed("the file must hold an object".to_owned()));
    };
    fill(&mut agent, written, disk).map_err(&failed)?;
    for foreign in ["test_cases", "test_cases_file", "tool_filtering"] {
        agent.shift_remove(foreign);
    }
    agent.insert("digest".to_owned(), Value::from(digest(&agent)));
    agent.insert("path".to_owned(), json!(file));
    agent.insert("cases".to_owned(), json!(cases));
    serde_json::from_value(Value::Object(agent))
        .map_err(|error| failed(format!("cannot be used: {error}")))
}

/// Replaces file names by their content, and moves the `claude` block to its place.
fn fill(agent: &mut Map<String, Value>, written: &Value, disk: &FileRoots) -> Result<(), String> {
    instructions(agent, disk)?;
    if let Some(Value::String(name)) = agent.get("response_format") {
        let schema = schema(name, disk)?;
        agent.insert("response_format".to_owned(), schema);
    }
    if let Some(Value::Object(root)) = agent.get_mut("response_format") {
        root.entry("type").or_insert_with(|| json!("object"));
    }
    let metrics = agent
        .get_mut("evaluations")
        .and_then(|evaluations| evaluations.get_mut("metrics"));
    if let Some(metrics) = metrics {
        name_metrics(metrics);
    }
    tools(agent, disk)?;
    if let Some(root) = agent
        .get_mut("workspace")
        .and_then(|workspace| workspace.get_mut("root"))
    {
        in_project(root, disk)?;
    }
    if let Some(claude) = agent.get("claude").cloned() {
        self::claude(agent, &claude, written, disk)?;
    }
    Ok(())
}

fn instructions(agent: &mut Map<String, Value>, disk: &FileRoots) -> Result<(), String> {
    let given = agent.get("instructions").cloned().unwrap_or_default();
    let filled = match given.get("file").and_then(Value::as_str) {
        Some(name) => json!({ "text": text(name, disk)?, "file": relative(name, disk)? }),
        None => json!({ "text": given.get("inline") }),
    };
    agent.insert("instructions".to_owned(), filled);
    Ok(())
}

fn tools(agent: &mut Map<String, Value>, disk: &FileRoots) -> Result<(), String> {
    let tools = agent.get_mut("tools").and_then(Value::as_array_mut);
    for tool in tools.into_iter().flatten() {
        if let Some(source) = tool.get_mut("source") {
            in_project(source, disk)?;
        }
        if let Value::Object(tool) = &mut *tool
            && let Some(score) = tool.shift_remove("min_similarity_score")
        {
            tool.entry("min_score").or_insert(score);
        }
        let name = tool.get("file").and_then(Value::as_str).map(str::to_owned);
        if let (Some(name), Value::Object(tool)) = (name, tool) {
            tool.insert("template".to_owned(), Value::from(text(&name, disk)?));
        }
    }
    Ok(())
}

/// Applies keys of HoloDeck's block that have other names in ktx (C-02, C-03).
fn claude(
    agent: &mut Map<String, Value>,
    claude: &Value,
    written: &Value,
    disk: &FileRoots,
) -> Result<(), String> {
    let set = |agent: &mut Map<String, Value>, block: &str, key: &str, value: Value| {
        let block = agent.entry(block).or_insert_with(|| json!({}));
        if let Value::Object(block) = block {
            block.insert(key.to_owned(), value);
        }
    };
    let has_mode = written
        .get("permissions")
        .and_then(|block| block.get("mode"))
        .is_some_and(|mode| !mode.is_null());
    let mode = match claude.get("permission_mode").and_then(Value::as_str) {
        Some("acceptEdits" | "acceptAll") => Some("auto"),
        Some(_) => Some("approval"),
        None => None,
    };
    if let Some(mode) = mode.filter(|_| !has_mode) {
        set(agent, "permissions", "mode", Value::from(mode));
    }
    let turns = |block: Option<&Value>| block?.get("max_turns")?.as_u64();
    if let Some(turns) = turns(Some(claude)).min(turns(agent.get("limits")).or(Some(u64::MAX))) {
        set(agent, "limits", "max_turns", Value::from(turns));
    }
    let has_root = agent
        .get("workspace")
        .is_some_and(|workspace| workspace.get("root").is_some());
    if let Some(folder) = claude.get("working_directory").filter(|_| !has_root) {
        let mut folder = folder.clone();
        in_project(&mut folder, disk)?;
        set(agent, "workspace", "root", folder);
        let workspace = agent.get_mut("workspace").and_then(Value::as_object_mut);
        if let Some(workspace) = workspace {
            workspace.entry("write").or_insert(Value::Bool(false));
        }
    }
    let allowed = claude.get("allowed_tools").and_then(Value::as_array);
    let tools = agent.get_mut("tools").and_then(Value::as_array_mut);
    if let (Some(allowed), Some(tools)) = (allowed, tools) {
        tools.retain(|tool| tool.get("name").is_some_and(|name| allowed.contains(name)));
    }
    Ok(())
}

pub(super) fn name_metrics(metrics: &mut Value) {
    for metric in metrics.as_array_mut().into_iter().flatten() {
        let kind = metric.get("type").cloned();
        if let (Some(kind), Value::Object(metric)) = (kind, metric) {
            metric.entry("metric").or_insert(kind);
        }
    }
}

pub(super) fn in_project(path: &mut Value, disk: &FileRoots) -> Result<(), String> {
    if let Some(written) = path.as_str() {
        *path = relative(written, disk)?;
    }
    Ok(())
}

fn relative(written: &str, disk: &FileRoots) -> Result<Value, String> {
    let found = disk
        .find(written, PathKind::Either)
        .map_err(|fault| fault.describe(written))?;
    Ok(json!(disk.relative(&found)))
}

fn text(written: &str, disk: &FileRoots) -> Result<String, String> {
    let found = disk
        .find(written, PathKind::File)
        .map_err(|fault| fault.describe(written))?;
    let text = fs::read_to_string(found)
        .map_err(|error| format!("`{written}` cannot be read: {error}"))?;
    if text.trim().is_empty() {
        return Err(format!("`{written}` is empty"));
    }
    Ok(text)
}

fn schema(written: &str, disk: &FileRoots) -> Result<Value, String> {
    let text = text(written, disk)?;
    let loaded =
        ktx_config::yaml::load_text(&text, written).map_err(|faults| faults.to_string())?;
    let kind = loaded.value.get("type");
    if !loaded.value.is_object() || kind.is_some_and(|kind| kind != "object") {
        return Err("response_format: the root must be an object".to_owned());
    }
    Ok(loaded.value)
}

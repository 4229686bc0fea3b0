//! Workspaces of agents.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ktx_agent_file::{AgentFile, Tool, ToolKind, Workspace};
use ktx_agent_session::{Agent, ToolSource};
use ktx_agent_workspace::{Access, Exclusion, LocalFolder, workspace_tools};
use ktx_config::Environment;
use ktx_diagnostics::{Code, Failure};
use ktx_project_store::ignored_files;
use ktx_tool_descriptors::ToolDescriptor;
use serde::Deserialize as _;
use serde_json::json;

use crate::invocation::{Invocation, OpenProject};
use crate::report::{Outcome, Report as _};

/// No tool combines this name with a workspace's settings.
const NAME: &str = "workspace";

pub(super) fn source(file: &AgentFile) -> Outcome<Option<ToolSource>> {
    let Some(workspace) = &file.workspace else {
        return Ok(None);
    };
    let settings = serde_json::to_value(workspace)
        .map_err(|error| Failure::from_error(Code::Internal, &error))?;
    Ok(Some(ToolSource {
        name: NAME.to_owned(),
        settings: json!({ NAME: settings }),
    }))
}

pub(super) fn tools(
    source: &ToolSource,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Option<Vec<ToolDescriptor>>> {
    let Some(settings) = source.settings.get(NAME) else {
        return Ok(None);
    };
    let workspace = Workspace::deserialize(settings).map_err(|error| {
        Failure::from_error(Code::AgentSettings, &error)
            .context("the session keeps another form of `workspace`")
            .hint("ask in a new session")
    })?;
    let root = match &workspace.root {
        Some(root) => project.dir.join(root),
        None => project.dir.clone(),
    };
    let folder = LocalFolder::open(&root).map_err(|error| {
        Failure::from_error(Code::AgentSettings, &error)
            .context(format!(
                "the workspace `{}` cannot be opened",
                root.display()
            ))
            .hint("name a folder of the project in `workspace.root`")
    })?;
    let access = if workspace.write {
        Access::ReadAndWrite
    } else {
        Access::Read
    };
    let exclusion = IgnoredByGit {
        root,
        environment: invocation.environment.clone(),
    };
    Ok(Some(workspace_tools(folder, Box::new(exclusion), access)))
}

/// Refuses file tools in arms that hide parts of the layer: no filter covers what they read.
pub(in crate::commands::agent) fn check_hides_layer(
    agent: &Agent,
    arm: &str,
    project: &OpenProject,
) -> Outcome<()> {
    let layout = project.store.layout();
    let wiki = layout.wiki_global();
    let layer = [
        layout.semantic_layer(),
        wiki.parent().unwrap_or(&wiki).to_owned(),
        layout.raw_sources(),
    ];
    for source in &agent.sources {
        let Some(place) = place_of(source) else {
            continue;
        };
        let place = real(project.dir.join(place));
        if layer
            .iter()
            .map(|part| real(part.clone()))
            .any(|part| part.starts_with(&place) || place.starts_with(&part))
        {
            return Err(Failure::new(
                Code::AgentSettings,
                format!(
                    "`{}` reads files of the layer that the arm `{arm}` must not see",
                    source.name
                ),
            )
            .hint("name a folder without `wiki`, `semantic-layer` and `raw-sources`, or ask this agent without the arm"));
        }
    }
    Ok(())
}

/// Resolves links of the existing part of a path.
fn real(path: PathBuf) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or(path)
}

fn place_of(source: &ToolSource) -> Option<PathBuf> {
    if let Some(settings) = source.settings.get(NAME) {
        let workspace = Workspace::deserialize(settings).ok()?;
        return Some(workspace.root.unwrap_or_default());
    }
    match Tool::deserialize(&source.settings).ok()?.kind {
        ToolKind::Vectorstore(search) | ToolKind::HierarchicalDocument(search) => {
            Some(search.source)
        }
        _ => None,
    }
}

pub(super) struct IgnoredByGit {
    pub(super) root: PathBuf,
    pub(super) environment: Environment,
}

impl Exclusion for IgnoredByGit {
    fn ignored(&self) -> Result<BTreeSet<String>, String> {
        ignored_files(&self.root, &self.environment).map_err(|error| error.to_string())
    }
}

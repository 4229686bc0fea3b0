//! Searches over files of the project, as tools of an agent.

use std::collections::BTreeSet;

use ktx_agent_file::{DocumentSearch, SearchMode, Tool};
use ktx_agent_session::{Agent, ToolSource};
use ktx_agent_workspace::Exclusion as _;
use ktx_context_tools::{Division, DocumentFolder, DocumentLane, LaneWeights, document_search};
use ktx_tool_descriptors::ToolDescriptor;
use serde::Deserialize as _;

use super::workspace::IgnoredByGit;
use crate::invocation::{Invocation, OpenProject};

/// A search with how it divides files.
pub(super) struct Search<'a> {
    settings: &'a DocumentSearch,
    division: Division,
}

impl<'a> Search<'a> {
    pub(super) const fn by_size(settings: &'a DocumentSearch) -> Self {
        Self {
            settings,
            division: Division::Size,
        }
    }

    pub(super) const fn by_headings(settings: &'a DocumentSearch) -> Self {
        Self {
            settings,
            division: Division::Headings,
        }
    }
}

/// The tool for a search.
pub(super) fn tool(
    tool: &Tool,
    search: &Search<'_>,
    invocation: &Invocation,
    project: &OpenProject,
) -> ToolDescriptor {
    let &Search { settings, division } = search;
    let exclusion = IgnoredByGit {
        root: project.dir.clone(),
        environment: invocation.environment.clone(),
    };
    let weight = |weight: Option<f64>| weight.unwrap_or(1.0);
    let lane = match settings.search_mode {
        SearchMode::Exact => DocumentLane::Exact,
        SearchMode::Keyword | SearchMode::Semantic => DocumentLane::Words,
        SearchMode::Hybrid => DocumentLane::Both(LaneWeights {
            words: weight(settings.keyword_weight),
            exact: weight(settings.exact_weight),
        }),
    };
    let about = match division {
        Division::Size => "Searches documents",
        Division::Headings => "Searches documents and names the headings of what it finds",
    };
    document_search(
        DocumentFolder {
            project: project.dir.clone(),
            source: settings.source.clone(),
            division,
            lane,
            most: usize::try_from(settings.top_k).unwrap_or(usize::MAX),
            least_score: settings.min_score,
            ignored: Box::new(move || exclusion.ignored()),
        },
        &tool.name,
        tool.description.as_deref().unwrap_or(about),
    )
}

/// The searches of an agent that compare meaning, which ktx cannot yet.
pub(in crate::commands::agent) fn without_meaning(agent: &Agent) -> BTreeSet<&str> {
    let searches = agent.sources.iter().filter(|source| {
        Tool::deserialize(&source.settings).is_ok_and(|tool| needs_embeddings(&tool))
    });
    searches
        .map(|source: &ToolSource| source.name.as_str())
        .collect()
}

fn needs_embeddings(tool: &Tool) -> bool {
    use ktx_agent_file::ToolKind;
    match &tool.kind {
        ToolKind::Vectorstore(search) | ToolKind::HierarchicalDocument(search) => {
            search.search_mode.needs_embeddings()
        }
        _ => false,
    }
}

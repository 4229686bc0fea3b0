//! File searches as tools of an agent.

use ktx_agent_file::{DocumentSearch, Model, SearchMode, Tool};
use ktx_agent_workspace::Exclusion as _;
use ktx_config::{Embeddings, Endpoint};
use ktx_context_tools::{
    Division, DocumentFolder, DocumentLane, DocumentVectors, LaneWeights, document_search,
};
use ktx_project_store::Layout;
use ktx_secrets::SecretRef;
use ktx_tool_descriptors::ToolDescriptor;

use super::workspace::IgnoredByGit;
use crate::compose::{self, EmbeddingsOrigin};
use crate::invocation::{Invocation, OpenProject};

const VECTORS: &str = "document-vectors.sqlite";

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
        SearchMode::Keyword => DocumentLane::Words,
        SearchMode::Semantic => DocumentLane::Meaning,
        SearchMode::Hybrid => DocumentLane::All(LaneWeights {
            meaning: weight(settings.semantic_weight),
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
            vectors: vectors(settings, invocation, project),
        },
        &tool.name,
        tool.description.as_deref().unwrap_or(about),
    )
}

/// The agent file overrides the project.
fn vectors(
    settings: &DocumentSearch,
    invocation: &Invocation,
    project: &OpenProject,
) -> Option<DocumentVectors> {
    if !settings.search_mode.needs_embeddings() {
        return None;
    }
    let named = settings.embeddings.as_deref().map(embeddings_of);
    let (embeddings, written_in) = match &named {
        Some(named) => (named, EmbeddingsOrigin::AgentFile),
        None => (&project.config.ingest.embeddings, EmbeddingsOrigin::Project),
    };
    let environment = &invocation.environment;
    let provider = compose::vectors(embeddings, written_in, environment, &project.dir)?;
    Some(DocumentVectors {
        provider,
        file: Layout::new(&project.dir).state().join(VECTORS),
        now: || jiff::Timestamp::now().into(),
    })
}

fn embeddings_of(named: &Model) -> Embeddings {
    let server = Endpoint {
        api_key: named.api_key.as_deref().map(SecretRef::parse),
        base_url: named.address().map(SecretRef::parse),
        ..Endpoint::default()
    };
    Embeddings::of_server(named.name.clone(), server)
}

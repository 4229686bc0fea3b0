//! One capture, from a note to the changes of a draft.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use ktx_context_tools::{Failure, ProjectContext};
use ktx_llm_runtime::{CallLabel, LlmError, LlmRuntime, LoopRequest, StepCallback, StopReason};
use ktx_project_store::{Change, ProjectPath};
use ktx_vocabulary::{ConnectionId, ModelRole, RunId, WikiKey};
use ktx_warehouse::Dialect;
use ktx_wiki::Scope;
use tokio_util::sync::CancellationToken;

use crate::draft::Draft;
use crate::prompts::{self, Known};
use crate::tools::{Session, Warehouse, listing, locked, tools};

/// Who asks.
pub const ROLE: ModelRole = ModelRole::CandidateExtraction;

/// Assistant turns for one note.
pub const STEPS: u32 = 30;

/// The longest note, in characters.
pub const LONGEST_NOTE: usize = 200_000;

/// What to capture, and from where.
pub struct CaptureRequest {
    /// What the note is called.
    pub label: String,
    /// The note.
    pub note: String,
    /// The warehouse that the note is about; without one only pages are written.
    pub connection: Option<(ConnectionId, Dialect)>,
    /// The files below `wiki/global` and the connection's `semantic-layer` folder as they are
    /// committed.
    pub files: BTreeMap<ProjectPath, Vec<u8>>,
    /// The project, to look things up in.
    pub context: Arc<dyn ProjectContext>,
    /// The model.
    pub runtime: Arc<dyn LlmRuntime>,
    /// The run that the calls belong to.
    pub run_id: RunId,
    /// Told of every turn.
    pub on_step: Option<StepCallback>,
    /// Stops the capture.
    pub cancel: CancellationToken,
}

impl std::fmt::Debug for CaptureRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureRequest")
            .field("label", &self.label)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

/// What a capture has found worth keeping.
#[derive(Debug)]
pub struct Captured {
    /// Pages that were written or removed, by key.
    pub wiki: Vec<String>,
    /// Sources that were written, by name.
    pub sl: Vec<String>,
    /// References from those pages to sources, as `page -> source`.
    pub xrefs: Vec<String>,
    /// The files to commit; empty when there was nothing worth keeping.
    pub changes: Vec<Change>,
    /// Whether the model was stopped at [`STEPS`] turns.
    pub is_cut: bool,
    /// The model's closing words.
    pub words: Option<String>,
}

/// Why a note was not captured. Nothing is changed then.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// There is nothing in it.
    #[error("the note is empty")]
    Empty,
    /// It is too long for one capture.
    #[error("the note has {length} characters, at most {LONGEST_NOTE} are taken at once")]
    TooLong {
        /// Its characters.
        length: usize,
    },
    /// The project could not be read.
    #[error("the project cannot be read")]
    Project(#[source] Failure),
    /// The model failed.
    #[error("the model failed")]
    Model(#[source] LlmError),
    /// A fault of the program.
    #[error("the tools of the capture cannot be built")]
    Tools(#[source] ktx_tool_descriptors::ToolSetError),
}

/// Lets a model capture one note. Waits of the account's limits are the runtime's business.
pub async fn capture(request: CaptureRequest) -> Result<Captured, CaptureError> {
    let length = request.note.chars().count();
    if request.note.trim().is_empty() {
        return Err(CaptureError::Empty);
    }
    if length > LONGEST_NOTE {
        return Err(CaptureError::TooLong { length });
    }
    let connection = request.connection.as_ref().map(|(id, _)| id.clone());
    let session = session(&request).await.map_err(CaptureError::Project)?;
    let prompt = task(&request, &session);
    let shared = Arc::new(Mutex::new(session));
    let outcome = request
        .runtime
        .run_agent_loop(LoopRequest {
            role: ModelRole::CandidateExtraction,
            system: prompts::SYSTEM.to_owned(),
            prompt,
            tools: tools(&request.context, &shared).map_err(CaptureError::Tools)?,
            step_budget: STEPS,
            on_step: request.on_step,
            cancel: request.cancel,
            label: CallLabel {
                run_id: request.run_id,
                stage: "memory".to_owned(),
                unit: Some(request.label),
                connection,
            },
        })
        .await;
    if let Some(error) = outcome.error {
        return Err(CaptureError::Model(error));
    }
    let session = locked(&shared);
    let changes = session.draft.changes();
    let changed: BTreeSet<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    let pages = session.draft.pages();
    let written = pages
        .iter()
        .filter(|page| changed.contains(page.path.to_string().as_str()));
    let xrefs = written.flat_map(|page| {
        let refs = page.front_matter.sl_refs.iter();
        refs.map(|source| format!("{} -> {source}", page.key()))
    });
    let xrefs = xrefs.collect();
    let is_changed = |key: &&String| changed.contains(format!("wiki/global/{key}.md").as_str());
    Ok(Captured {
        wiki: session.wiki.iter().filter(is_changed).cloned().collect(),
        sl: session.sl.iter().cloned().collect(),
        xrefs,
        is_cut: outcome.stop_reason == StopReason::Budget,
        words: outcome.text,
        changes,
    })
}

async fn session(request: &CaptureRequest) -> Result<Session, Failure> {
    let mut others = Vec::new();
    for id in request.context.source_folders().await? {
        let own = request.connection.as_ref().map(|(id, _)| id);
        if own == Some(&id) {
            continue;
        }
        let catalog = request.context.catalog(&id).await?;
        let names = catalog.sources().iter().map(|source| source.name.clone());
        others.push((id, names.collect()));
    }
    let warehouse = request.connection.clone();
    let draft = Draft::new(request.files.clone());
    Ok(Session {
        uncommitted: uncommitted(request, &draft).await?,
        draft,
        warehouse: warehouse.map(|(id, dialect)| Warehouse { id, dialect }),
        others,
        wiki: BTreeSet::new(),
        sl: BTreeSet::new(),
    })
}

/// The global pages that somebody is still writing: on the disk they are not as they are committed.
async fn uncommitted(
    request: &CaptureRequest,
    draft: &Draft,
) -> Result<BTreeSet<WikiKey>, Failure> {
    let mut paths = request.context.page_paths().await?;
    paths.retain(|path| path.scope == Scope::Global);
    let on_disk = request.context.pages(&paths).await?;
    let texts = on_disk.iter().map(|page| (page.key().clone(), page.text()));
    let texts: BTreeMap<WikiKey, &str> = texts.collect();
    let committed = draft.pages();
    let committed: BTreeMap<WikiKey, &str> = committed
        .iter()
        .map(|page| (page.key().clone(), page.text()))
        .collect();
    let all = texts.keys().chain(committed.keys());
    let differing = all.filter(|key| texts.get(*key) != committed.get(*key));
    Ok(differing.cloned().collect())
}

fn task(request: &CaptureRequest, session: &Session) -> String {
    let pages: Vec<(String, String)> = session
        .draft
        .pages()
        .iter()
        .map(|page| (page.key().to_string(), page.summary().to_owned()))
        .collect();
    let sources = listing(session);
    let known = Known {
        pages: &pages,
        sources: session
            .warehouse
            .as_ref()
            .map(|warehouse| (warehouse.id.as_str(), sources.as_slice())),
    };
    prompts::task(&request.label, &request.note, &known)
}

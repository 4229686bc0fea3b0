//! The workspace of a model: a draft of the committed files and the tools that read and change it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use ktx_context_tools::ProjectContext;
use ktx_diagnostics::Failure;
use ktx_llm_runtime::{ContentBlock, Message};
use ktx_project_store::{Change, ProjectPath};
use ktx_semantic_layer::Catalog;
use ktx_sql::Dialect;
use ktx_tool_descriptors::{CallContext, ToolDescriptor, ToolSet, ToolSetError, WriteEffect};
use ktx_vocabulary::{ConnectionId, WikiKey};
use ktx_wiki::{Scope, UserId};

use crate::draft::Draft;
use crate::prompts::{self, KnownNames};
use crate::tools::{DraftState, Quota, SharedDraft, Warehouse, catalog_of, listing, locked, tools};

/// A draft and its tools. Writes are checked and stay in the draft until the caller publishes
/// [`DraftWorkspace::made`].
pub struct DraftWorkspace {
    shared: SharedDraft,
    context: Arc<dyn ProjectContext>,
}

impl std::fmt::Debug for DraftWorkspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DraftWorkspace").finish_non_exhaustive()
    }
}

#[derive(Debug, Default, Clone)]
pub struct Changeset {
    pub wiki: Vec<String>,
    pub sl: Vec<String>,
    /// As `page -> source`.
    pub xrefs: Vec<String>,
    pub changes: Vec<Change>,
    files: BTreeMap<String, ProjectPath>,
}

impl Changeset {
    /// The changes of files that no draft has made, with the names of what they are about.
    pub fn of_files(
        pages: Vec<String>,
        sources: Vec<(String, ProjectPath)>,
        changes: Vec<Change>,
    ) -> Self {
        Self {
            wiki: pages,
            sl: sources.iter().map(|(name, _)| name.clone()).collect(),
            xrefs: Vec::new(),
            changes,
            files: sources.into_iter().collect(),
        }
    }

    #[must_use]
    pub fn part(&self, is_kept: impl Fn(&ProjectPath) -> bool) -> Self {
        let mut part = self.clone();
        part.changes.retain(|change| is_kept(&change.path));
        let has_page = |key: &str| {
            let path = ProjectPath::parse(&format!("wiki/global/{key}.md"));
            path.is_ok_and(|path| is_kept(&path))
        };
        part.wiki.retain(|key| has_page(key));
        part.xrefs.retain(|reference| {
            let page = reference.split_once(" -> ").map(|(page, _)| page);
            page.is_none_or(has_page)
        });
        part.files.retain(|_, path| is_kept(path));
        let files = &part.files;
        part.sl.retain(|name| files.contains_key(name));
        part
    }
}

impl DraftWorkspace {
    /// Without a warehouse, only pages can be written.
    pub async fn new(
        context: Arc<dyn ProjectContext>,
        warehouse: Option<(ConnectionId, Dialect)>,
        files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    ) -> Result<Self, Failure> {
        Self::open(context, warehouse, Draft::new(files)).await
    }

    pub(crate) async fn of_user(
        context: Arc<dyn ProjectContext>,
        user: UserId,
        files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    ) -> Result<Self, Failure> {
        let draft = Draft::of_pages(files, Scope::User(user));
        Self::open(context, None, draft).await
    }

    async fn open(
        context: Arc<dyn ProjectContext>,
        warehouse: Option<(ConnectionId, Dialect)>,
        draft: Draft,
    ) -> Result<Self, Failure> {
        let mut others = Vec::new();
        for id in context.source_folders().await? {
            if warehouse.as_ref().is_some_and(|(own, _)| *own == id) {
                continue;
            }
            let catalog = context.catalog(&id).await?;
            let names = catalog.sources().iter().map(|source| source.name.clone());
            others.push((id, names.collect()));
        }
        let linkable = match draft.scope() {
            Scope::Global => BTreeSet::new(),
            Scope::User(_) => context
                .page_paths()
                .await?
                .into_iter()
                .filter(|path| path.scope == Scope::Global)
                .map(|path| path.key)
                .collect(),
        };
        let session = DraftState {
            linkable,
            uncommitted: uncommitted(&context, &draft).await?,
            draft,
            warehouse: warehouse.map(|(id, dialect)| Warehouse { id, dialect }),
            others,
            wiki: BTreeSet::new(),
            sl: BTreeMap::new(),
            quota: None,
            quota_reached: false,
        };
        Ok(Self {
            shared: Arc::new(Mutex::new(session)),
            context,
        })
    }

    /// Removals count as updates.
    pub fn limit(&self, quota: Quota) {
        locked(&self.shared).quota = Some(quota);
    }

    pub fn used(&self) -> Quota {
        locked(&self.shared).used()
    }

    pub fn quota_reached(&self) -> bool {
        locked(&self.shared).quota_reached
    }

    pub fn tools(&self) -> Result<Vec<ToolDescriptor>, ToolSetError> {
        tools(&self.context, &self.shared)
    }

    pub(crate) fn committed(&self, mut show: impl FnMut(&ProjectPath, &[u8])) {
        for (path, bytes) in locked(&self.shared).draft.committed() {
            show(path, bytes);
        }
    }

    /// If any result differs, resets the draft and returns false.
    pub(crate) async fn repeat(&self, tools: &ToolSet, messages: &[Message]) -> bool {
        for (index, message) in messages.iter().enumerate() {
            let results = messages
                .get(index + 1)
                .map_or(&[][..], |next| &next.content);
            for block in &message.content {
                let ContentBlock::ToolUse {
                    id, name, input, ..
                } = block
                else {
                    continue;
                };
                let writes = tools
                    .get(name)
                    .is_some_and(|tool| tool.effect == WriteEffect::Writes);
                let Some(has_failed) = end_of(id, results).filter(|_| writes) else {
                    continue;
                };
                let context = CallContext::detached(id.clone());
                let result = tools.call(name, input.clone(), context).await;
                if result.is_err() != has_failed {
                    self.reset();
                    return false;
                }
            }
        }
        true
    }

    fn reset(&self) {
        let mut session = locked(&self.shared);
        session.draft.reset();
        session.wiki.clear();
        session.sl.clear();
        session.quota_reached = false;
    }

    pub fn known_names(&self) -> String {
        self.names_about(None)
    }

    pub fn known_names_near(&self, text: &str) -> String {
        self.names_about(Some(text))
    }

    fn names_about(&self, text: Option<&str>) -> String {
        let session = locked(&self.shared);
        let mut pages: Vec<(String, String)> = session
            .draft
            .pages()
            .iter()
            .map(|page| (page.key().to_string(), page.summary().to_owned()))
            .collect();
        let mut sources = listing(&session);
        if let Some(text) = text {
            pages = prompts::nearest(pages, text, |(key, summary)| format!("{key} {summary}"));
            sources = prompts::nearest(sources, text, |(name, measures)| {
                format!("{name} {}", measures.join(" "))
            });
        }
        let most = text.map_or(prompts::LISTED, |_| prompts::NEAREST);
        prompts::list_names(&KnownNames {
            most,
            pages: &pages,
            sources: session
                .warehouse
                .as_ref()
                .map(|warehouse| (warehouse.id.as_str(), sources.as_slice())),
        })
    }

    pub fn catalog(&self) -> Option<Catalog> {
        let session = locked(&self.shared);
        let warehouse = session.warehouse.as_ref()?;
        Some(catalog_of(&session.draft, warehouse))
    }

    pub fn pages(&self) -> Vec<String> {
        let keys = locked(&self.shared).draft.keys();
        keys.iter().map(ToString::to_string).collect()
    }

    pub fn made(&self) -> Changeset {
        let session = locked(&self.shared);
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
        let is_changed = |key: &&String| changed.contains(session.draft.page_path(key).as_str());
        Changeset {
            xrefs: xrefs.collect(),
            wiki: session.wiki.iter().filter(is_changed).cloned().collect(),
            sl: session.sl.keys().cloned().collect(),
            files: session.sl.clone(),
            changes,
        }
    }
}

fn end_of(call: &str, results: &[ContentBlock]) -> Option<bool> {
    results.iter().find_map(|block| match block {
        ContentBlock::ToolResult {
            tool_use_id,
            is_error,
            ..
        } if tool_use_id == call => Some(*is_error),
        _ => None,
    })
}

/// A person is still editing pages that differ from the committed ones.
async fn uncommitted(
    context: &Arc<dyn ProjectContext>,
    draft: &Draft,
) -> Result<BTreeSet<WikiKey>, Failure> {
    let mut paths = context.page_paths().await?;
    paths.retain(|path| path.scope == *draft.scope());
    let on_disk = context.pages(&paths).await?;
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

//! The tools of a capture: reads of the project and checked writes to the draft.

mod letters;
mod prose;
mod soundness;
mod sources;
mod wiki;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ktx_context_tools::{ProjectContext, context_tools};
use ktx_project_store::ProjectPath;
use ktx_secrets::Redactor;
use ktx_sql::Dialect;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSetError, WriteEffect,
    schema_for,
};
use ktx_vocabulary::{ConnectionId, WikiKey};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::draft::Draft;

pub use soundness::is_sound;
pub(crate) use sources::catalog_of;

/// The reads that a capture may use. None of them runs a statement: a note is foreign text, and the
/// result of a query that it made the model run would end up in committed files.
const READS: [&str; 3] = ["discover_data", "entity_details", "wiki_search"];

/// A text that is exchanged for another.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Edit {
    /// The exact current text. It must occur exactly once.
    old_text: String,
    /// The text that replaces it.
    new_text: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Warehouse {
    pub(crate) id: ConnectionId,
    pub(crate) dialect: Dialect,
}

impl Warehouse {
    fn folder(&self) -> String {
        format!("semantic-layer/{}", self.id)
    }
}

#[derive(Debug)]
pub(crate) struct DraftState {
    pub(crate) draft: Draft,
    pub(crate) warehouse: Option<Warehouse>,
    /// The source names of the other connections, for references of pages.
    pub(crate) others: Vec<(ConnectionId, BTreeSet<String>)>,
    /// Keys of further pages, to which pages may link.
    pub(crate) linkable: BTreeSet<WikiKey>,
    /// Pages that a person is still editing; the capture must not change them.
    pub(crate) uncommitted: BTreeSet<WikiKey>,
    /// Keys of pages that were written or removed.
    pub(crate) wiki: BTreeSet<String>,
    pub(crate) sl: BTreeMap<String, ProjectPath>,
    /// The page quota; `None` for no limit.
    pub(crate) quota: Option<Quota>,
    pub(crate) quota_reached: bool,
}

/// Maximum number of pages that may be written on a workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// Pages that do not exist yet.
    pub creates: usize,
    /// Pages that exist already.
    pub updates: usize,
}

impl DraftState {
    pub(crate) fn used(&self) -> Quota {
        let (updated, created): (Vec<&String>, Vec<&String>) = self
            .wiki
            .iter()
            .partition(|key| self.draft.is_committed(key));
        Quota {
            creates: created.len(),
            updates: updated.len(),
        }
    }

    fn sources(&self) -> Vec<(ConnectionId, BTreeSet<String>)> {
        let mut all = self.others.clone();
        if let Some(warehouse) = &self.warehouse {
            let catalog = sources::catalog(self, warehouse);
            let names = catalog.sources().iter().map(|source| source.name.clone());
            all.push((warehouse.id.clone(), names.collect()));
        }
        all
    }
}

/// Refuses text that contains secrets, so that they never reach git.
fn no_secrets(text: &str) -> Result<(), ToolError> {
    let shown = Redactor::new().redact(text);
    let differing = text
        .lines()
        .zip(shown.lines())
        .position(|(own, shown)| own != shown);
    match differing {
        _ if shown == text => Ok(()),
        line => Err(ToolError::new(format!(
            "line {} looks like a password, key or token: leave it out",
            line.unwrap_or_default() + 1
        ))),
    }
}

/// Returns the name and measures of each source of the connection in the draft.
pub(crate) fn listing(session: &DraftState) -> Vec<(String, Vec<String>)> {
    let Some(warehouse) = &session.warehouse else {
        return Vec::new();
    };
    let catalog = sources::catalog(session, warehouse);
    let line = |source: &ktx_semantic_layer::Source| {
        let measures = source.measures.iter().map(|measure| measure.name.clone());
        (source.name.clone(), measures.collect())
    };
    catalog.sources().iter().map(line).collect()
}

pub(crate) type SharedDraft = Arc<Mutex<DraftState>>;

pub(crate) fn locked(shared: &SharedDraft) -> MutexGuard<'_, DraftState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn tools(
    context: &Arc<dyn ProjectContext>,
    shared: &SharedDraft,
) -> Result<Vec<ToolDescriptor>, ToolSetError> {
    let reads = context_tools(context)?;
    let mut all: Vec<ToolDescriptor> = reads
        .iter()
        .filter(|tool| READS.contains(&tool.name.as_str()))
        .cloned()
        .collect();
    all.extend([
        tool(shared, &WIKI_READ, wiki::read),
        tool(shared, &WIKI_WRITE, wiki::write),
        tool(shared, &WIKI_REMOVE, wiki::remove),
    ]);
    if locked(shared).warehouse.is_some() {
        all.extend([
            tool(shared, &SL_READ, sources::read),
            tool(shared, &SL_WRITE, sources::write),
            tool(shared, &SL_EDIT, sources::edit),
        ]);
    }
    Ok(all)
}

struct ToolText {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: WriteEffect,
}

static WIKI_READ: ToolText = ToolText {
    name: "wiki_read",
    title: "Wiki Read",
    description: "Read one wiki page as the file is, with what this capture has changed in it.",
    effect: WriteEffect::ReadOnly,
};
static WIKI_WRITE: ToolText = ToolText {
    name: "wiki_write",
    title: "Wiki Write",
    description: "Create a wiki page, or change one that is there. What is not given stays as it is.",
    effect: WriteEffect::Writes,
};
static WIKI_REMOVE: ToolText = ToolText {
    name: "wiki_remove",
    title: "Wiki Remove",
    description: "Remove a wiki page whose content is wrong or stands elsewhere by now.",
    effect: WriteEffect::Writes,
};
static SL_READ: ToolText = ToolText {
    name: "sl_read_source",
    title: "Semantic Layer Read Source",
    description: "Read one semantic source as a whole, and its own file, with what this capture has changed in it.",
    effect: WriteEffect::ReadOnly,
};
static SL_WRITE: ToolText = ToolText {
    name: "sl_write_source",
    title: "Semantic Layer Write Source",
    description: "Write the file of a semantic source as a whole. It is checked first: a file that makes the sources \
                  wrong is refused with the places.",
    effect: WriteEffect::Writes,
};
static SL_EDIT: ToolText = ToolText {
    name: "sl_edit_source",
    title: "Semantic Layer Edit Source",
    description: "Change the file of a semantic source in places; everything else stays to the letter. Checked like \
                  `sl_write_source`.",
    effect: WriteEffect::Writes,
};

fn tool<I>(
    shared: &SharedDraft,
    words: &ToolText,
    run: fn(&mut DraftState, &I) -> Result<ToolOutput, ToolError>,
) -> ToolDescriptor
where
    I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
{
    ToolDescriptor {
        name: words.name.to_owned(),
        title: words.title.to_owned(),
        description: words.description.to_owned(),
        input_schema: schema_for::<I>(),
        output_schema: None,
        effect: words.effect,
        handler: Arc::new(DraftToolHandler {
            shared: Arc::clone(shared),
            run,
        }),
    }
}

/// Returns the input schema of a tool that writes to a draft; null for another name.
pub fn write_schema(name: &str) -> Value {
    match name {
        "wiki_write" => schema_for::<wiki::WriteInput>(),
        "wiki_remove" => schema_for::<wiki::KeyInput>(),
        "sl_write_source" => schema_for::<sources::WriteInput>(),
        "sl_edit_source" => schema_for::<sources::EditInput>(),
        _ => Value::Null,
    }
}

struct DraftToolHandler<I> {
    shared: SharedDraft,
    run: fn(&mut DraftState, &I) -> Result<ToolOutput, ToolError>,
}

#[async_trait]
impl<I: DeserializeOwned + Send + Sync + 'static> ToolHandler for DraftToolHandler<I> {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let input: I = serde_json::from_value(arguments).map_err(refuse)?;
        (self.run)(&mut locked(&self.shared), &input)
    }
}

fn refuse(error: impl std::fmt::Display) -> ToolError {
    ToolError::new(error.to_string())
}

/// Applies all edits in order. Each must match exactly one place.
fn edited(text: &str, edits: &[Edit]) -> Result<String, ToolError> {
    let mut text = text.to_owned();
    for (number, edit) in edits.iter().enumerate() {
        let count = text.matches(edit.old_text.as_str()).take(2).count();
        if edit.old_text.is_empty() || count != 1 {
            let found = match count {
                0 => "is not there",
                _ => "is there more than once: give more of the text around it",
            };
            return Err(ToolError::new(format!(
                "nothing was changed: `oldText` of edit {} {found}",
                number + 1
            )));
        }
        text = text.replacen(&edit.old_text, &edit.new_text, 1);
    }
    Ok(text)
}

#[cfg(test)]
mod tests;

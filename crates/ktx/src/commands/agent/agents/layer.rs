//! Tools that write to the layer, one commit per allowed change.

pub(super) mod notes;
mod numbers;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use ktx_agent_session::{Agent, Previews};
use ktx_context_tools::ProjectContext;
use ktx_diagnostics::{Code, Failure};
use ktx_llm_runtime::LlmRuntime;
use ktx_memory::{Changeset, DraftWorkspace};
use ktx_project_store::{Change, Content, ProjectPath, PublishBase, PublishRequest, Publisher};
use ktx_sql::Dialect;
use ktx_tool_descriptors::{
    CallContext, ToolDescriptor, ToolError, ToolHandler, ToolOutput, ToolSet, WriteEffect,
};
use ktx_vocabulary::ConnectionId;
use serde_json::{Map, Value, json};
use similar::TextDiff;

use crate::connections::warehouse_with_dialect;
use crate::context;
use crate::invocation::{Invocation, OpenProject, load};
use crate::locking::lock;
use crate::report::{Outcome, Report as _};
use crate::scanning::publish_failure;

pub(in crate::commands::agent) const WRITES: [&str; 5] = [
    notes::NAME,
    "sl_edit_source",
    "sl_write_source",
    "wiki_remove",
    "wiki_write",
];

const CONNECTION: &str = "connectionId";

const HOLDER: &str = "ktx agent";

#[derive(Clone)]
pub(super) struct Layer(Arc<LayerContext>);

struct LayerContext {
    invocation: Invocation,
    dir: PathBuf,
    agent: String,
    model: Mutex<Option<Arc<dyn LlmRuntime>>>,
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layer")
            .field("agent", &self.0.agent)
            .finish_non_exhaustive()
    }
}

struct Drafted {
    workspace: DraftWorkspace,
    context: Arc<dyn ProjectContext>,
    publisher: Publisher,
    base: PublishBase,
    files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    warehouse: Option<ConnectionId>,
    output: ToolOutput,
}

impl Layer {
    pub(super) fn of(agent: &Agent, invocation: &Invocation, project: &OpenProject) -> Self {
        Self(Arc::new(LayerContext {
            invocation: invocation.clone(),
            dir: project.dir.clone(),
            agent: agent.name.clone(),
            model: Mutex::default(),
        }))
    }

    /// Enables notes, which need the model of the turn.
    pub(super) fn use_model(&self, runtime: &Arc<dyn LlmRuntime>) {
        let model = self.0.model.lock();
        *model.unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(runtime));
    }

    fn model(&self) -> Option<Arc<dyn LlmRuntime>> {
        let model = self.0.model.lock();
        model.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = ToolDescriptor> {
        WRITES.into_iter().map(|name| {
            if name == notes::NAME {
                return notes::tool(self);
            }
            let (title, description, input_schema) = words(name);
            ToolDescriptor {
                name: name.to_owned(),
                title: title.to_owned(),
                description: description.to_owned(),
                input_schema,
                output_schema: None,
                effect: WriteEffect::Writes,
                handler: Arc::new(LayerWrite {
                    layer: self.clone(),
                    name,
                }),
            }
        })
    }

    pub(super) fn previews(&self, agent: &Agent) -> Option<Arc<dyn Previews>> {
        let tools = agent.tools.iter().filter_map(|tool| {
            // The change of a note is unknown before a model reads it, so the user sees the note.
            let mut previewed = WRITES.into_iter().filter(|name| *name != notes::NAME);
            let name = previewed.find(|name| *name == tool.tool)?;
            Some((tool.name.clone(), (name, tool.arguments.clone())))
        });
        let tools: BTreeMap<String, (&'static str, Map<String, Value>)> = tools.collect();
        (!tools.is_empty()).then(|| {
            Arc::new(LayerPreviews {
                layer: self.clone(),
                tools,
            }) as Arc<dyn Previews>
        })
    }

    async fn draft(&self, tool: &str, input: &Value) -> Result<Drafted, ToolError> {
        let prepared = self.prepared(input).await;
        let (workspace, rest) = prepared.map_err(|failure| ToolError::new(failure.message))?;
        let tools = workspace.tools().and_then(ToolSet::new);
        let tools = tools.map_err(|error| ToolError::new(error.to_string()))?;
        let mut input = input.clone();
        if let Some(fields) = input.as_object_mut() {
            fields.remove(CONNECTION);
        }
        let context = CallContext::detached(tool.to_owned());
        let output = tools.call(tool, input, context).await?;
        let Prepared {
            context,
            publisher,
            base,
            files,
            warehouse,
        } = rest;
        Ok(Drafted {
            workspace,
            context,
            publisher,
            base,
            files,
            warehouse,
            output,
        })
    }

    async fn prepared(&self, input: &Value) -> Outcome<(DraftWorkspace, Prepared)> {
        let place = &self.0;
        let project = load(&place.dir, &place.invocation.environment)?;
        let warehouse = warehouse_of(input, &project)?;
        let context = context::open_for_agent(&place.invocation, &project)?;
        let publisher = project
            .store
            .publisher()
            .map_err(|error| publish_failure(&error))?;
        let base = publisher.begin().map_err(|error| publish_failure(&error))?;
        let id = warehouse.as_ref().map(|(id, _)| id.clone());
        let files = Arc::new(committed(&project, &base, id.as_ref())?);
        let workspace =
            DraftWorkspace::new(Arc::clone(&context), warehouse, Arc::clone(&files)).await?;
        let prepared = Prepared {
            context,
            publisher,
            base,
            files,
            warehouse: id,
        };
        Ok((workspace, prepared))
    }

    fn publish(&self, drafted: &Drafted, made: &Changeset) -> Outcome<Option<String>> {
        let place = &self.0;
        let project = load(&place.dir, &place.invocation.environment)?;
        let _held = lock(&project, HOLDER)?;
        let paths: Vec<&ProjectPath> = made.changes.iter().map(|change| &change.path).collect();
        let edited = drafted.publisher.uncommitted_paths(&paths);
        let edited = edited.map_err(|error| publish_failure(&error))?;
        if let Some(path) = edited.first() {
            return Err(Failure::new(
                Code::PublishFailed,
                format!("`{path}` has uncommitted changes; ktx wrote nothing"),
            ));
        }
        let message = message(&made.changes, &place.agent);
        let published = drafted.publisher.publish(
            &drafted.base,
            &PublishRequest {
                changes: &made.changes,
                message: &message,
                at: jiff::Timestamp::now(),
            },
        );
        Ok(published.map_err(|error| publish_failure(&error))?.commit)
    }
}

struct Prepared {
    context: Arc<dyn ProjectContext>,
    publisher: Publisher,
    base: PublishBase,
    files: Arc<BTreeMap<ProjectPath, Vec<u8>>>,
    warehouse: Option<ConnectionId>,
}

/// Returns the named warehouse or the only one; `None` if the choice is open.
fn warehouse_of(input: &Value, project: &OpenProject) -> Outcome<Option<(ConnectionId, Dialect)>> {
    if let Some(id) = input.get(CONNECTION).and_then(Value::as_str) {
        return warehouse_with_dialect(&project.config, id).map(Some);
    }
    let mut warehouses = project.config.warehouses();
    let first = warehouses.next();
    if warehouses.next().is_some() {
        return Ok(None);
    }
    let only = first.map(|connection| connection.id.to_string());
    only.map(|id| warehouse_with_dialect(&project.config, &id))
        .transpose()
}

fn committed(
    project: &OpenProject,
    base: &PublishBase,
    warehouse: Option<&ConnectionId>,
) -> Outcome<BTreeMap<ProjectPath, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let Some(commit) = &base.commit else {
        return Ok(files);
    };
    let failed = |error: &(dyn std::error::Error + 'static)| {
        Failure::from_error(Code::GitUnusable, error).context("the committed files cannot be read")
    };
    let history = project.store.history().map_err(|error| failed(&error))?;
    let folders = std::iter::once("wiki/global".to_owned())
        .chain(warehouse.map(|id| format!("semantic-layer/{id}")));
    for folder in folders {
        let folder = ProjectPath::parse(&folder).map_err(|error| failed(&error))?;
        let below = history.files(commit, &folder);
        files.extend(below.map_err(|error| failed(&error))?);
    }
    Ok(files)
}

fn message(changes: &[Change], agent: &str) -> String {
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    format!(
        "Change {}\n\nWritten by the agent `{agent}`.\n",
        paths.join(", ")
    )
}

impl Drafted {
    fn diff(&self, made: &Changeset) -> String {
        let mut text = String::new();
        for change in &made.changes {
            let path = change.path.as_str();
            let old = self.files.get(&change.path).map(Vec::as_slice);
            let new = match &change.content {
                Content::Write(bytes) => Some(bytes.as_slice()),
                Content::Delete => None,
            };
            let words = |bytes: Option<&[u8]>| {
                String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
            };
            let (before, after) = (words(old), words(new));
            let difference = TextDiff::from_lines(&before, &after);
            let name = |side: &str, bytes: Option<&[u8]>| match bytes {
                Some(_) => format!("{side}/{path}"),
                None => "/dev/null".to_owned(),
            };
            let (old, new) = (name("a", old), name("b", new));
            let mut hunks = difference.unified_diff();
            write!(text, "{}", hunks.context_radius(3).header(&old, &new)).unwrap_or_default();
        }
        text
    }
}

struct LayerWrite {
    layer: Layer,
    name: &'static str,
}

#[async_trait]
impl ToolHandler for LayerWrite {
    async fn call(&self, arguments: Value, _: CallContext) -> Result<ToolOutput, ToolError> {
        let drafted = self.layer.draft(self.name, &arguments).await?;
        let made = drafted.workspace.made();
        if made.changes.is_empty() {
            return Ok(ToolOutput::text(
                "nothing has changed: the files say this already",
            ));
        }
        let commit = self.layer.publish(&drafted, &made);
        let commit = commit.map_err(|failure| ToolError::new(failure.message))?;
        let Some(commit) = commit else {
            return Ok(ToolOutput::text(
                "nothing has changed: the files say this already",
            ));
        };
        let short = commit.get(..12).unwrap_or(&commit);
        let mut output = drafted.output;
        write!(output.markdown, "\n\ncommitted as {short}").unwrap_or_default();
        output.structured = Some(json!({ "commit": commit, "wiki": made.wiki, "sl": made.sl }));
        Ok(output)
    }
}

#[derive(Debug)]
struct LayerPreviews {
    layer: Layer,
    /// By the agent's tool name: the tool of `ktx` and the fixed arguments.
    tools: BTreeMap<String, (&'static str, Map<String, Value>)>,
}

impl LayerPreviews {
    async fn drafted(&self, tool: &str, input: &Value) -> Option<Result<Drafted, ToolError>> {
        let (name, fixed) = self.tools.get(tool)?;
        let mut input = input.clone();
        if let Some(fields) = input.as_object_mut() {
            fields.extend(fixed.clone());
        }
        Some(self.layer.draft(name, &input).await)
    }
}

#[async_trait]
impl Previews for LayerPreviews {
    async fn diff(&self, tool: &str, input: &Value) -> Option<Result<String, String>> {
        let drafted = self.drafted(tool, input).await?;
        Some(match drafted {
            Ok(drafted) => Ok(drafted.diff(&drafted.workspace.made())),
            Err(error) => Err(error.message),
        })
    }

    async fn numbers(&self, tool: &str, input: &Value) -> Vec<String> {
        match self.drafted(tool, input).await {
            Some(Ok(drafted)) => numbers::changed(&drafted).await,
            Some(Err(_)) | None => Vec::new(),
        }
    }
}

fn words(name: &str) -> (&'static str, &'static str, Value) {
    let (title, description) = match name {
        "sl_write_source" => (
            "Semantic Layer Write Source",
            "Write the file of a semantic source as a whole and commit it. A file that makes the sources wrong is refused.",
        ),
        "sl_edit_source" => (
            "Semantic Layer Edit Source",
            "Change the file of a semantic source in places and commit it. Checked like `sl_write_source`.",
        ),
        "wiki_remove" => (
            "Wiki Remove",
            "Remove a wiki page whose content is wrong or stands elsewhere, and commit that.",
        ),
        _ => (
            "Wiki Write",
            "Create a wiki page, or change one, and commit it. What is not given stays as it is.",
        ),
    };
    let mut schema = ktx_memory::write_schema(name);
    if name.starts_with("sl_")
        && let Some(Value::Object(properties)) = schema.get_mut("properties")
    {
        let text = "The warehouse; may be left out if there is only one.";
        let connection = json!({ "type": "string", "description": text });
        properties.insert(CONNECTION.to_owned(), connection);
    }
    (title, description, schema)
}

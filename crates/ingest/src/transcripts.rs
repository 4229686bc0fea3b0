//! The transcript of a work item as a file in the local state, so that the next run continues after
//! a budget, a limit, Ctrl-C or a kill.

use std::path::PathBuf;
use std::sync::Arc;

use ktx_llm_runtime::BackendInfo;
use ktx_memory::{KeptLoop, TranscriptStore};
use ktx_project_store::{ProjectPath, Store, append_line, read_optional, remove};
use ktx_vocabulary::ConnectionId;
use serde::{Deserialize, Serialize};

use crate::error::IngestError;
use crate::proposal::work_name;

type OnContinue = Box<dyn Fn(usize) + Send + Sync>;

/// The start of a loop; later commits do not change what it has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LoopBegin {
    pub(crate) branch: String,
    pub(crate) commit: String,
    pub(crate) input: String,
}

/// The first line, if the loop has its own start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    begin: LoopBegin,
}

pub(crate) struct TranscriptFile {
    path: PathBuf,
    begin: Option<LoopBegin>,
    on_continue: OnContinue,
}

impl std::fmt::Debug for TranscriptFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TranscriptFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl TranscriptFile {
    /// Opens the transcript of a loop that may start at an older commit.
    pub(crate) fn open(
        store: &Store,
        connection: &ConnectionId,
        work: &str,
        begin: Option<LoopBegin>,
        on_continue: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, IngestError> {
        Ok(Arc::new(Self {
            path: path(store, connection, work)?,
            begin,
            on_continue: Box::new(on_continue),
        }))
    }

    pub(crate) fn begin(
        store: &Store,
        connection: &ConnectionId,
        work: &str,
    ) -> Result<Option<LoopBegin>, IngestError> {
        let bytes = read_optional(&path(store, connection, work)?);
        let bytes = bytes.map_err(IngestError::Transcript)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        Ok(text
            .lines()
            .next()
            .and_then(header)
            .map(|header| header.begin))
    }

    pub(crate) fn kept_loop(self: &Arc<Self>, model: String, backend: BackendInfo) -> KeptLoop {
        let store: Arc<dyn TranscriptStore> = Arc::clone(self) as _;
        KeptLoop {
            store,
            model,
            backend,
        }
    }
}

fn path(store: &Store, connection: &ConnectionId, work: &str) -> Result<PathBuf, IngestError> {
    let name = ProjectPath::parse(&format!("{}.jsonl", work_name(work)))?;
    let path = store.transcript(connection, &name);
    path.map_err(IngestError::Transcript)
}

fn header(line: &str) -> Option<Header> {
    serde_json::from_str(line).ok()
}

impl TranscriptStore for TranscriptFile {
    fn lines(&self) -> Vec<String> {
        let bytes = match read_optional(&self.path) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "a transcript cannot be read: its turns are paid for again");
                return Vec::new();
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        // A killed run may have left a partial line.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut lines = whole.lines().map(str::to_owned).peekable();
        lines.next_if(|first| header(first).is_some());
        lines.collect()
    }

    fn append(&self, line: &str) {
        if let Some(begin) = self.begin.clone().filter(|_| !self.path.exists())
            && let Ok(header) = serde_json::to_string(&Header { begin })
            && let Err(error) = append_line(&self.path, header.as_bytes())
        {
            tracing::warn!(%error, "where a loop began is not kept: a run that is cut off pays for it again");
        }
        if let Err(error) = append_line(&self.path, line.as_bytes()) {
            tracing::warn!(%error, "a turn is not kept: a run that is cut off pays for it again");
        }
    }

    fn clear(&self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(%error, "a transcript that is not needed any more stays");
        }
    }

    fn continued(&self, turns: usize) {
        (self.on_continue)(turns);
    }
}

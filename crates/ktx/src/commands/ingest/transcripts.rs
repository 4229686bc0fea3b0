//! The transcript of a piece of work as a file in the project's local state, so that the next run
//! continues after a budget, a limit, Ctrl-C or a kill.

use ktx_diagnostics::Code;
use std::path::PathBuf;
use std::sync::Arc;

use ktx_ingest::proposal_name;
use ktx_llm_runtime::LlmRuntime;
use ktx_memory::{KeptLoop, TranscriptStore};
use ktx_project_store::{ProjectPath, append_line, read_optional, remove};
use ktx_vocabulary::{ConnectionId, ModelRole};

use crate::printer::{Mode, Printer};
use crate::report::{Failure, Outcome};
use crate::session::Opened;

pub(super) struct TranscriptFile {
    path: PathBuf,
    /// The piece of work, by its name in the progress.
    place: String,
    printer: Printer,
}

impl TranscriptFile {
    /// Returns the transcript of a piece of work of a connection; `place` is its name in the
    /// progress.
    pub(super) fn of(
        connection: &ConnectionId,
        work: &str,
        place: &str,
        opened: &Opened,
        printer: &Printer,
    ) -> Outcome<Arc<Self>> {
        let name = ProjectPath::parse(&format!("{}.jsonl", proposal_name(work)))
            .map_err(|error| Failure::from_error(Code::Internal, &error))?;
        let path = opened
            .store
            .transcript(connection, &name)
            .map_err(|error| {
                Failure::from_error(Code::TranscriptFailed, &error).seen_from(&opened.dir)
            })?;
        Ok(Arc::new(Self {
            path,
            place: place.to_owned(),
            printer: printer.clone(),
        }))
    }

    pub(super) fn kept_loop(
        self: &Arc<Self>,
        role: ModelRole,
        runtime: &Arc<dyn LlmRuntime>,
        opened: &Opened,
    ) -> KeptLoop {
        let config = &opened.config;
        let model = config.model(role).unwrap_or_default();
        let store: Arc<dyn TranscriptStore> = Arc::clone(self) as _;
        KeptLoop {
            store,
            model: format!("{} {model}", config.llm.backend.as_str()),
            backend: runtime.describe(),
        }
    }
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
        whole.lines().map(str::to_owned).collect()
    }

    fn append(&self, line: &str) {
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
        if self.printer.mode != Mode::Json {
            let turns = match turns {
                1 => "1 turn".to_owned(),
                turns => format!("{turns} turns"),
            };
            let place = &self.place;
            self.printer.note(&format!(
                "{place} · continues after {turns} of an earlier run"
            ));
        }
    }
}

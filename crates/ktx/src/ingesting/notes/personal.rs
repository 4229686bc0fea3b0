//! Captures notes into `wiki/user/<id>/`.

use std::collections::BTreeMap;
use std::sync::Arc;

use ktx_context_tools::ProjectContext;
use ktx_diagnostics::{Code, Failure};
use ktx_ingest::{
    AfterFailure, Committed, Failed, IngestError, Note, NoteEvent, NoteProgress, Origin, Truncation,
};
use ktx_llm_runtime::{LlmRuntime, LoopStep};
use ktx_memory::{CaptureRequest, CaptureResult, STEPS, Written, capture_for_user, one_line};
use ktx_project_store::{History, ProjectPath, PublishBase, PublishRequest, Publisher};
use ktx_wiki::UserId;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{Submission, line};
use crate::ingesting::failures::failure;
use crate::invocation::CommandContext;
use crate::printer::Mode;
use crate::report::{Outcome, Report as _};
use crate::scanning::{publish_failure, usable};

pub(super) struct Captures<'a> {
    pub(super) submission: &'a Submission<'a>,
    pub(super) user: &'a UserId,
    pub(super) runtime: Arc<dyn LlmRuntime>,
    pub(super) context: CommandContext<'a>,
    pub(super) cancel: CancellationToken,
}

struct Repository {
    publisher: Publisher,
    history: History,
    folder: ProjectPath,
}

impl Captures<'_> {
    /// Commits each note before the next one. Notes after the last result were not tried.
    pub(super) async fn all(&self) -> Outcome<Vec<Outcome<Committed>>> {
        let CommandContext {
            invocation,
            project,
            ..
        } = self.context;
        let store = &project.store;
        let repository = Repository {
            publisher: store.publisher().map_err(|error| publish_failure(&error))?,
            history: store
                .history()
                .map_err(|error| Failure::from_error(Code::PublishFailed, &error))?,
            folder: ProjectPath::parse(&format!("wiki/user/{}", self.user))
                .map_err(|error| Failure::from_error(Code::Internal, &error))?,
        };
        let context = crate::context::open_for(invocation, project, self.user.as_str())?;
        let mut results = Vec::new();
        let mut is_usable = false;
        for (index, note) in self.submission.notes.iter().enumerate() {
            let result = if let Some(committed) = self.known(note, &repository)? {
                Ok(committed)
            } else {
                if !is_usable {
                    usable(&self.runtime, invocation, &self.cancel).await?;
                    is_usable = true;
                }
                self.one(index, note, &context, &repository).await
            };
            let is_last = result.as_ref().is_err_and(|failed| {
                self.submission.after_failure == AfterFailure::Stop || failed.stop.is_some()
            });
            results.push(result.map_err(|failed| failure(&failed, &project.dir)));
            if is_last {
                break;
            }
        }
        self.runtime.settle().await;
        Ok(results)
    }

    /// The commit line by which a clone knows the user's note.
    fn mark(&self, note: &Note) -> String {
        let text = format!("{}\0{}", self.user, note.text);
        format!("ktx-note: {}", digest(&text))
    }

    fn known(&self, note: &Note, repository: &Repository) -> Outcome<Option<Committed>> {
        let base = repository.publisher.begin();
        let base = base.map_err(|error| publish_failure(&error))?;
        let Some(commit) = base.commit else {
            return Ok(None);
        };
        let mark = self.mark(note);
        let found = repository.history.commits_with(&commit, &mark);
        let found = found.map_err(|error| Failure::from_error(Code::PublishFailed, &error))?;
        Ok(found.into_iter().next().map(|commit| {
            let pages = commit.message.lines();
            let pages = pages.filter_map(|line| line.strip_prefix("pages: "));
            let pages = pages.flat_map(|pages| pages.split(", ")).map(str::to_owned);
            let written = Written {
                wiki: pages.collect(),
                ..Written::default()
            };
            committed(written, Some(commit.id), Origin::EarlierRun)
        }))
    }

    async fn one(
        &self,
        index: usize,
        note: &Note,
        context: &Arc<dyn ProjectContext>,
        repository: &Repository,
    ) -> Result<Committed, Failed> {
        let base = repository.publisher.begin().map_err(IngestError::from)?;
        let files = match &base.commit {
            None => BTreeMap::new(),
            Some(commit) => {
                let files = repository.history.files(commit, &repository.folder);
                files.map_err(IngestError::from)?
            }
        };
        self.report(index, NoteProgress::Started);
        let (printer, event) = (self.context.printer.clone(), self.event(index));
        let request = CaptureRequest {
            label: note.label.clone(),
            note: note.text.clone(),
            connection: None,
            files: Arc::new(files),
            context: Arc::clone(context),
            runtime: Arc::clone(&self.runtime),
            run_id: self.context.invocation.run_id.clone(),
            on_step: Some(Arc::new(move |LoopStep { index, budget }| {
                if printer.mode != Mode::Json {
                    let progress = NoteProgress::Turn { index, budget };
                    printer.note(&line(&NoteEvent {
                        progress,
                        ..event.clone()
                    }));
                }
                Ok(())
            })),
            kept: None,
            cancel: self.cancel.clone(),
        };
        let captured = capture_for_user(request, self.user.clone()).await;
        let captured = captured.map_err(IngestError::from)?;
        self.publish(note, &captured, &base, repository)
    }

    fn publish(
        &self,
        note: &Note,
        captured: &CaptureResult,
        base: &PublishBase,
        repository: &Repository,
    ) -> Result<Committed, Failed> {
        let made = &captured.made;
        let mut lines = vec![format!("ktx ingest: {}", note.subject()), String::new()];
        if !made.wiki.is_empty() {
            lines.push(format!("pages: {}", made.wiki.join(", ")));
        }
        lines.push(format!("noted by: {}", one_line(self.submission.author)));
        if !captured.truncated {
            lines.push(self.mark(note));
        }
        lines.push(String::new());
        let message = lines.join("\n");
        let request = PublishRequest {
            changes: &made.changes,
            message: &message,
            at: self.context.invocation.now,
        };
        let published = repository.publisher.publish(base, &request);
        let published = published.map_err(IngestError::from)?;
        let written = Written {
            wiki: made.wiki.clone(),
            sl: Vec::new(),
            xrefs: made.xrefs.clone(),
        };
        Ok(Committed {
            truncation: captured.truncated.then_some(Truncation::Turns(STEPS)),
            skipped: published.skipped,
            ..committed(written, published.commit, Origin::ThisRun)
        })
    }

    fn event(&self, index: usize) -> NoteEvent {
        let notes = self.submission.notes;
        NoteEvent {
            position: index + 1,
            count: notes.len(),
            label: notes
                .get(index)
                .map(|note| note.label.clone())
                .unwrap_or_default(),
            progress: NoteProgress::Started,
        }
    }

    fn report(&self, index: usize, progress: NoteProgress) {
        if self.context.printer.mode != Mode::Json {
            self.context.printer.note(&line(&NoteEvent {
                progress,
                ..self.event(index)
            }));
        }
    }
}

fn digest(text: &str) -> String {
    crate::audit::hex(&Sha256::digest(text.as_bytes()))
}

fn committed(written: Written, commit: Option<String>, origin: Origin) -> Committed {
    Committed {
        written,
        commit,
        origin,
        truncation: None,
        skipped: Vec::new(),
        withheld: Vec::new(),
    }
}

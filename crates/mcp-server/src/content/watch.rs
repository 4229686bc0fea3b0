//! Watches a project's files while a client listens.

use std::sync::Arc;
use std::time::Duration;

use ktx_context_tools::{ProjectContext, ProjectFile, ProjectState};
use ktx_mcp_bridge::{LazyTools, News, Severity};
use tokio::sync::{Mutex, broadcast};
use tokio::time::Instant;

use super::address::Place;
use super::in_words;

const PAUSE: Duration = Duration::from_secs(1);

/// Large projects must not keep a processor busy.
const PAUSE_FACTOR: u32 = 20;

/// Queued news of a slow client.
const BEHIND: usize = 256;

pub(super) struct Watch {
    context: Arc<dyn ProjectContext>,
    tools: Arc<LazyTools>,
    sender: broadcast::Sender<News>,
    looking: Mutex<bool>,
}

impl Watch {
    pub(super) fn new(context: Arc<dyn ProjectContext>, tools: Arc<LazyTools>) -> Self {
        Self {
            context,
            tools,
            sender: broadcast::channel(BEHIND).0,
            looking: Mutex::new(false),
        }
    }

    pub(super) async fn hear(self: &Arc<Self>) -> broadcast::Receiver<News> {
        let mut looking = self.looking.lock().await;
        let receiver = self.sender.subscribe();
        if !*looking {
            let known = self.look().await.unwrap_or_default();
            *looking = true;
            drop(tokio::spawn(Arc::clone(self).keep_looking(known)));
        }
        receiver
    }

    /// `None` if unavailable now.
    async fn look(&self) -> Option<ProjectState> {
        match self.context.state().await {
            Ok(state) => Some(state),
            Err(failure) => {
                tracing::debug!(message = %failure.message, "the files of the project cannot be looked at");
                None
            }
        }
    }

    async fn keep_looking(self: Arc<Self>, mut known: ProjectState) {
        let mut pause = PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            {
                let mut looking = self.looking.lock().await;
                if self.sender.receiver_count() == 0 {
                    *looking = false;
                    return;
                }
            }
            let begun = Instant::now();
            if let Some(now) = self.look().await {
                self.tell(&now, &known).await;
                known = now;
            }
            pause = PAUSE.max(begun.elapsed() * PAUSE_FACTOR);
        }
    }

    async fn tell(&self, now: &ProjectState, before: &ProjectState) {
        let changes = now.changes_since(before);
        let mut news: Vec<News> = Vec::new();
        let mut has_new_list = false;
        for file in changes {
            let is_new_or_gone =
                !(now.files.contains_key(&file) && before.files.contains_key(&file));
            match file {
                ProjectFile::Config => {
                    news.extend(self.reloaded().await);
                    has_new_list = true;
                }
                ProjectFile::Tool(_) => {
                    self.tools.forget();
                    news.push(News::Tools);
                }
                ProjectFile::Page(key) => {
                    has_new_list |= is_new_or_gone;
                    news.push(News::Changed(Place::Page(key).uri()));
                }
                ProjectFile::Sources(connection, _) => {
                    has_new_list = true;
                    news.push(News::Changed(format!("ktx://source/{connection}/")));
                    // A hidden source also hides its tables.
                    news.push(News::Changed(format!("ktx://schema/{connection}")));
                }
                ProjectFile::Scan(connection, _) => {
                    news.push(News::Changed(format!("ktx://schema/{connection}")));
                }
            }
        }
        if has_new_list {
            news.push(News::Resources);
        }
        news.dedup();
        for one in news {
            // Sending fails only without listeners.
            drop(self.sender.send(one));
        }
    }

    async fn reloaded(&self) -> Vec<News> {
        self.tools.forget();
        let line = match self.context.connections().await {
            Ok(_) => News::Log(
                Severity::Notice,
                "`ktx.yaml` has changed and is used as it is now".to_owned(),
            ),
            Err(failure) => News::Log(
                Severity::Error,
                format!(
                    "`ktx.yaml` has changed and cannot be used: {}",
                    in_words(&failure)
                ),
            ),
        };
        vec![line, News::Tools]
    }
}

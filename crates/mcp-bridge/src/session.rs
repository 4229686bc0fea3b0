//! A session's log level and watched resources.
#![expect(
    deprecated,
    reason = "the log is on its way out of the protocol, and clients use it"
)]

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{Peer, RoleServer, ServiceError, SubscriptionContext};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::future::FutureExt as _;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::content::{News, ServerContent, Severity};

const LOGGER: &str = "ktx";

/// Per session.
const MOST_WATCHED: usize = 1_000;

const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

/// Dropping the last copy ends the news task.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    preferences: Arc<Preferences>,
    ended: CancellationToken,
    _guard: Arc<DropGuard>,
}

#[derive(Debug)]
struct Preferences {
    /// The minimum, as an index in [`LEVELS`].
    level: AtomicU8,
    watched: Mutex<Watched>,
}

/// URIs and the [`digest`] last seen by the client.
type Watched = BTreeMap<String, u64>;

impl Session {
    pub(crate) fn new() -> Self {
        let ended = CancellationToken::new();
        Self {
            preferences: Arc::new(Preferences {
                level: AtomicU8::new(rank(LoggingLevel::Warning)),
                watched: Mutex::default(),
            }),
            _guard: Arc::new(ended.clone().drop_guard()),
            ended,
        }
    }

    pub(crate) fn set_level(&self, level: LoggingLevel) {
        self.preferences.level.store(rank(level), Ordering::Relaxed);
    }

    pub(crate) fn watch(&self, uri: &str, digest: u64) -> bool {
        let mut watched = self.preferences.watched();
        watched.len() < MOST_WATCHED && {
            watched.insert(uri.to_owned(), digest);
            true
        }
    }

    pub(crate) fn unwatch(&self, uri: &str) {
        self.preferences.watched().remove(uri);
    }

    /// Requests of the newer protocol carry their own level; none means no lines.
    pub(crate) async fn log(&self, peer: &Peer<RoleServer>, line: Line) {
        self.preferences.log(peer, line).await;
    }

    pub(crate) fn hear(&self, content: Arc<dyn ServerContent>, peer: Peer<RoleServer>) {
        let (preferences, ended) = (Arc::clone(&self.preferences), self.ended.clone());
        let work = async move {
            let mut news = content.news().await;
            while let Some(one) = next(&mut news).await {
                preferences.pass_on(&*content, &peer, one).await;
            }
        };
        drop(tokio::spawn(async move {
            work.with_cancellation_token(&ended).await
        }));
    }
}

/// Differs when a resource's answer differs.
pub(crate) async fn digest(content: &dyn ServerContent, uri: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    match content.read(uri).await {
        // Later parts show in the next part's address.
        Ok(texts) => texts.iter().for_each(|text| {
            text.uri.hash(&mut hasher);
            text.text.hash(&mut hasher);
        }),
        Err(error) => error.to_string().hash(&mut hasher),
    }
    hasher.finish()
}

async fn changed(content: &dyn ServerContent, prefix: &str, watched: &Watched) -> Watched {
    let mut changed = Watched::new();
    for (uri, before) in watched.iter().filter(|(uri, _)| uri.starts_with(prefix)) {
        let now = digest(content, uri).await;
        if now != *before {
            changed.insert(uri.clone(), now);
        }
    }
    changed
}

#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) level: LoggingLevel,
    pub(crate) data: Value,
    pub(crate) requested: Option<RequestedLevel>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedLevel(pub(crate) Option<LoggingLevel>);

impl Preferences {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn log(&self, peer: &Peer<RoleServer>, line: Line) {
        let least = match line.requested {
            Some(RequestedLevel(Some(level))) => rank(level),
            Some(RequestedLevel(None)) => return,
            None => self.level.load(Ordering::Relaxed),
        };
        if rank(line.level) >= least {
            let message = LoggingMessageNotificationParam::new(line.level, line.data);
            let message = message.with_logger(LOGGER);
            drop(peer.notify_logging_message(message).await);
        }
    }

    async fn pass_on(&self, content: &dyn ServerContent, peer: &Peer<RoleServer>, news: News) {
        let sent = match news {
            News::Tools => peer.notify_tool_list_changed().await,
            News::Resources => peer.notify_resource_list_changed().await,
            News::Changed(prefix) => self.pass_on_changes(content, peer, &prefix).await,
            News::Log(severity, text) => {
                let line = Line {
                    level: level(severity),
                    data: Value::from(text),
                    requested: None,
                };
                self.log(peer, line).await;
                Ok(())
            }
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "an MCP client does not hear of a change");
        }
    }

    async fn pass_on_changes(
        &self,
        content: &dyn ServerContent,
        peer: &Peer<RoleServer>,
        prefix: &str,
    ) -> Result<(), ServiceError> {
        let watched = self.watched().clone();
        for (uri, now) in changed(content, prefix, &watched).await {
            // The client may have stopped watching meanwhile.
            if let Some(known) = self.watched().get_mut(&uri) {
                *known = now;
            } else {
                continue;
            }
            let update = ResourceUpdatedNotificationParam::new(uri);
            peer.notify_resource_updated(update).await?;
        }
        Ok(())
    }
}

pub(crate) async fn listen(subscription: &SubscriptionContext, content: &dyn ServerContent) {
    let (accepted, sink) = (subscription.accepted(), subscription.sink());
    let mut news = content.news().await;
    let mut watched = Watched::new();
    for uri in accepted.resource_subscriptions.iter().flatten() {
        watched.insert(uri.clone(), digest(content, uri).await);
    }
    loop {
        let one = tokio::select! {
            () = subscription.cancelled() => return,
            one = next(&mut news) => one,
        };
        let sent = match one {
            None => return,
            Some(News::Tools) if accepted.tools_list_changed == Some(true) => {
                sink.notify_tool_list_changed().await
            }
            Some(News::Resources) if accepted.resources_list_changed == Some(true) => {
                sink.notify_resource_list_changed().await
            }
            Some(News::Changed(prefix)) => {
                let mut sent = Ok(());
                for (uri, now) in changed(content, &prefix, &watched).await {
                    watched.insert(uri.clone(), now);
                    sent = sent.and(sink.notify_resource_updated(uri).await);
                }
                sent
            }
            Some(_) => continue,
        };
        if sent.is_err() {
            return;
        }
    }
}

/// If news was lost, everything counts as changed.
async fn next(news: &mut broadcast::Receiver<News>) -> Option<News> {
    match news.recv().await {
        Ok(one) => Some(one),
        Err(RecvError::Lagged(lost)) => {
            tracing::debug!(lost, "an MCP client is too slow to hear of all changes");
            Some(News::Changed(String::new()))
        }
        Err(RecvError::Closed) => None,
    }
}

fn level(severity: Severity) -> LoggingLevel {
    match severity {
        Severity::Notice => LoggingLevel::Notice,
        Severity::Warning => LoggingLevel::Warning,
        Severity::Error => LoggingLevel::Error,
    }
}

fn rank(level: LoggingLevel) -> u8 {
    let place = LEVELS.iter().position(|known| *known == level);
    place
        .and_then(|place| u8::try_from(place).ok())
        .unwrap_or(u8::MAX)
}

//! Progress of a call, from the tool to the client.

use ktx_tool_descriptors::ProgressSink;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc;

/// Further reports are dropped.
const WAITING: usize = 64;

#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    fraction: f64,
    message: String,
}

impl Report {
    pub(crate) async fn send(self, peer: &Peer<RoleServer>, token: Option<&ProgressToken>) {
        if let Some(token) = token {
            let parameters = ProgressNotificationParam::new(token.clone(), self.fraction)
                .with_total(1.0)
                .with_message(self.message);
            // The answer meets the same closed transport and ends the session.
            drop(peer.notify_progress(parameters).await);
        }
    }
}

#[derive(Debug)]
pub(crate) struct ChannelSink(mpsc::Sender<Report>);

impl ProgressSink for ChannelSink {
    fn report(&self, fraction: f64, message: &str) {
        let report = Report {
            fraction,
            message: message.to_owned(),
        };
        // Progress is not worth waiting for a slow client.
        drop(self.0.try_send(report));
    }
}

#[derive(Debug)]
pub(crate) struct Reports(Option<mpsc::Receiver<Report>>);

impl Reports {
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    pub(crate) async fn next(&mut self) -> Option<Report> {
        match &mut self.0 {
            Some(receiver) => receiver.recv().await,
            None => None,
        }
    }

    pub(crate) fn try_next(&mut self) -> Option<Report> {
        self.0
            .as_mut()
            .and_then(|receiver| receiver.try_recv().ok())
    }
}

pub(crate) fn channel() -> (ChannelSink, Reports) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (ChannelSink(sender), Reports(Some(receiver)))
}

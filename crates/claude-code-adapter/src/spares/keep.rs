//! Keeps one spare until its call or its end.

use std::sync::Arc;

use tokio::io::AsyncReadExt as _;
use tokio::sync::oneshot;
use tokio::time::{Duration, Instant, sleep, sleep_until};

use super::{Order, SharedSpares};
use crate::conversation::{Action, PromptTiming};
use crate::invocation::Query;
use crate::link::Link;
use crate::process::{Ending, Running};
use crate::protocol::{DecodedLine, Frame};

/// On the shelf until its task ends.
pub(super) struct Spare {
    pub(super) shared: Arc<SharedSpares>,
    pub(super) kind: Arc<str>,
    pub(super) number: u64,
}

impl Drop for Spare {
    fn drop(&mut self) {
        self.shared.forget(&self.kind, self.number);
    }
}

enum Next {
    Wait,
    End(Ending),
    Give(oneshot::Sender<Link>),
}

impl Spare {
    pub(super) async fn keep(
        self,
        query: Query,
        pause: Duration,
        mut orders: oneshot::Receiver<Order>,
    ) {
        let opened = tokio::select! {
            biased;
            // There is no child yet.
            _ = &mut orders => return,
            opened = self.open(query, pause) => opened,
        };
        let Some(mut link) = opened else { return };
        let limits = &self.shared.settings.timeouts;
        let ending = match attend(&mut link, limits, &mut orders).await {
            Next::Give(reply) => match reply.send(link) {
                Ok(()) => return,
                Err(returned) => {
                    link = returned;
                    Ending::Stop
                }
            },
            Next::End(ending) => ending,
            Next::Wait => Ending::Stop,
        };
        let Link { running, place, .. } = link;
        running.end(ending, limits).await;
        drop(place);
    }

    async fn open(&self, query: Query, pause: Duration) -> Option<Link> {
        sleep(pause).await;
        let place = self.shared.claim(&self.kind, self.number)?;
        let SharedSpares {
            settings, guard, ..
        } = &*self.shared;
        match Link::open(settings, guard, query, PromptTiming::Release, place).await {
            Ok(link) => Some(link),
            Err(error) => {
                tracing::debug!(%error, "a spare Claude Code process could not be started");
                None
            }
        }
    }
}

async fn attend(
    link: &mut Link,
    limits: &crate::Timeouts,
    orders: &mut oneshot::Receiver<Order>,
) -> Next {
    let mut buffer = vec![0; 8 * 1024];
    let mut deadline = Instant::now() + limits.initialize;
    loop {
        let was_ready = link.conversation.is_ready();
        let (stdout, child) = link.running.parts();
        let next = tokio::select! {
            biased;
            _ = Running::exited(child) => Next::End(Ending::Wait),
            order = &mut *orders => match order {
                Ok(Order::Take(reply)) => Next::Give(reply),
                Ok(Order::End(ending)) => Next::End(ending),
                Err(_) => Next::End(Ending::Stop),
            },
            () = sleep_until(deadline) => Next::End(if was_ready { Ending::Wait } else { Ending::Stop }),
            read = stdout.read(&mut buffer) => match read {
                Ok(count @ 1..) => handle_output(link, buffer.get(..count).unwrap_or_default()),
                Ok(0) | Err(_) => Next::End(Ending::Stop),
            },
        };
        if !matches!(next, Next::Wait) {
            return next;
        }
        if !was_ready && link.conversation.is_ready() {
            deadline = Instant::now() + limits.spare_idle;
        }
    }
}

/// Other messages make it unfit.
fn handle_output(link: &mut Link, bytes: &[u8]) -> Next {
    let Ok(lines) = link.decoder.push(bytes) else {
        return Next::End(Ending::Kill);
    };
    for line in lines {
        let value = match line {
            DecodedLine::Json(value) => value,
            DecodedLine::Broken(_) => return Next::End(Ending::Kill),
            DecodedLine::Stray(_) => continue,
        };
        for action in link.conversation.on_frame(Frame::read(&value)) {
            match action {
                Action::Send(line) => link.running.input.send(&line),
                Action::Note(_) => {}
                Action::Call { .. } | Action::Abort { .. } | Action::Fail(_) | Action::Finish => {
                    return Next::End(Ending::Kill);
                }
            }
        }
    }
    if link.conversation.is_verified() {
        return Next::End(Ending::Kill);
    }
    Next::Wait
}

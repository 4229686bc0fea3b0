//! `ktx agent sessions events` (KODE-44).

use std::time::Duration;

use ktx_agent_session::{Channels, SessionError, envelope};
use ktx_diagnostics::Exit;
use ktx_session_log::{LogReader, SessionId};

use crate::cli::SessionEventsArgs;
use crate::commands::agent::display::channels;
use crate::commands::agent::failures::session_failure;
use crate::commands::agent::session_store;
use crate::compose;
use crate::invocation::Invocation;
use crate::opening::open_project;
use crate::printer::Printer;
use crate::report::Outcome;

const LOOKS: Duration = Duration::from_millis(50);

pub(super) fn run(args: &SessionEventsArgs, invocation: &Invocation) -> Outcome {
    let printer = invocation.printer(&args.output)?;
    let project = open_project(invocation, &printer)?;
    let sessions = session_store::sessions(invocation, &project.dir);
    let id = session_store::find(&sessions, &args.id)?;
    let reader = sessions.store().read(&id);
    let mut tail = Tail {
        reader: reader.map_err(session_failure)?,
        id: &id,
        channels: channels(&args.channels),
        since: args.since,
        printer: &printer,
    };
    tail.print_written()?;
    let last = tail.reader.seq();
    if args.since > last {
        return Err(session_failure(SessionError::Bookmark {
            since: args.since,
            last,
        }));
    }
    if args.follow {
        compose::block_on(|cancel| async move {
            while !cancel.is_cancelled() {
                tail.print_written()?;
                tokio::select! {
                    () = cancel.cancelled() => {}
                    () = tokio::time::sleep(LOOKS) => {}
                }
            }
            Ok(())
        })?;
    }
    Ok(Exit::Success)
}

struct Tail<'a> {
    reader: LogReader,
    id: &'a SessionId,
    channels: Channels,
    since: u64,
    printer: &'a Printer,
}

impl Tail<'_> {
    fn print_written(&mut self) -> Outcome<()> {
        while let Some(record) = self.reader.next_record().map_err(session_failure)? {
            if record.seq > self.since && self.channels.has(&record) {
                self.printer.json_line(&envelope(self.id, &record))?;
            }
        }
        Ok(())
    }
}

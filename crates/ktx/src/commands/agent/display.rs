//! Prints the events of a session.

use ktx_agent_session::{CallState, CallView, Channels, Event, envelope};
use ktx_session_log::{Channel, Record, SessionId};
use serde_json::Value;

use crate::cli::EventChannel;
use crate::markdown::MarkdownStream;
use crate::printer::{Mode, Printer};
use crate::report::Outcome;

/// Characters of a tool call's arguments.
const SHOWN: usize = 100;
/// Columns around them: the margin, a space, an ellipsis and the terminal's last column.
const FRAME: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    /// The answer, streamed for display.
    Live,
    /// Like `Live`, with one timed line per tool call.
    Chat,
    Whole,
    Result,
    Events,
}

impl Telling {
    pub(super) const fn of(mode: Mode) -> Self {
        match mode {
            Mode::Pretty => Self::Live,
            Mode::Plain => Self::Whole,
            Mode::Json => Self::Result,
        }
    }
}

pub(super) fn channels(chosen: &[EventChannel]) -> Channels {
    Channels::new(chosen.iter().map(|channel| match channel {
        EventChannel::Progress => Channel::Progress,
        EventChannel::Control => Channel::Control,
        EventChannel::Monitor => Channel::Monitor,
    }))
}

pub(super) fn heard(telling: Telling, chosen: &[EventChannel]) -> Channels {
    match telling {
        Telling::Events => channels(chosen),
        Telling::Live | Telling::Chat | Telling::Whole => {
            Channels::new([Channel::Progress, Channel::Monitor])
        }
        Telling::Result => Channels::new([]),
    }
}

pub(super) struct Display<'a> {
    printer: &'a Printer,
    telling: Telling,
    session: &'a SessionId,
    markdown: Option<MarkdownStream>,
    width: Option<u16>,
    is_within_line: bool,
}

impl<'a> Display<'a> {
    pub(super) fn new(printer: &'a Printer, telling: Telling, session: &'a SessionId) -> Self {
        let width = printer.width();
        Self {
            printer,
            telling,
            session,
            markdown: width.map(MarkdownStream::new),
            width,
            is_within_line: false,
        }
    }

    pub(super) fn show(&mut self, record: &Record) -> Outcome<()> {
        match self.telling {
            Telling::Events => {
                return self.printer.json_line(&envelope(self.session, record));
            }
            Telling::Result => return Ok(()),
            Telling::Live | Telling::Chat | Telling::Whole => {}
        }
        let is_chat = self.telling == Telling::Chat;
        match serde_json::from_value(Value::Object(record.event.clone())) {
            Ok(Event::TextChunk { delta }) if self.telling != Telling::Whole => {
                self.is_within_line = !delta.ends_with('\n');
                match &mut self.markdown {
                    Some(markdown) => self.printer.pieces(&markdown.push(&delta)),
                    None => self.printer.out(&delta),
                }
            }
            Ok(Event::ToolEnd { call }) if is_chat => self.note(&self.ended(&call)),
            Ok(Event::ToolStart { call }) if !is_chat => self.note(&self.started(&call)),
            Ok(Event::ToolError { call, error }) if call.state == CallState::Denied => {
                self.note(&format!("{}: {error}", call.name))
            }
            Ok(Event::Status { text }) => self.note(&text),
            _ => Ok(()),
        }
    }

    /// Prints a line on stderr, below the answer if both share a terminal.
    pub(super) fn note(&mut self, words: &str) -> Outcome<()> {
        self.end_line()?;
        self.printer.note(words);
        Ok(())
    }

    pub(super) fn end_line(&mut self) -> Outcome<()> {
        if let Some(markdown) = &mut self.markdown {
            self.is_within_line = false;
            return self.printer.pieces(&markdown.finish());
        }
        if std::mem::take(&mut self.is_within_line) {
            self.printer.out("\n")?;
        }
        Ok(())
    }

    fn ended(&self, call: &CallView) -> String {
        let mark = if call.is_error == Some(true) {
            "✗"
        } else {
            "✓"
        };
        let mut end = format!(" {mark}");
        if let Some(duration) = call.duration_ms {
            let tenths = duration.div_ceil(100);
            end = format!("{end} {}.{} s", tenths / 10, tenths % 10);
        }
        end = match call.rows {
            Some(1) => format!("{end} · 1 row"),
            Some(rows) => format!("{end} · {rows} rows"),
            None => end,
        };
        format!("  {}{end}", self.call_line(call, end.chars().count()))
    }

    fn started(&self, call: &CallView) -> String {
        self.call_line(call, 0)
    }

    /// Leaves `end` columns of the line free.
    fn call_line(&self, call: &CallView, end: usize) -> String {
        let arguments = &call.input_preview;
        let room = self.width.map_or(SHOWN, |width| {
            let rest = usize::from(width).saturating_sub(call.name.len() + FRAME + end);
            rest.min(SHOWN)
        });
        let shown: String = arguments.chars().take(room).collect();
        let more = if shown.len() < arguments.len() {
            "…"
        } else {
            ""
        };
        format!("{} {shown}{more}", call.name)
    }
}

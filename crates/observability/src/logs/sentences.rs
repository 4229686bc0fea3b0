//! Formats warnings for display: a sentence without its module.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// `warning: what happened: why (what else)`
pub(super) struct SentenceFormat;

impl<S, N> FormatEvent<S, N> for SentenceFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut sentence = Sentence::default();
        event.record(&mut sentence);
        let word = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => "note",
        };
        writeln!(writer, "{word}: {}", sentence.text())
    }
}

#[derive(Debug, Default)]
struct Sentence {
    what: String,
    why: String,
    more: String,
}

impl Sentence {
    fn text(&self) -> String {
        let mut text = self.what.clone();
        if !self.why.is_empty() {
            text = format!("{text}: {}", self.why);
        }
        if !self.more.is_empty() {
            text = format!("{text} ({})", self.more);
        }
        text
    }

    fn take(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.what),
            "error" | "reason" => value.clone_into(&mut self.why),
            name => {
                let comma = if self.more.is_empty() { "" } else { ", " };
                // Writing to a string does not fail.
                write!(self.more, "{comma}{name}: {value}").unwrap_or_default();
            }
        }
    }
}

impl Visit for Sentence {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.take(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the sentences.

    use super::*;

    fn logged(event: impl FnOnce()) -> String {
        use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
        struct LastLine(std::sync::Arc<std::sync::Mutex<String>>);
        impl<S: Subscriber> Layer<S> for LastLine {
            fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
                let mut sentence = Sentence::default();
                event.record(&mut sentence);
                *self.0.lock().unwrap() = sentence.text();
            }
        }
        let kept = std::sync::Arc::default();
        let keep = LastLine(std::sync::Arc::clone(&kept));
        let subscriber = tracing_subscriber::registry().with(keep);
        tracing::subscriber::with_default(subscriber, event);
        let text = kept.lock().unwrap();
        text.clone()
    }

    #[test]
    fn a_warning_is_a_sentence() {
        let error = std::io::Error::other("the disk is full");
        assert_eq!(
            logged(|| tracing::warn!(%error, tries = 2, "a note could not be written")),
            "a note could not be written: the disk is full (tries: 2)"
        );
        assert_eq!(
            logged(|| tracing::warn!(reason = "it is locked", "the known limits are not stored")),
            "the known limits are not stored: it is locked"
        );
        assert_eq!(logged(|| tracing::warn!("plain")), "plain");
    }
}

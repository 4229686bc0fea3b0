//! Redacted log lines on stderr, and the global subscriber.

mod sentences;

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use tracing_subscriber::filter::{EnvFilter, FilterFn, LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Filter, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::collect::{self, SpanCollector};
use crate::export::Exporter;
use crate::redaction::SharedRedactor;
use sentences::SentenceFormat;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    #[default]
    Text,
    /// One object per line.
    Json,
}

impl LogFormat {
    pub const ALL: [Self; 2] = [Self::Text, Self::Json];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == text)
    }
}

/// Foreign text must not control the terminal.
pub type LineEscape = for<'t> fn(&'t str) -> Cow<'t, str>;

#[derive(Debug, Clone, Default)]
pub struct LogSettings {
    /// Syntax of `tracing`; default: warnings of ktx.
    pub filter: Option<String>,
    pub format: LogFormat,
    /// Not used for JSON.
    pub shown: Option<LineEscape>,
}

/// Once per process. Returns warnings about the settings.
pub fn install(
    logs: &LogSettings,
    exporter: Option<Arc<Exporter>>,
    redactor: SharedRedactor,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let filter = log_filter(logs.filter.as_deref(), &mut warnings);
    let shown = logs.shown.filter(|_| logs.format == LogFormat::Text);
    let writer = RedactedStderr { redactor, shown };
    let lines = match logs.format {
        // Without an explicit filter, lines are plain sentences.
        LogFormat::Text if logs.filter.is_none() => fmt::layer()
            .with_writer(writer)
            .event_format(SentenceFormat)
            .with_filter(filter)
            .boxed(),
        LogFormat::Text => fmt::layer()
            .with_writer(writer)
            .with_ansi(false)
            .without_time()
            .with_filter(filter)
            .boxed(),
        LogFormat::Json => fmt::layer()
            .json()
            .with_writer(writer)
            .with_filter(filter)
            .boxed(),
    };
    let mut layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> = vec![lines];
    if let Some(exporter) = exporter {
        let traces = FilterFn::new(collect::concerns).with_max_level_hint(LevelFilter::INFO);
        layers.push(SpanCollector::new(exporter).with_filter(traces).boxed());
    }
    if tracing_subscriber::registry()
        .with(layers)
        .try_init()
        .is_err()
    {
        tracing::debug!("logs are set up already");
    }
    warnings
}

fn log_filter(
    wanted: Option<&str>,
    warnings: &mut Vec<String>,
) -> Box<dyn Filter<Registry> + Send + Sync> {
    // Must stay cheap: every command starts here.
    let usual = || Targets::new().with_target("ktx", LevelFilter::WARN);
    match wanted {
        None => Box::new(usual()),
        Some(text) => match EnvFilter::try_new(text) {
            Ok(filter) => Box::new(filter),
            Err(error) => {
                warnings.push(format!(
                    "`KTX_LOG` is `{text}`, which is not a filter: {error}; warnings are logged"
                ));
                Box::new(usual())
            }
        },
    }
}

#[derive(Debug, Clone)]
struct RedactedStderr {
    redactor: SharedRedactor,
    shown: Option<LineEscape>,
}

impl<'a> MakeWriter<'a> for RedactedStderr {
    type Writer = LogLine<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        LogLine {
            redactor: &self.redactor,
            shown: self.shown,
            bytes: Vec::new(),
        }
    }
}

/// Written in one piece.
#[derive(Debug)]
struct LogLine<'a> {
    redactor: &'a SharedRedactor,
    shown: Option<LineEscape>,
    bytes: Vec<u8>,
}

impl Write for LogLine<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl LogLine<'_> {
    fn text(&self) -> String {
        let text = self.redactor.redact(&String::from_utf8_lossy(&self.bytes));
        match (self.shown, text.strip_suffix('\n')) {
            (Some(shown), Some(line)) => format!("{}\n", shown(line)),
            (Some(shown), None) => shown(&text).into_owned(),
            (None, _) => text,
        }
    }
}

impl Drop for LogLine<'_> {
    fn drop(&mut self) {
        let text = self.text();
        // A closed stderr cannot be reported.
        std::io::stderr()
            .write_all(text.as_bytes())
            .unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;

//! Installs logs and traces.

use std::sync::Arc;

use ktx_config::Environment;
use ktx_observability::{
    ContentCapture, Delivery, Exporter, LogFormat, LogSettings, SharedRedactor, TraceSettings,
};

/// Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Telemetry {
    exporter: Option<Arc<Exporter>>,
    capture: ContentCapture,
    redactor: SharedRedactor,
}

impl Telemetry {
    /// Sends nothing: `connect` makes the sender for the first spans.
    pub(crate) fn install(
        environment: &Environment,
        connect: fn() -> Result<Box<dyn Delivery>, String>,
    ) -> Self {
        let redactor = SharedRedactor::default();
        let traces = TraceSettings::read(&|name| environment.text(name));
        let exporter = traces
            .export
            .map(|settings| Arc::new(Exporter::new(settings, redactor.clone(), connect)));
        let mut warnings = traces.warnings;
        let written = environment.text("KTX_LOG_FORMAT");
        let format = written.and_then(LogFormat::parse);
        if let (Some(written), None) = (written, format) {
            warnings.push(format!(
                "`KTX_LOG_FORMAT` is `{written}`, not `text` or `json`; text is written"
            ));
        }
        let logs = LogSettings {
            filter: environment.log_filter().map(str::to_owned),
            format: format.unwrap_or_default(),
            shown: Some(crate::foreign::log_line),
        };
        warnings.extend(ktx_observability::install(
            &logs,
            exporter.clone(),
            redactor.clone(),
        ));
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        Self {
            exporter,
            capture: traces.capture,
            redactor,
        }
    }

    pub(crate) const fn capture(&self) -> ContentCapture {
        self.capture
    }

    pub(crate) fn hide(&self, secret: &ktx_secrets::Secret) {
        self.redactor.learn(secret);
    }

    pub(crate) fn redact(&self, text: &str) -> String {
        self.redactor.redact(text)
    }

    /// Waits a bounded time.
    pub(crate) fn finish(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.finish();
        }
    }
}

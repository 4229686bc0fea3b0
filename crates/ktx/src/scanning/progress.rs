//! Scan progress: a bar on terminals, else plain lines, no output in JSON mode.

use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ktx_diagnostics::counted;
use ktx_scan::{ScanEstimate, ScanEvent, ScanEvents, ScanStage};

use crate::foreign::one_line;
use crate::printer::{Mode, Printer};

#[derive(Debug)]
pub(crate) struct ScanProgress {
    printer: Printer,
    connection: String,
    bar: Mutex<Option<ProgressBar>>,
}

impl ScanProgress {
    pub(crate) fn new(printer: Printer, connection: &str) -> Self {
        Self {
            printer,
            connection: connection.to_owned(),
            bar: Mutex::new(None),
        }
    }

    fn line(&self, text: &str) {
        if self.printer.mode != Mode::Json && !self.printer.interactive {
            self.printer.note(&format!("{} · {text}", self.connection));
        }
    }

    fn stage(&self, stage: ScanStage, total: Option<usize>) {
        if !self.printer.interactive || self.printer.mode == Mode::Json {
            return;
        }
        let length = total.map(|total| u64::try_from(total).unwrap_or(u64::MAX));
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
        let template = if total.is_some() {
            "{prefix} {bar:24} {pos}/{len} · {eta} left · {msg}"
        } else {
            "{prefix} {spinner} {msg}"
        };
        // The template is constant and affects only appearance.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(format!("{} · {:14}", self.connection, stage.name()));
        if let Ok(mut held) = self.bar.lock()
            && let Some(before) = held.replace(bar)
        {
            finish(&before);
        }
    }
}

/// Counted stages stay visible; spinners disappear.
fn finish(bar: &ProgressBar) {
    let Some(length) = bar.length() else {
        return bar.finish_and_clear();
    };
    if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {pos}/{len}") {
        bar.set_style(style);
    }
    bar.set_position(length);
    bar.finish();
}

impl ScanEvents for ScanProgress {
    fn event(&self, event: ScanEvent) {
        match event {
            ScanEvent::StageStarted { stage, total } => {
                self.stage(stage, total);
                let count = total.map(|total| format!(" ({total})")).unwrap_or_default();
                self.line(&format!("{}{count}", stage.name()));
            }
            ScanEvent::UnitDone { unit, done, .. } => {
                if let Ok(held) = self.bar.lock()
                    && let Some(bar) = held.as_ref()
                {
                    bar.set_message(one_line(&unit).into_owned());
                    bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
                }
            }
            ScanEvent::SchemaRead { tables, columns } => {
                self.line(&format!(
                    "{}, {}",
                    counted(tables, "table"),
                    counted(columns, "column")
                ));
            }
            ScanEvent::RelationshipsFound {
                accepted, review, ..
            } => {
                self.line(&format!(
                    "{}, {review} to review",
                    counted(accepted, "join")
                ));
            }
            ScanEvent::Estimated(estimate) => {
                if self.printer.mode != Mode::Json && is_slow_first_scan(&estimate) {
                    let text = crate::scanning::estimate_text(&estimate);
                    let connection = &self.connection;
                    self.printer
                        .note(&format!("{connection} · first scan: {text}"));
                }
            }
            // The report lists warnings in stable order.
            ScanEvent::Warning(_) | ScanEvent::Compared(_) => {}
            ScanEvent::Finished { .. } => {
                if let Ok(mut held) = self.bar.lock()
                    && let Some(bar) = held.take()
                {
                    finish(&bar);
                }
            }
        }
    }
}

/// True if a first scan is slow.
const fn is_slow_first_scan(estimate: &ScanEstimate) -> bool {
    let is_new = estimate.reused < estimate.tables;
    is_new && (estimate.statements_at_most > 20 || estimate.rows_read < estimate.rows)
}

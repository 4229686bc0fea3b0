//! The probe: one isolated turn that proves that the local session can be used (KTX-83, KTX-84).

use ktx_llm_runtime::{CallLabel, LlmError, LlmErrorKind, ProbeReport};
use ktx_vocabulary::{ModelRole, RunId};
use tokio_util::sync::CancellationToken;

use crate::call::run;
use crate::conversation::Note;
use crate::host::{Host, version_warning};
use crate::invocation::Purpose;
use crate::process::find_program;
use crate::report::Caller;
use crate::runtime::{model_of, natural, query_for};

/// Runs the probe.
pub(crate) async fn probe(host: &Host) -> Result<ProbeReport, LlmError> {
    let program = find_program(&host.settings)?;
    let role = ModelRole::Default;
    let query = query_for(
        host,
        role,
        Purpose::Probe,
        "Answer with one word.".to_owned(),
        "Say ok.".to_owned(),
        "probe",
    )?;
    let run_id = RunId::parse("probe")
        .map_err(|error| LlmError::new(LlmErrorKind::Internal, error.to_string()))?;
    let caller = Caller {
        role,
        label: CallLabel {
            run_id,
            stage: "probe".to_owned(),
            unit: None,
            connection: None,
        },
        cancel: CancellationToken::new(),
    };
    let mut warnings = Vec::new();
    let mut observe = |note: &Note| {
        if let Note::Warning(warning) = note {
            warnings.push(warning.clone());
        }
    };
    let report = run(host, query, &caller, &mut observe).await;
    natural(host, role, &report)?;
    let version = host.version().unwrap_or_default();
    warnings.extend(version_warning(&version));
    let asked = model_of(host, role)?;
    let model = match &report.metrics.model {
        Some(model) if *model != asked => format!("{asked} ({model})"),
        _ => asked,
    };
    let facts = [
        ("executable", program.display().to_string()),
        ("version", version),
        ("model", model),
        ("paid by", host.payer()),
    ];
    Ok(ProbeReport {
        facts: facts
            .map(|(label, value)| (label.to_owned(), value))
            .to_vec(),
        warnings,
    })
}

//! The probe: one isolated turn that proves that the local session can be used (KTX-83, KTX-84).

use ktx_llm_runtime::{CallLabel, LlmError, ProbeReport, ProbeRequest};
use ktx_vocabulary::ModelRole;

use crate::call::run;
use crate::conversation::Note;
use crate::host::{Host, version_warning};
use crate::invocation::Purpose;
use crate::process::find_program;
use crate::report::Caller;
use crate::runtime::{model_of, natural, query_for};

/// Runs the probe of this run.
pub(crate) async fn probe(host: &Host, request: ProbeRequest) -> Result<ProbeReport, LlmError> {
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
    let caller = Caller {
        role,
        label: CallLabel::of_probe(&request.run_id),
        cancel: request.cancel,
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

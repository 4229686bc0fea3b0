//! Admits a statement to a connection.

use ktx_diagnostics::{Code, Failure};
use ktx_read_only_sql::{AllowedFunctions, FunctionName};
use ktx_read_only_sql::{ReadOnlySql, Refusal};
use tokio_util::sync::CancellationToken;

use crate::connector::FunctionVerdict;
use crate::{Connector, WarehouseError};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Failed(#[from] WarehouseError),
}

impl From<AdmissionError> for Failure {
    fn from(error: AdmissionError) -> Self {
        match error {
            AdmissionError::Refused(refusal) => refusal.into(),
            AdmissionError::Failed(error) => error.into(),
        }
    }
}

/// Asks the warehouse about unknown functions only if the gate has no other objection.
///
/// # Errors
///
/// [`AdmissionError::Refused`] if the statement could write; [`AdmissionError::Failed`] if the
/// warehouse did not answer.
pub async fn admit(
    sql: &str,
    connector: &dyn Connector,
    allowed: &AllowedFunctions,
    cancel: &CancellationToken,
) -> Result<ReadOnlySql, AdmissionError> {
    let dialect = match connector.server_dialect(cancel).await {
        Ok(dialect) => dialect,
        Err(error) => {
            // Without a server, the gate still refuses.
            return Err(
                match ktx_read_only_sql::check_allowing(sql, connector.dialect(), allowed) {
                    Err(refusal) if refusal.unknown_functions.is_empty() => refusal.into(),
                    _ => error.into(),
                },
            );
        }
    };
    let refusal = match ktx_read_only_sql::check_allowing(sql, dialect, allowed) {
        Ok(statement) => return Ok(statement),
        Err(refusal) => refusal,
    };
    if refusal.unknown_functions.is_empty() {
        return Err(refusal.into());
    }
    let names = refusal.unknown_functions.clone();
    let verdicts = connector.judge_functions(&names, cancel).await?;
    let refused = names
        .iter()
        .zip(&verdicts)
        .find(|(_, verdict)| **verdict != FunctionVerdict::Reads);
    match refused {
        Some((name, verdict)) => Err(refusal_of(name, verdict, &refusal).into()),
        None => Ok(ktx_read_only_sql::check_allowing(
            sql,
            dialect,
            &allowed.clone().with(names),
        )?),
    }
}

fn refusal_of(name: &FunctionName, verdict: &FunctionVerdict, refusal: &Refusal) -> Refusal {
    let because = match verdict {
        FunctionVerdict::NotFound => {
            return Refusal {
                code: Code::FunctionNotFound,
                reason: format!("the warehouse shows no function `{name}` to this login"),
                unknown_functions: Vec::new(),
            };
        }
        FunctionVerdict::MayWrite { because } => format!(": {because}"),
        FunctionVerdict::Reads | FunctionVerdict::NotRecorded => String::new(),
    };
    Refusal {
        code: refusal.code,
        reason: format!("the function `{name}` is not known to only read{because}"),
        unknown_functions: vec![name.clone()],
    }
}

//! Why a statement is refused, and what its author can do.

use ktx_diagnostics::{Code, Failure};

use crate::user_functions::FunctionName;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    pub code: Code,
    pub reason: String,
    /// Empty if there is another objection: a connection can allow these functions.
    pub unknown_functions: Vec<FunctionName>,
}

impl Refusal {
    pub fn permission(&self) -> Option<String> {
        if self.unknown_functions.is_empty() {
            return None;
        }
        let names: Vec<String> = self
            .unknown_functions
            .iter()
            .map(ToString::to_string)
            .collect();
        Some(format!(
            "if it only reads, allow it in ktx.yaml: `allowed_functions: [{}]` in the connection",
            names.join(", ")
        ))
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let hint = match (refusal.permission(), refusal.code) {
            (Some(permission), _) => permission,
            (None, Code::ParseError) => {
                "correct the statement or rewrite it; ktx sends only what it can parse".to_owned()
            }
            (None, Code::FunctionNotFound) => {
                "correct the name, or write its schema before it".to_owned()
            }
            (None, Code::TooDeep | Code::TooLarge) => {
                "write it shorter or flatter, such as with `WITH` and lists, or ask in parts"
                    .to_owned()
            }
            (None, _) => "send one query that only reads".to_owned(),
        };
        Self::new(refusal.code, refusal.reason).hint(hint)
    }
}

pub(crate) fn refuse<T>(code: Code, reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        code,
        reason: reason.into(),
        unknown_functions: Vec::new(),
    })
}

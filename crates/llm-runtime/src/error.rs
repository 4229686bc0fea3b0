//! One error taxonomy for every backend (KTX-67, KODE-72).

use std::time::Duration;

use ktx_diagnostics::{Code, Failure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LlmErrorKind {
    Auth,
    Billing,
    /// See [`LlmError::retry_after`].
    RateLimit,
    Overloaded,
    Server,
    Transport,
    Timeout,
    ContextTooLong,
    MaxOutput,
    Refusal,
    ModelNotFound,
    /// COG-20.
    UnknownTool,
    InvalidRequest,
    StructuredOutput,
    Permission,
    /// The execution surface was not the requested one; the run stopped before any output.
    Isolation,
    MaxTurns,
    Budget,
    Cancelled,
    Process,
    /// Another process may finish the call.
    Crashed,
    Protocol,
    Internal,
}

impl LlmErrorKind {
    pub const ALL: [Self; 23] = [
        Self::Auth,
        Self::Billing,
        Self::RateLimit,
        Self::Overloaded,
        Self::Server,
        Self::Transport,
        Self::Timeout,
        Self::ContextTooLong,
        Self::MaxOutput,
        Self::Refusal,
        Self::ModelNotFound,
        Self::UnknownTool,
        Self::InvalidRequest,
        Self::StructuredOutput,
        Self::Permission,
        Self::Isolation,
        Self::MaxTurns,
        Self::Budget,
        Self::Cancelled,
        Self::Process,
        Self::Crashed,
        Self::Protocol,
        Self::Internal,
    ];

    pub const fn code(self) -> Code {
        match self {
            Self::Auth => Code::LlmAuth,
            Self::Billing => Code::LlmBilling,
            Self::RateLimit => Code::LlmRateLimit,
            Self::Overloaded => Code::LlmOverloaded,
            Self::Server => Code::LlmServer,
            Self::Transport => Code::LlmTransport,
            Self::Timeout => Code::LlmTimeout,
            Self::ContextTooLong => Code::LlmContextTooLong,
            Self::MaxOutput => Code::LlmMaxOutput,
            Self::Refusal => Code::LlmRefusal,
            Self::ModelNotFound => Code::LlmModelNotFound,
            Self::UnknownTool => Code::LlmUnknownTool,
            Self::InvalidRequest => Code::LlmInvalidRequest,
            Self::StructuredOutput => Code::LlmStructuredOutput,
            Self::Permission => Code::LlmPermission,
            Self::Isolation => Code::LlmIsolation,
            Self::MaxTurns => Code::LlmMaxTurns,
            Self::Budget => Code::LlmBudget,
            Self::Cancelled => Code::Cancelled,
            Self::Process => Code::LlmProcess,
            Self::Crashed => Code::LlmCrashed,
            Self::Protocol => Code::LlmProtocol,
            Self::Internal => Code::LlmInternal,
        }
    }

    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimit
                | Self::Overloaded
                | Self::Server
                | Self::Transport
                | Self::Timeout
                | Self::Crashed
        )
    }

    /// Returns the run's error code (COG-18, COG-19).
    pub const fn run_code(self) -> RunErrorCode {
        match self {
            Self::ModelNotFound | Self::UnknownTool => RunErrorCode::NotFound,
            Self::Billing => RunErrorCode::InsufficientCredits,
            Self::RateLimit | Self::Budget => RunErrorCode::RateLimit,
            Self::Timeout | Self::MaxTurns => RunErrorCode::Timeout,
            Self::Auth | Self::ContextTooLong | Self::InvalidRequest | Self::Refusal => {
                RunErrorCode::InvalidRequest
            }
            Self::Cancelled => RunErrorCode::Aborted,
            Self::Overloaded | Self::Server | Self::Transport => RunErrorCode::ProviderUnavailable,
            Self::MaxOutput
            | Self::StructuredOutput
            | Self::Permission
            | Self::Isolation
            | Self::Process
            | Self::Crashed
            | Self::Protocol
            | Self::Internal => RunErrorCode::Internal,
        }
    }
}

/// Error code of a run's final record (COG-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunErrorCode {
    InvalidRequest,
    NotFound,
    /// Turns or time were used up.
    Timeout,
    Aborted,
    /// A limit of the provider or of a budget.
    RateLimit,
    Internal,
    InsufficientCredits,
    ProviderUnavailable,
}

impl RunErrorCode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::NotFound => "not_found",
            Self::Timeout => "timeout",
            Self::Aborted => "aborted",
            Self::RateLimit => "rate_limit",
            Self::Internal => "internal",
            Self::InsufficientCredits => "insufficient_credits",
            Self::ProviderUnavailable => "provider_unavailable",
        }
    }
}

/// A failed call. `message` and `hint` are text of ktx and can be shown (COG-19).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LlmError {
    pub kind: LlmErrorKind,
    /// Lower case, no full stop, no text of the backend.
    pub message: String,
    pub hint: Option<String>,
    /// The backend's redacted text; only for logs and `--debug`.
    pub detail: Option<String>,
    pub retry_after: Option<Duration>,
    pub sent: RequestSent,
}

impl From<LlmError> for Failure {
    fn from(error: LlmError) -> Self {
        let mut failure = Self::new(error.kind.code(), error.message);
        failure.detail.backend_text = error.detail;
        match error.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestSent {
    /// Sent, or unknown.
    #[default]
    Yes,
    /// Not sent, because an earlier limit still applies.
    No,
}

impl LlmError {
    pub fn new(kind: LlmErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            detail: None,
            retry_after: None,
            sent: RequestSent::default(),
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub fn cancelled() -> Self {
        Self::new(LlmErrorKind::Cancelled, "cancelled")
    }
}

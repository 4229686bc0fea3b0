//! One error taxonomy for every backend (KTX-67, KODE-72).

use std::time::Duration;

use ktx_diagnostics::Code;

/// What went wrong, the same words on every backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LlmErrorKind {
    /// No usable login or key.
    Auth,
    /// No credit, or the account may not use the model.
    Billing,
    /// A rate or usage limit; see [`LlmError::retry_after`].
    RateLimit,
    /// The provider is overloaded.
    Overloaded,
    /// The provider failed on its side.
    Server,
    /// The connection failed or broke.
    Transport,
    /// No answer in time.
    Timeout,
    /// The prompt does not fit the model.
    ContextTooLong,
    /// The answer does not fit the output limit.
    MaxOutput,
    /// The model or a filter refused.
    Refusal,
    /// The model does not exist or is not available.
    ModelNotFound,
    /// The request names a tool that does not exist (COG-20).
    UnknownTool,
    /// The request was wrong in itself.
    InvalidRequest,
    /// The answer never matched the schema.
    StructuredOutput,
    /// A tool or permission rule was broken.
    Permission,
    /// The execution surface was not the one asked for; the run was stopped before any output.
    Isolation,
    /// The turn budget was used up before the answer.
    MaxTurns,
    /// A budget of money, tokens or time was used up.
    Budget,
    /// The caller cancelled.
    Cancelled,
    /// The child process cannot be started or used.
    Process,
    /// The child process broke down in the middle of a call; another one may finish it.
    Crashed,
    /// The other side broke its protocol.
    Protocol,
    /// A fault of ours.
    Internal,
}

impl LlmErrorKind {
    /// All kinds, in order.
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

    /// The stable code shown to users and in JSON.
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

    /// Whether the same call may succeed later without any change.
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

    /// The outward code of a run (COG-18, COG-19).
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

/// The error codes of a run's final record (COG-19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunErrorCode {
    /// The request was wrong.
    InvalidRequest,
    /// A tool or model named in the request does not exist.
    NotFound,
    /// Turns or time were used up.
    Timeout,
    /// The caller cancelled.
    Aborted,
    /// A limit of the provider or of a budget.
    RateLimit,
    /// Anything inside.
    Internal,
    /// The account has no credit.
    InsufficientCredits,
    /// The provider cannot be used now.
    ProviderUnavailable,
}

impl RunErrorCode {
    /// The spelling in JSON.
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

/// One failure of a model call.
///
/// `message` and `hint` are ours and may be shown; `detail` is what the backend said, redacted, for
/// logs only (COG-19).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LlmError {
    /// What kind of failure it is.
    pub kind: LlmErrorKind,
    /// What failed, lower case, no full stop; holds no text of the backend.
    pub message: String,
    /// The next step, when something is known to help.
    pub hint: Option<String>,
    /// The backend's own words, redacted; for logs and `--debug`.
    pub detail: Option<String>,
    /// How long to wait before the same call may succeed.
    pub retry_after: Option<Duration>,
    /// Whether anything was asked at all.
    pub sent: Sent,
}

/// Whether a call that failed was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sent {
    /// It was, or it is not told.
    #[default]
    Yes,
    /// Nothing was sent: a limit that was announced before still holds.
    No,
}

impl LlmError {
    /// Makes an error without hint and detail.
    pub fn new(kind: LlmErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            detail: None,
            retry_after: None,
            sent: Sent::default(),
        }
    }

    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the backend's own (redacted) words.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The error of a cancelled call.
    pub fn cancelled() -> Self {
        Self::new(LlmErrorKind::Cancelled, "cancelled")
    }
}

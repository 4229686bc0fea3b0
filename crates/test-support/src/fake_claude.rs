//! A fake `claude` that checks its input and plays the JSON scenario in `LC_KTX_FAKE_CLAUDE`.
//!
//! Wrong input gives exit code 64 and a reason on standard error.

mod account;
mod acts;
mod build;
mod channel;
mod check;
mod frames;
mod mcp;
mod replay;
mod scenario;
mod schema_echo;
mod session;

pub use account::{SharedAccount, Turn};
pub use build::executable;
pub(crate) use build::executable_of;
pub use check::CANARIES;
pub use scenario::{ApiError, Echo, Group, Mode, PromptCase, Scenario, ScenarioStep, ToolUse};

/// A locale variable, because a child receives all of them.
pub const SCENARIO_VARIABLE: &str = "LC_KTX_FAKE_CLAUDE";

pub const FAULT: u8 = 64;

#[derive(Debug)]
pub(crate) enum ScenarioHalt {
    Fault(String),
    InputClosed,
    Interrupted,
    Exit(u8),
}

impl From<std::io::Error> for ScenarioHalt {
    fn from(error: std::io::Error) -> Self {
        // The caller has stopped listening.
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::InputClosed
        } else {
            Self::Fault(error.to_string())
        }
    }
}

pub(crate) fn fault<T>(reason: impl Into<String>) -> Result<T, ScenarioHalt> {
    Err(ScenarioHalt::Fault(reason.into()))
}

pub fn main() -> u8 {
    match session::play() {
        Ok(()) => 0,
        Err(ScenarioHalt::Exit(code)) => code,
        Err(ScenarioHalt::InputClosed) => 0,
        Err(ScenarioHalt::Interrupted) => 1,
        Err(ScenarioHalt::Fault(reason)) => {
            channel::complain(&format!("fake claude: {reason}\n"));
            FAULT
        }
    }
}

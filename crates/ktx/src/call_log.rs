//! The log of MCP calls, without arguments and results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use ktx_mcp_server::{CallObserver, EndedCall};
use ktx_project_store::Store;
use serde::Serialize;

/// The server logs slower calls.
const SLOW: Duration = Duration::from_secs(10);

/// Appends to `.ktx/logs/calls.jsonl`.
#[derive(Debug)]
pub(crate) struct CallLog {
    store: Store,
    client: String,
    warned: AtomicBool,
}

#[derive(Debug, Serialize)]
struct CallLogLine<'a> {
    at: String,
    client: &'a str,
    /// `None` for an unknown tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    end: &'static str,
    milliseconds: u64,
}

impl CallLog {
    pub(crate) fn new(store: &Store, client: &str) -> Self {
        Self {
            store: store.clone(),
            client: client.to_owned(),
            warned: AtomicBool::new(false),
        }
    }

    fn append(&self, call: &EndedCall<'_>) -> Result<(), String> {
        let line = CallLogLine {
            at: Timestamp::now().to_string(),
            client: &self.client,
            tool: call.tool,
            end: call.end.as_str(),
            milliseconds: u64::try_from(call.took.as_millis()).unwrap_or(u64::MAX),
        };
        let line = serde_json::to_vec(&line).map_err(|error| error.to_string())?;
        let appended = self.store.append_call(&line);
        appended.map_err(|error| ktx_diagnostics::chain(&error).join(": "))
    }
}

impl CallObserver for CallLog {
    fn ended(&self, call: &EndedCall<'_>) {
        if call.took >= SLOW {
            crate::printer::stderr_line(&format!(
                "slow: {} for the client `{}` took {:.1} s and was {}",
                call.tool.unwrap_or("a tool that is not there"),
                self.client,
                call.took.as_secs_f64(),
                call.end.as_str()
            ));
        }
        if let Err(reason) = self.append(call)
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            crate::printer::stderr_line(&format!(
                "warning: the log of calls cannot be written: {reason}"
            ));
        }
    }
}

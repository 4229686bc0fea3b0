//! Reads messages from stdin.

use ktx_diagnostics::{Code, Failure};

use crate::report::{Outcome, Report as _};

/// `-` means stdin.
pub(crate) fn read_message(given: &str) -> Outcome<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    std::io::read_to_string(std::io::stdin()).map_err(|error| {
        Failure::from_error(Code::Message, &error)
            .context("the message cannot be read from standard input")
    })
}

//! A foreign MCP server on standard streams.

use std::process::ExitCode;

fn main() -> ExitCode {
    ktx_test_support::mcp_fake::main()
}

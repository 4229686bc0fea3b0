//! What `cargo xtask test` brought up for the tests: servers and programs, found by environment
//! variables only.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the one place where tests learn of their services, and say which are not there"
)]

/// Something outside the workspace that a test may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceName {
    /// `postgres://…`: an administrator's URL of an empty `PostgreSQL` on loopback.
    Postgres,
    /// `mysql://…/test`: an administrator's URL of an empty `MariaDB` on loopback.
    MariaDb,
    /// A folder whose `node_modules` holds the official TypeScript MCP SDK.
    McpSdk,
    /// A Python that can `import duckdb`.
    Python,
    /// The `claude` program 2.1.142. Never run it with the environment of the test.
    Claude142,
    /// The newest `claude` program. Never run it with the environment of the test.
    ClaudeLatest,
}

impl ServiceName {
    /// The name in `KTX_TEST_MISSING`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::McpSdk => "mcp-sdk",
            Self::Python => "python",
            Self::Claude142 => "claude-142",
            Self::ClaudeLatest => "claude-latest",
        }
    }

    /// The variable that holds the URL or the path.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "KTX_TEST_POSTGRES_URL",
            Self::MariaDb => "KTX_TEST_MARIADB_URL",
            Self::McpSdk => "KTX_TEST_MCP_SDK",
            Self::Python => "KTX_TEST_PYTHON",
            Self::Claude142 => "KTX_TEST_CLAUDE_142",
            Self::ClaudeLatest => "KTX_TEST_CLAUDE_LATEST",
        }
    }
}

/// Whether a service is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// Its URL or path.
    Available(String),
    /// It could not be brought up, or the tests were not started by `cargo xtask test`. The test
    /// returns early; a run with `CI` set fails as a whole, so nothing is skipped there unseen.
    Missing,
}

/// Looks a service up. One that is missing is named on standard error.
pub fn service(name: ServiceName) -> Service {
    let value = std::env::var(name.variable()).ok();
    let missing = std::env::var("KTX_TEST_MISSING").ok();
    match find(name, value, missing.as_deref()) {
        Ok(service) => service,
        Err(notice) => {
            eprintln!("{notice}");
            Service::Missing
        }
    }
}

/// The service, or the line that tells why there is none.
fn find(
    name: ServiceName,
    value: Option<String>,
    missing: Option<&str>,
) -> Result<Service, String> {
    let listed = missing.is_some_and(|list| list.split(',').any(|entry| entry == name.name()));
    match value.filter(|value| !value.is_empty()) {
        Some(value) => Ok(Service::Available(value)),
        None if listed => Err(format!("not run: {} could not be brought up", name.name())),
        None => Err(format!(
            "not run: `{}` is not set; start the tests with `cargo xtask test`",
            name.variable()
        )),
    }
}

#[cfg(test)]
mod tests;

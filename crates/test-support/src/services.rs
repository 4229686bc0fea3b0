//! Services that `cargo xtask test` started, found by environment variables.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the one place where tests learn of their services, and say which are not there"
)]

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceName {
    /// `postgres://…`, as administrator of an empty loopback `PostgreSQL`.
    Postgres,
    /// `mysql://…/test`, as administrator of an empty loopback `MariaDB`.
    MariaDb,
    /// As administrator of ClickHouse's engine, `http://user:password@…/default`. Heavy: requires
    /// `cargo xtask test --heavy`.
    ClickHouse,
    /// `http://…`: a BigQuery emulator without login. Heavy.
    BigQuery,
    /// `http://…`: Snowflake's SQL API over an emulator. Heavy.
    Snowflake,
    DuckDb,
    /// Folder whose `node_modules` has MCP's TypeScript SDK.
    McpSdk,
    /// Folder whose `node_modules` has MCP's conformance suite and a Node.
    McpConformance,
    /// A Python with `duckdb`.
    Python,
    /// Like `Python`, with the newest tested DuckDB.
    PythonNewest,
    /// The program, which can let calls of the system fail.
    Strace,
    /// A script: `claude` without a required option. Never run it with the test's environment.
    ClaudeTooOld,
    /// A script: `claude` that sends model requests at startup. Never run it with the test's
    /// environment.
    Claude2076,
    /// A script: the oldest supported `claude`. Never run it with the test's environment.
    ClaudeOldest,
    /// `claude` 2.1.142. Never run it with the test's environment.
    Claude142,
    /// The newest pinned `claude`. Never run it with the test's environment.
    ClaudeNewestTested,
    /// The registry's newest `claude`. Heavy. Never run it with the test's environment.
    ClaudeLatest,
    /// A headless Chromium. Heavy.
    Browser,
}

impl ServiceName {
    pub fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::ClickHouse => "clickhouse",
            Self::BigQuery => "bigquery",
            Self::Snowflake => "snowflake",
            Self::DuckDb => "duckdb",
            Self::McpSdk => "mcp-sdk",
            Self::McpConformance => "mcp-conformance",
            Self::Python => "python",
            Self::PythonNewest => "python-newest",
            Self::Strace => "strace",
            Self::ClaudeTooOld => "claude-too-old",
            Self::Claude2076 => "claude-2-0-76",
            Self::ClaudeOldest => "claude-oldest",
            Self::Claude142 => "claude-142",
            Self::ClaudeNewestTested => "claude-newest-tested",
            Self::ClaudeLatest => "claude-latest",
            Self::Browser => "browser",
        }
    }

    pub fn variable(self) -> &'static str {
        match self {
            Self::Postgres => "KTX_TEST_POSTGRES_URL",
            Self::MariaDb => "KTX_TEST_MARIADB_URL",
            Self::ClickHouse => "KTX_TEST_CLICKHOUSE_URL",
            Self::BigQuery => "KTX_TEST_BIGQUERY_URL",
            Self::Snowflake => "KTX_TEST_SNOWFLAKE_URL",
            Self::DuckDb => "KTX_TEST_DUCKDB",
            Self::McpSdk => "KTX_TEST_MCP_SDK",
            Self::McpConformance => "KTX_TEST_MCP_CONFORMANCE",
            Self::Python => "KTX_TEST_PYTHON",
            Self::PythonNewest => "KTX_TEST_PYTHON_NEWEST",
            Self::Strace => "KTX_TEST_STRACE",
            Self::ClaudeTooOld => "KTX_TEST_CLAUDE_TOO_OLD",
            Self::Claude2076 => "KTX_TEST_CLAUDE_2_0_76",
            Self::ClaudeOldest => "KTX_TEST_CLAUDE_OLDEST",
            Self::Claude142 => "KTX_TEST_CLAUDE_142",
            Self::ClaudeNewestTested => "KTX_TEST_CLAUDE_NEWEST_TESTED",
            Self::ClaudeLatest => "KTX_TEST_CLAUDE_LATEST",
            Self::Browser => "KTX_TEST_BROWSER",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    Available(String),
    /// Failed to start, not run by `cargo xtask test`, or heavy and not requested. The test returns
    /// early; with `CI` set, only the first two fail the run.
    Missing,
}

pub fn service(name: ServiceName) -> Service {
    let value = std::env::var(name.variable()).ok();
    let absent = MissingServices {
        missing: std::env::var("KTX_TEST_MISSING").unwrap_or_default(),
        not_asked: std::env::var("KTX_TEST_NOT_ASKED").unwrap_or_default(),
    };
    match find(name, value, &absent) {
        Ok(service) => service,
        Err(notice) => {
            eprintln!("{notice}");
            Service::Missing
        }
    }
}

#[derive(Debug, Default)]
struct MissingServices {
    missing: String,
    not_asked: String,
}

/// Fails with the reason if there is none.
fn find(
    name: ServiceName,
    value: Option<String>,
    absent: &MissingServices,
) -> Result<Service, String> {
    let stands_in = |list: &str| list.split(',').any(|entry| entry == name.name());
    match value.filter(|value| !value.is_empty()) {
        Some(value) => Ok(Service::Available(value)),
        None if stands_in(&absent.missing) => {
            Err(format!("not run: {} could not be brought up", name.name()))
        }
        None if stands_in(&absent.not_asked) => Err(format!(
            "not run: {} was not asked for; `cargo xtask test --heavy` brings it up",
            name.name()
        )),
        None => Err(format!(
            "not run: `{}` is not set; start the tests with `cargo xtask test`",
            name.variable()
        )),
    }
}

#[cfg(test)]
mod tests;

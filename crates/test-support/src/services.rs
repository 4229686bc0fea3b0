//! Servers and programs that `cargo xtask test` started for the tests, found by environment
//! variables only.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the one place where tests learn of their services, and say which are not there"
)]

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceName {
    /// `postgres://…`: an administrator's URL of an empty `PostgreSQL` on loopback.
    Postgres,
    /// `mysql://…/test`: an administrator's URL of an empty `MariaDB` on loopback.
    MariaDb,
    /// `http://user:password@…/default`: an administrator's URL of ClickHouse's engine with an HTTP
    /// front end on loopback. Heavy: available only if `cargo xtask test --heavy` requested it.
    ClickHouse,
    /// `http://…`: a BigQuery emulator on loopback without a login. Heavy.
    BigQuery,
    /// `http://…`: Snowflake's SQL API on loopback, over an engine that runs the statements. Heavy.
    Snowflake,
    /// The file of DuckDB's library.
    DuckDb,
    /// A folder whose `node_modules` holds the official TypeScript MCP SDK.
    McpSdk,
    /// A folder whose `node_modules` holds the official MCP conformance suite and a Node that runs it.
    McpConformance,
    /// A Python that can `import duckdb`.
    Python,
    /// Like `Python`, with the newest tested release of DuckDB.
    PythonNewest,
    /// A `claude` that lacks a required option, as a script. Never run it with the environment of
    /// the test.
    ClaudeTooOld,
    /// A `claude` that sends model requests at startup, as a script. Never run it with the
    /// environment of the test.
    Claude2076,
    /// The oldest `claude` that works, as a script. Never run it with the environment of the test.
    ClaudeOldest,
    /// The `claude` program 2.1.142. Never run it with the environment of the test.
    Claude142,
    /// The newest `claude` program that the tests are pinned to. Never run it with the environment
    /// of the test.
    ClaudeNewestTested,
    /// The newest `claude` program in the registry today. Heavy. Never run it with the environment
    /// of the test.
    ClaudeLatest,
    /// A Chromium, which can run without a screen. Heavy.
    Browser,
}

impl ServiceName {
    /// The name in `KTX_TEST_MISSING`.
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
            Self::ClaudeTooOld => "claude-too-old",
            Self::Claude2076 => "claude-2-0-76",
            Self::ClaudeOldest => "claude-oldest",
            Self::Claude142 => "claude-142",
            Self::ClaudeNewestTested => "claude-newest-tested",
            Self::ClaudeLatest => "claude-latest",
            Self::Browser => "browser",
        }
    }

    /// The variable that holds the URL or the path.
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
    /// URL or path.
    Available(String),
    /// It failed to start, or the tests were not started by `cargo xtask test`. The test returns
    /// early; a run with `CI` set fails as a whole, so no skip goes unnoticed there. A heavy
    /// service that was not requested is missing too, but such a run reports it and does not fail.
    Missing,
}

/// Names a missing service on standard error.
pub fn service(name: ServiceName) -> Service {
    let value = std::env::var(name.variable()).ok();
    let absent = Absences {
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
struct Absences {
    missing: String,
    not_asked: String,
}

/// Fails with the line that explains why there is none.
fn find(name: ServiceName, value: Option<String>, absent: &Absences) -> Result<Service, String> {
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

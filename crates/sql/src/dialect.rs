//! The SQL dialects and their quoting.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    Postgres,
    Redshift,
    MySql,
    MariaDb,
    Sqlite,
    SqlServer,
    ClickHouse,
    Snowflake,
    BigQuery,
    DuckDb,
    Databricks,
    Trino,
}

impl Dialect {
    pub const ALL: [Self; 12] = [
        Self::Postgres,
        Self::Snowflake,
        Self::BigQuery,
        Self::ClickHouse,
        Self::MySql,
        Self::MariaDb,
        Self::SqlServer,
        Self::Sqlite,
        Self::DuckDb,
        Self::Redshift,
        Self::Databricks,
        Self::Trino,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Redshift => "redshift",
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
            Self::Sqlite => "sqlite",
            Self::SqlServer => "tsql",
            Self::ClickHouse => "clickhouse",
            Self::Snowflake => "snowflake",
            Self::BigQuery => "bigquery",
            Self::DuckDb => "duckdb",
            Self::Databricks => "databricks",
            Self::Trino => "trino",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "postgres" | "postgresql" => Self::Postgres,
            "redshift" => Self::Redshift,
            "mysql" => Self::MySql,
            "mariadb" => Self::MariaDb,
            "sqlite" => Self::Sqlite,
            "tsql" | "sqlserver" | "mssql" => Self::SqlServer,
            "clickhouse" => Self::ClickHouse,
            "snowflake" => Self::Snowflake,
            "bigquery" => Self::BigQuery,
            "duckdb" => Self::DuckDb,
            "databricks" => Self::Databricks,
            "trino" | "athena" => Self::Trino,
            _ => return None,
        })
    }

    /// Returns true if the warehouse refuses rows whose declared foreign key has no match. SQLite
    /// checks only if asked; Redshift, Snowflake, BigQuery and Databricks only note the keys.
    pub const fn enforces_foreign_keys(self) -> bool {
        match self {
            Self::Postgres | Self::MySql | Self::MariaDb | Self::SqlServer | Self::DuckDb => true,
            Self::Redshift
            | Self::Sqlite
            | Self::ClickHouse
            | Self::Snowflake
            | Self::BigQuery
            | Self::Databricks
            | Self::Trino => false,
        }
    }

    /// The closing quote is the same, except for `[`.
    pub const fn quote_open(self) -> char {
        match self {
            Self::MySql | Self::MariaDb | Self::BigQuery | Self::Databricks | Self::ClickHouse => {
                '`'
            }
            Self::SqlServer => '[',
            Self::Postgres
            | Self::Redshift
            | Self::Sqlite
            | Self::Snowflake
            | Self::DuckDb
            | Self::Trino => '"',
        }
    }

    /// Quotes an identifier as exactly one token.
    pub fn quote(self, name: &str) -> String {
        let open = self.quote_open();
        let close = if open == '[' { ']' } else { open };
        let mut quoted = String::with_capacity(name.len() + 2);
        quoted.push(open);
        for letter in name.chars() {
            match (self, letter) {
                // These read backslash escapes inside backticks.
                (Self::BigQuery, '`') | (Self::BigQuery | Self::ClickHouse, '\\') => {
                    quoted.push('\\');
                    quoted.push(letter);
                }
                (_, letter) if letter == close => {
                    quoted.push(letter);
                    quoted.push(letter);
                }
                (_, letter) => quoted.push(letter),
            }
        }
        quoted.push(close);
        quoted
    }

    pub fn literal(self, text: &str) -> String {
        let escapes = matches!(
            self,
            Self::MySql
                | Self::MariaDb
                | Self::BigQuery
                | Self::ClickHouse
                | Self::Databricks
                | Self::Snowflake
        );
        let mut quoted = String::with_capacity(text.len() + 2);
        quoted.push('\'');
        for letter in text.chars() {
            match letter {
                // Spark before 4.1 reads two quotes as the end of a literal and the start of the
                // next.
                '\'' if matches!(self, Self::BigQuery | Self::Databricks) => {
                    quoted.push_str("\\'");
                }
                '\n' if self == Self::BigQuery => quoted.push_str("\\n"),
                '\r' if self == Self::BigQuery => quoted.push_str("\\r"),
                '\'' => quoted.push_str("''"),
                '\\' if escapes => quoted.push_str("\\\\"),
                letter => quoted.push(letter),
            }
        }
        quoted.push('\'');
        quoted
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

//! The fields of connections by driver.

mod context;

use crate::Driver;

use super::{Field, Shape};
use context::{CUBE, DBT, LOOKER, LOOKML, METABASE, METRICFLOW, NOTION};

const POSITIVE: Shape = Shape::Count { min: 1, max: None };

#[derive(Debug, Clone, Copy)]
pub(crate) struct DriverFields {
    pub(crate) own: &'static [Field],
    pub(crate) shared: &'static [Field],
}

impl DriverFields {
    pub(crate) fn iter(self) -> impl Iterator<Item = &'static Field> {
        self.own.iter().chain(self.shared)
    }
}

pub(crate) const fn driver_fields(driver: Driver) -> DriverFields {
    let (own, shared): (&[Field], &[Field]) = match driver {
        Driver::Postgres | Driver::Redshift => (POSTGRES, WAREHOUSE),
        Driver::Snowflake => (SNOWFLAKE, WAREHOUSE),
        Driver::BigQuery => (BIGQUERY, WAREHOUSE),
        Driver::ClickHouse => (CLICKHOUSE, WAREHOUSE),
        Driver::MySql | Driver::MariaDb => (MYSQL, WAREHOUSE),
        Driver::SqlServer => (SQLSERVER, WAREHOUSE),
        Driver::Sqlite => (SQLITE, WAREHOUSE),
        Driver::DuckDb => (DUCKDB, WAREHOUSE),
        Driver::Dbt => (DBT, &[]),
        Driver::MetricFlow => (METRICFLOW, &[]),
        Driver::LookMl => (LOOKML, &[]),
        Driver::Cube => (CUBE, &[]),
        Driver::Looker => (LOOKER, &[]),
        Driver::Metabase => (METABASE, &[]),
        Driver::Notion => (NOTION, &[]),
    };
    DriverFields { own, shared }
}

const ENABLED_TABLES: Field = Field::optional(
    "enabled_tables",
    Shape::TextOrTexts,
    "The only tables to use: `name`, `db.name` or `catalog.db.name`; by default all.",
);

const ALLOWED_FUNCTIONS: Field = Field::optional(
    "allowed_functions",
    Shape::FunctionNames,
    "Functions of your own that queries may call, as `name` or `schema.name`, the way queries write them. ktx does not check that they only read.",
);

const URL: Field = Field::optional(
    "url",
    Shape::Secret,
    "The whole URL, instead of the single fields.",
);

const WAREHOUSE: &[Field] = &[
    URL,
    ENABLED_TABLES,
    ALLOWED_FUNCTIONS,
    Field::optional(
        "context",
        Shape::OpenObject(&[Field::optional(
            "queryHistory",
            Shape::OpenObject(QUERY_HISTORY),
            "What ktx learns from past queries.",
        )]),
        "What else ktx reads from the warehouse.",
    ),
];

const QUERY_HISTORY: &[Field] = &[
    Field::defaulted(
        "enabled",
        Shape::Flag,
        "false",
        "Whether ktx reads the query history.",
    ),
    Field::defaulted(
        "windowDays",
        POSITIVE,
        "90",
        "The number of past days (BigQuery, ClickHouse and Snowflake).",
    ),
    Field::defaulted(
        "minExecutions",
        POSITIVE,
        "5",
        "Ignores queries that ran less often.",
    ),
    Field::optional(
        "file",
        Shape::Text,
        "A file of SQL texts, relative to the project. Its joins count as evidence; its tables count as used if the warehouse keeps no history.",
    ),
    Field::optional(
        "enabledSchemas",
        Shape::Texts,
        r#"The schemas whose queries count; by default the modeled ones, with `["*"]` all."#,
    ),
    Field::optional(
        "enabledTables",
        Shape::Texts,
        "The tables whose queries count.",
    ),
    Field::optional(
        "filters",
        Shape::OpenObject(&[
            Field::optional(
                "serviceAccounts",
                Shape::OpenObject(&[
                    Field::optional(
                        "patterns",
                        Shape::Texts,
                        "Regular expressions of user names.",
                    ),
                    Field::optional(
                        "mode",
                        Shape::Choice(&["exclude", "include", "mark-only"]),
                        "`exclude` ignores their queries (the default), `include` reads only these, `mark-only` has no effect.",
                    ),
                ]),
                "Queries of service accounts.",
            ),
            Field::optional(
                "orchestrators",
                Shape::OpenObject(&[Field::defaulted(
                    "mode",
                    Shape::Choice(&["exclude", "include", "mark-only"]),
                    r#""mark-only""#,
                    "Accepted from older files; has no effect.",
                )]),
                "Queries of orchestrators.",
            ),
            Field::defaulted(
                "dropTrivialProbes",
                Shape::Flag,
                "true",
                "Has no effect: a query that reads no table never counts.",
            ),
            Field::optional(
                "dropFailedBelow",
                Shape::OpenObject(&[
                    Field::optional(
                        "errorRate",
                        Shape::Ratio,
                        "Has no effect: ktx never reads failed runs.",
                    ),
                    Field::optional(
                        "executions",
                        POSITIVE,
                        "Has no effect: ktx never reads failed runs.",
                    ),
                ]),
                "Which failed queries to ignore.",
            ),
        ]),
        "Which queries ktx ignores.",
    ),
    Field::optional(
        "redactionPatterns",
        Shape::Texts,
        "Has no effect: ktx never writes literals of queries.",
    ),
    Field::defaulted(
        "staleArchiveAfterDays",
        POSITIVE,
        "90",
        "Has no effect: ktx writes no pattern pages.",
    ),
];

const HOST: Field = Field::optional("host", Shape::LooseText, "The server's name or address.");
const DATABASE: Field = Field::optional("database", Shape::LooseText, "The database.");
const USERNAME: Field = Field::optional("username", Shape::LooseText, "The user.").or(&["user"]);
const PASSWORD: Field = Field::optional("password", Shape::Secret, "The password.");
const MAX_CONNECTIONS: Field = Field::defaulted(
    "maxConnections",
    POSITIVE,
    "10",
    "The maximum number of concurrent connections.",
);

const TIMEZONE: Field = Field::defaulted(
    "timezone",
    Shape::LooseText,
    r#""UTC""#,
    "The time zone of every session, which decides on which day a moment is.",
);

const SSL: Field = Field::optional(
    "ssl",
    Shape::Either(&[
        Shape::Flag,
        Shape::OpenObject(&[
            Field::defaulted("rejectUnauthorized", Shape::Flag, "true", "As outside."),
            Field::optional("ca", Shape::Text, "As `sslrootcert`."),
        ]),
    ]),
    "Whether the connection is encrypted. To another machine it is, unless this is `false`.",
);
const REJECT_UNAUTHORIZED: Field = Field::defaulted(
    "rejectUnauthorized",
    Shape::Flag,
    "true",
    "Whether the server's certificate must be valid.",
);
const SSL_MODE: Field = Field::optional(
    "sslmode",
    Shape::Text,
    "`disable`: no encryption; `prefer`: encryption where offered, on this machine only; `no-verify`: encryption without a certificate check; anything else: encryption with a check.",
)
.or(&["sslMode"]);
const SSL_ROOT_CERTIFICATE: Field = Field::optional(
    "sslrootcert",
    Shape::Text,
    "The certificate of your own authority: a file, or its PEM text.",
)
.or(&["sslRootCert"]);

const fn port(default: &'static str) -> Field {
    Field::defaulted("port", PORT, default, "The server's port.")
}

const PORT: Shape = Shape::Either(&[
    Shape::Count {
        min: 1,
        max: Some(65535),
    },
    Shape::Text,
]);

const fn schemas(default: &'static str) -> Field {
    Field::defaulted(
        "schemas",
        Shape::TextOrTexts,
        default,
        "The schemas to use.",
    )
    .or(&["schema"])
}

const POSTGRES: &[Field] = &[
    HOST,
    port("5432"),
    DATABASE,
    USERNAME,
    PASSWORD,
    Field::optional(
        "schemas",
        Shape::TextOrTexts,
        "The schemas to use; by default all that the login can read.",
    )
    .or(&["schema"]),
    SSL,
    REJECT_UNAUTHORIZED,
    SSL_MODE,
    SSL_ROOT_CERTIFICATE,
    MAX_CONNECTIONS,
    TIMEZONE,
];

const MYSQL: &[Field] = &[
    HOST,
    port("3306"),
    DATABASE,
    USERNAME,
    PASSWORD,
    Field::optional(
        "schemas",
        Shape::TextOrTexts,
        "The databases to use; by default `database`.",
    )
    .or(&["schema"]),
    SSL,
    REJECT_UNAUTHORIZED,
    SSL_MODE,
    SSL_ROOT_CERTIFICATE,
    MAX_CONNECTIONS,
    TIMEZONE,
];

const SQLSERVER: &[Field] = &[
    HOST,
    port("1433"),
    DATABASE,
    USERNAME,
    PASSWORD,
    schemas(r#"["dbo"]"#),
    Field::defaulted(
        "trustServerCertificate",
        Shape::Flag,
        "false",
        "Whether to accept any certificate of the server.",
    ),
    SSL_ROOT_CERTIFICATE,
    MAX_CONNECTIONS,
];

const CLICKHOUSE: &[Field] = &[
    HOST,
    port("8123"),
    Field::defaulted(
        "database",
        Shape::LooseText,
        r#""default""#,
        "The database.",
    ),
    Field::optional("databases", Shape::TextOrTexts, "The databases to use."),
    Field::defaulted("username", Shape::LooseText, r#""default""#, "The user.").or(&["user"]),
    PASSWORD,
    Field::optional("ssl", Shape::Flag, "Whether the connection is encrypted."),
    TIMEZONE,
];

const SNOWFLAKE: &[Field] = &[
    Field::optional(
        "authMethod",
        Shape::Choice(&["rsa", "oauth", "pat", "password"]),
        "How the user signs in: with a key pair, an OAuth token or a programmatic access token. Passwords are not supported.",
    ),
    Field::optional(
        "account",
        Shape::LooseText,
        "The account identifier, such as `myorg-myaccount`.",
    ),
    Field::optional(
        "warehouse",
        Shape::LooseText,
        "The warehouse that runs the queries.",
    ),
    DATABASE,
    Field::optional("schema_names", Shape::TextOrTexts, "The schemas to use.").or(&["schema_name"]),
    USERNAME,
    PASSWORD,
    Field::optional(
        "privateKey",
        Shape::Secret,
        "The private RSA key in PEM form.",
    ),
    Field::optional("passphrase", Shape::Secret, "The private key's passphrase."),
    Field::optional(
        "token",
        Shape::Secret,
        "The OAuth token or the programmatic access token.",
    ),
    Field::optional("role", Shape::LooseText, "The role."),
    Field::defaulted(
        "maxConnections",
        POSITIVE,
        "4",
        "The maximum number of concurrent statements.",
    ),
    ENDPOINT,
    TIMEZONE,
];

const ENDPOINT: Field = Field::optional(
    "endpoint",
    Shape::LooseText,
    "Another URL of the service. `http://` is allowed for this machine only.",
);

const BIGQUERY: &[Field] = &[
    Field::optional(
        "credentials_json",
        Shape::Secret,
        "The service account's JSON text.",
    ),
    Field::defaulted(
        "credentials",
        Shape::Choice(&["adc", "metadata", "none"]),
        r#""adc""#,
        "Without `credentials_json`: Google's application default credentials, the metadata server of Google's machines, or no credentials, for an emulator.",
    ),
    Field::optional(
        "project_id",
        Shape::LooseText,
        "The project that pays; by default the project of the credentials.",
    ),
    Field::optional(
        "dataset_ids",
        Shape::TextOrTexts,
        "The datasets to use: `dataset` or `project.dataset`; by default all of the project.",
    )
    .or(&["dataset_id"]),
    Field::optional(
        "location",
        Shape::LooseText,
        "The location of the datasets.",
    ),
    Field::defaulted(
        "max_bytes_billed",
        Shape::Either(&[POSITIVE, Shape::Text]),
        "10737418240",
        "The maximum number of bytes that one query may read.",
    ),
    Field::optional(
        "job_timeout_ms",
        POSITIVE,
        "The time limit of a query in milliseconds.",
    ),
    ENDPOINT,
    TIMEZONE,
];

const DATABASE_FILE: Field = Field::optional(
    "path",
    Shape::Reference,
    "The database file; a relative path starts at the project.",
);

const SQLITE: &[Field] = &[DATABASE_FILE];

const DUCKDB: &[Field] = &[
    DATABASE_FILE,
    Field::optional(
        "library",
        Shape::Reference,
        "DuckDB's library: an absolute path outside of the project. The default is `KTX_DUCKDB_LIBRARY`, then the library search path of the system.",
    ),
    Field::optional(
        "schemas",
        Shape::TextOrTexts,
        "The schemas to use; by default all of the file.",
    )
    .or(&["schema"]),
    Field::defaulted(
        "memory_limit",
        Shape::Text,
        r#""2GB""#,
        "The memory limit of DuckDB, which does not spill to disk.",
    ),
    TIMEZONE,
];

//! The fields of context sources: repositories and tools that document a warehouse.

use crate::spec::{Field, KeyRule, Shape};

const BRANCH: Field = Field::optional("branch", Shape::LooseText, "The branch.");
const SUB_PATH: Field = Field::optional("path", Shape::Text, "The folder inside the repository.");
const AUTH_TOKEN_REF: Field = Field::optional(
    "auth_token_ref",
    Shape::Secret,
    "The token for the repository.",
);

pub(super) const DBT: &[Field] = &[
    Field::optional("source_dir", Shape::Text, "A local dbt project."),
    Field::optional("repo_url", Shape::Text, "The project's git repository.").or(&["repoUrl"]),
    BRANCH,
    SUB_PATH,
    AUTH_TOKEN_REF,
    Field::optional(
        "profiles_path",
        Shape::Text,
        "The folder of `profiles.yml`.",
    ),
    Field::optional("target", Shape::LooseText, "The dbt target."),
    Field::optional("project_name", Shape::LooseText, "The dbt project's name."),
];

const REPOSITORY: Field = Field::required(
    "repoUrl",
    Shape::Text,
    "The git repository; or, as `source_dir`, a local folder.",
)
.or(&["repo_url", "source_dir"]);

pub(super) const METRICFLOW: &[Field] = &[Field::required(
    "metricflow",
    Shape::OpenObject(&[REPOSITORY, BRANCH, SUB_PATH, AUTH_TOKEN_REF]),
    "Where the MetricFlow files are.",
)];

pub(super) const LOOKML: &[Field] = &[
    REPOSITORY,
    BRANCH,
    SUB_PATH,
    AUTH_TOKEN_REF,
    Field::optional(
        "mappings",
        Shape::OpenObject(&[Field::optional(
            "expectedLookerConnectionName",
            Shape::Nullable(&Shape::Text),
            "The Looker connection that the views must use.",
        )]),
        "How Looker's names relate to yours.",
    ),
];

pub(super) const LOOKER: &[Field] = &[
    Field::required("base_url", Shape::Text, "The address of the Looker API."),
    Field::required("client_id", Shape::LooseText, "The API client's id."),
    Field::optional("client_secret", Shape::Secret, "The API client's secret.")
        .or(&["client_secret_ref"]),
    Field::optional(
        "mappings",
        Shape::OpenObject(&[Field::optional(
            "connectionMappings",
            Shape::Map(KeyRule::Any, &Shape::Nullable(&Shape::Text)),
            "Your connection id for each Looker connection.",
        )]),
        "How Looker's names relate to yours.",
    ),
];

pub(super) const METABASE: &[Field] = &[
    Field::required("api_url", Shape::Text, "The address of the Metabase API."),
    Field::optional("api_key", Shape::Secret, "The API key.").or(&["api_key_ref"]),
    Field::optional(
        "network_proxy",
        Shape::Nullable(&Shape::Either(&[Shape::Text, Shape::AnyObject])),
        "The proxy to use.",
    )
    .or(&["networkProxy"]),
    Field::optional(
        "mappings",
        Shape::OpenObject(METABASE_MAPPINGS),
        "What is read, and for which connection.",
    ),
];

const METABASE_MAPPINGS: &[Field] = &[
    Field::optional(
        "databaseMappings",
        Shape::Map(KeyRule::Number, &Shape::Nullable(&Shape::Text)),
        "Your connection id for each Metabase database id.",
    ),
    Field::optional(
        "syncEnabled",
        Shape::Map(KeyRule::Number, &Shape::Flag),
        "Whether each Metabase database is read.",
    ),
    Field::defaulted(
        "syncMode",
        Shape::Choice(&["ALL", "ONLY", "EXCEPT"]),
        r#""ALL""#,
        "What `selections` means.",
    ),
    Field::optional(
        "selections",
        Shape::OpenObject(&[
            Field::optional("collections", Shape::Counts, "Collection ids."),
            Field::optional("items", Shape::Counts, "Item ids."),
        ]),
        "The collections and items that are read, or left out.",
    ),
    Field::optional(
        "defaultTagNames",
        Shape::Texts,
        "Tags that every page gets.",
    ),
];

pub(super) const NOTION: &[Field] = &[
    Field::optional("auth_token", Shape::Secret, "The integration's token.")
        .or(&["auth_token_ref"]),
    Field::optional("endpoint", Shape::Text, "Another address of the API."),
    Field::defaulted(
        "crawl_mode",
        Shape::Choice(&["selected_roots", "all_accessible"]),
        r#""selected_roots""#,
        "Whether only the given roots are read, which needs at least one.",
    ),
    Field::optional("root_page_ids", Shape::TextOrTexts, "Pages to begin at."),
    Field::optional(
        "root_database_ids",
        Shape::TextOrTexts,
        "Databases to begin at.",
    ),
    Field::optional(
        "root_data_source_ids",
        Shape::TextOrTexts,
        "Data sources to begin at.",
    ),
    Field::defaulted(
        "max_pages_per_run",
        Shape::Count {
            min: 1,
            max: Some(10_000),
        },
        "1000",
        "The most pages read in one run.",
    ),
    Field::defaulted(
        "max_knowledge_creates_per_run",
        Shape::Count {
            min: 0,
            max: Some(25),
        },
        "25",
        "The most wiki pages created in one run.",
    ),
    Field::defaulted(
        "max_knowledge_updates_per_run",
        Shape::Count {
            min: 0,
            max: Some(100),
        },
        "20",
        "The most wiki pages changed in one run.",
    ),
];

//! The fields of context sources.

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
        "manifest",
        Shape::Text,
        "dbt's `manifest.json`; `target/manifest.json` of the project if it has one.",
    ),
    Field::optional(
        "catalog",
        Shape::Text,
        "dbt's `catalog.json`; `target/catalog.json` of the project if it has one.",
    ),
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
    "The location of the MetricFlow files.",
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
        "The names of Looker and your names for them.",
    ),
];

pub(super) const CUBE: &[Field] = &[REPOSITORY, BRANCH, SUB_PATH, AUTH_TOKEN_REF];

pub(super) const LOOKER: &[Field] = &[
    Field::required("base_url", Shape::Text, "The URL of the Looker API."),
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
        "The names of Looker and your names for them.",
    ),
];

pub(super) const METABASE: &[Field] = &[
    Field::required("api_url", Shape::Text, "The URL of the Metabase API."),
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
        "What ktx reads, and for which connection.",
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
        "Whether ktx reads each Metabase database.",
    ),
    Field::defaulted(
        "syncMode",
        Shape::Choice(&["ALL", "ONLY", "EXCEPT"]),
        r#""ALL""#,
        "Whether `selections` limits what ktx reads (`ONLY`), excludes items (`EXCEPT`) or has no effect (`ALL`).",
    ),
    Field::optional(
        "selections",
        Shape::OpenObject(&[
            Field::optional("collections", Shape::Counts, "Collection ids."),
            Field::optional("items", Shape::Counts, "Item ids."),
        ]),
        "The collections and items to read or to leave out.",
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
    Field::optional("endpoint", Shape::Text, "Another URL of the API."),
    Field::defaulted(
        "crawl_mode",
        Shape::Choice(&["selected_roots", "all_accessible"]),
        r#""selected_roots""#,
        "`selected_roots` reads only the given roots and needs at least one; `all_accessible` reads everything that the integration can see.",
    ),
    Field::optional("root_page_ids", Shape::TextOrTexts, "Pages to start from."),
    Field::optional(
        "root_database_ids",
        Shape::TextOrTexts,
        "Databases to start from.",
    ),
    Field::optional(
        "root_data_source_ids",
        Shape::TextOrTexts,
        "Data sources to start from.",
    ),
    Field::defaulted(
        "max_pages_per_run",
        Shape::Count {
            min: 1,
            max: Some(10_000),
        },
        "1000",
        "The maximum number of pages that one run reads.",
    ),
    Field::defaulted(
        "max_knowledge_creates_per_run",
        Shape::Count {
            min: 0,
            max: Some(25),
        },
        "25",
        "The maximum number of wiki pages that one run creates.",
    ),
    Field::defaulted(
        "max_knowledge_updates_per_run",
        Shape::Count {
            min: 0,
            max: Some(100),
        },
        "20",
        "The maximum number of wiki pages that one run changes.",
    ),
];

//! Arguments of `ktx setup` for one context source.

use clap::Args;

/// The context source that `ktx setup` adds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Context source")]
pub struct SetupSourceArgs {
    /// The kind of context source to add, such as `dbt` or `notion`
    #[arg(long, value_name = "KIND", conflicts_with = "skip_sources")]
    pub source: Option<String>,
    /// The id of the new connection [default: `<KIND>-main`]
    #[arg(long, value_name = "ID", requires = "source")]
    pub source_connection_id: Option<String>,
    /// A local folder; a relative path starts at the project
    #[arg(long, value_name = "PATH", requires = "source")]
    pub source_path: Option<String>,
    /// A git repository
    #[arg(
        long,
        value_name = "URL",
        requires = "source",
        conflicts_with = "source_path"
    )]
    pub source_git_url: Option<String>,
    /// The branch of the repository
    #[arg(long, value_name = "BRANCH", requires = "source")]
    pub source_branch: Option<String>,
    /// The folder inside the repository
    #[arg(long, value_name = "PATH", requires = "source")]
    pub source_subpath: Option<String>,
    /// The token for the repository, or Notion's: `env:NAME` or `file:PATH`
    #[arg(long, value_name = "REF", requires = "source")]
    pub source_auth_token_ref: Option<String>,
    /// The URL of Metabase or Looker
    #[arg(long, value_name = "URL", requires = "source")]
    pub source_url: Option<String>,
    /// Metabase's API key: `env:NAME` or `file:PATH`
    #[arg(long, value_name = "REF", requires = "source")]
    pub source_api_key_ref: Option<String>,
    /// The id of Looker's API client
    #[arg(long, value_name = "ID", requires = "source")]
    pub source_client_id: Option<String>,
    /// The secret of Looker's API client: `env:NAME` or `file:PATH`
    #[arg(long, value_name = "REF", requires = "source")]
    pub source_client_secret_ref: Option<String>,
    /// The warehouse of the Metabase database; needs `--metabase-database-id`
    #[arg(long, value_name = "ID", requires = "metabase_database_id")]
    pub source_warehouse_connection_id: Option<String>,
    /// The name of the dbt project
    #[arg(long, value_name = "NAME", requires = "source")]
    pub source_project_name: Option<String>,
    /// The folder of dbt's `profiles.yml`
    #[arg(long, value_name = "PATH", requires = "source")]
    pub source_profiles_path: Option<String>,
    /// The dbt target
    #[arg(long, value_name = "TARGET", requires = "source")]
    pub source_target: Option<String>,
    /// The Metabase database to read [default warehouse: the only one]
    #[arg(long, value_name = "N", requires = "source")]
    pub metabase_database_id: Option<u64>,
    /// What to read from Notion: `selected_roots` or `all_accessible`
    #[arg(long, value_name = "MODE", requires = "source")]
    pub notion_crawl_mode: Option<String>,
    /// A Notion page to start from (can be repeated)
    #[arg(long, value_name = "ID", requires = "source")]
    pub notion_root_page_id: Vec<String>,
}

//! Notion as a context source: the selected pages, the token, and the cache.

use jiff::Timestamp;
use ktx_config::{Connection, Driver};
use ktx_context_sources::notion::{self, PageId, Roots, Scope};
use ktx_context_sources::{Definitions, Facts, Rest, RestError, RestErrorKind};
use ktx_diagnostics::{Code, Failure};
use ktx_ingest::Source;
use ktx_memory::Quota;

use super::{
    Access, Contents, ContextSource, Material, cache, earlier, fetched, secret, target, unreachable,
};
use crate::invocation::CommandContext;
use crate::invocation::{Invocation, OpenProject};
use crate::printer::Mode;
use crate::report::Outcome;

const TOKEN: [&str; 2] = ["auth_token_ref", "auth_token"];

/// Notion workspaces.
pub(super) struct Notion;

impl ContextSource for Notion {
    fn driver(&self) -> Driver {
        Driver::Notion
    }

    fn product(&self) -> &'static str {
        "Notion"
    }

    fn contents(&self) -> Contents {
        Contents::Documents
    }

    fn access(&self) -> Access {
        Access::Server
    }

    fn read(
        &self,
        connection: &Connection,
        target: Option<&str>,
        context: CommandContext<'_>,
    ) -> Outcome<Vec<Source>> {
        let warehouse = target::of_source(connection, target, context.project)?;
        Ok(vec![
            read(connection, context)?.into_source(connection, warehouse),
        ])
    }

    fn test(
        &self,
        connection: &Connection,
        invocation: &Invocation,
        project: &OpenProject,
    ) -> Outcome<String> {
        test(connection, invocation, project)
    }
}

fn read(
    connection: &Connection,
    CommandContext {
        invocation,
        project,
        printer,
    }: CommandContext<'_>,
) -> Outcome<Material> {
    let rest = client(connection, invocation, project)?;
    let scope = scope(connection, project, invocation.now)?;
    let cache = cache(connection, project);
    if printer.mode != Mode::Json {
        printer.note(&format!("{}: reading Notion", connection.id));
    }
    let crawl = fetched(connection, notion::read(&rest, &scope, &cache), |error| {
        hint(connection, error)
    })?;
    let count = |key: &str, usual: usize| {
        let written = connection.text(&[key]);
        written.and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    Ok(Material {
        definitions: Definitions::default(),
        units: notion::units(&crawl.snapshot),
        snapshot: crawl.snapshot,
        facts: Facts {
            warnings: crawl.warnings,
            ..Facts::default()
        },
        documents: Some(Quota {
            creates: count("max_knowledge_creates_per_run", 25),
            updates: count("max_knowledge_updates_per_run", 20),
        }),
    })
}

/// Returns the owner of the token.
fn test(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<String> {
    let rest = client(connection, invocation, project)?;
    fetched(connection, notion::integration(&rest), |error| {
        hint(connection, error)
    })
}

fn client(
    connection: &Connection,
    invocation: &Invocation,
    project: &OpenProject,
) -> Outcome<Rest> {
    let token = secret(connection, &TOKEN, invocation, project)?.ok_or_else(|| {
        Failure::new(
            Code::NoToken,
            format!("`connections.{}` has no `auth_token_ref`", connection.id),
        )
        .hint("make an internal integration in Notion, share pages with it, and set `auth_token_ref: env:NOTION_TOKEN`")
    })?;
    let endpoint = connection.text(&["endpoint"]);
    let endpoint = endpoint.as_deref().unwrap_or(notion::API);
    notion::client(endpoint, &token)
        .map_err(|error| unreachable(connection, &error, hint(connection, &error)))
}

fn scope(connection: &Connection, project: &OpenProject, now: Timestamp) -> Outcome<Scope> {
    let ids = |field: &str| -> Outcome<Vec<PageId>> {
        let texts = connection.texts(&[field]).into_iter();
        let parsed = texts.map(|text| {
            PageId::parse(&text).ok_or_else(|| {
                Failure::new(
                    Code::InvalidId,
                    format!(
                        "`connections.{}.{field}`: `{text}` is not a Notion id",
                        connection.id
                    ),
                )
                .hint("copy the address of the page: the id is the 32 digits at its end")
            })
        });
        parsed.collect()
    };
    let is_all = connection.text(&["crawl_mode"]).as_deref() == Some("all_accessible");
    let roots = Roots {
        pages: ids("root_page_ids")?,
        databases: ids("root_database_ids")?,
        data_sources: ids("root_data_source_ids")?,
    };
    let most = connection.text(&["max_pages_per_run"]);
    Ok(Scope {
        roots: (!is_all).then_some(roots),
        max_pages: most.and_then(|text| text.parse().ok()).unwrap_or(1000),
        earlier: earlier(connection, project)?,
        now,
    })
}

fn hint(connection: &Connection, error: &RestError) -> Option<String> {
    match error.kind {
        RestErrorKind::Auth | RestErrorKind::Forbidden => Some(format!(
            "set `connections.{}.auth_token_ref` to the token of an integration that may read content",
            connection.id
        )),
        RestErrorKind::NotFound => Some(
            "share the page with the integration: open it in Notion, then `Connections` in its menu"
                .to_owned(),
        ),
        _ => None,
    }
}

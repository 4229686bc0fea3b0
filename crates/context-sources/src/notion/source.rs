//! Notion as a context source: the selected pages, the token, and the cache.

use async_trait::async_trait;
use ktx_config::{Connection, Driver};
use ktx_diagnostics::{Code, Failure};

use super::{NotionScope, PageId, Roots};
use crate::definitions::Definitions;
use crate::facts::Facts;
use crate::rest::{Rest, RestError, RestErrorKind};
use crate::server::{cache, unreachable};
use crate::source::{
    Access, Contents, ContextSource, Kind, PageQuota, ReadRequest, Source, SourceContent,
    SourceContext,
};

const TOKEN: [&str; 2] = ["auth_token_ref", "auth_token"];

pub(crate) struct Notion;

#[async_trait]
impl ContextSource for Notion {
    fn kind(&self) -> Kind {
        Kind {
            driver: Driver::Notion,
            product: "Notion",
            contents: Contents::Documents,
            access: Access::Server,
        }
    }

    async fn read(
        &self,
        connection: &Connection,
        request: ReadRequest<'_>,
    ) -> Result<Vec<Source>, Failure> {
        let context = request.context;
        let warehouse = context.target(connection, request.target)?;
        let rest = client(connection, context)?;
        let scope = scope(connection, request)?;
        (request.notify)(&format!("{}: reading Notion", connection.id));
        let cache = cache(connection, context);
        let read = super::read(&rest, &scope, &cache).await;
        let crawl = read.map_err(|error| unreachable(connection, &error, hint))?;
        let material = SourceContent {
            definitions: Definitions::default(),
            units: super::units(&crawl.snapshot),
            snapshot: crawl.snapshot,
            facts: Facts {
                warnings: crawl.warnings,
                ..Facts::default()
            },
            documents: Some(PageQuota {
                creates: count(connection, "max_knowledge_creates_per_run", 25),
                updates: count(connection, "max_knowledge_updates_per_run", 20),
            }),
        };
        Ok(vec![material.into_source(connection, warehouse)])
    }

    async fn summarize(
        &self,
        connection: &Connection,
        context: SourceContext<'_>,
    ) -> Result<String, Failure> {
        let rest = client(connection, context)?;
        let owner = super::integration(&rest).await;
        owner.map_err(|error| unreachable(connection, &error, hint))
    }
}

fn count(connection: &Connection, key: &str, usual: usize) -> usize {
    let written = connection.text(&[key]);
    written.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn client(connection: &Connection, context: SourceContext<'_>) -> Result<Rest, Failure> {
    let token = context.secret(connection, &TOKEN)?.ok_or_else(|| {
        Failure::new(
            Code::NoToken,
            format!("`connections.{}` has no `auth_token_ref`", connection.id),
        )
        .hint("make an internal integration in Notion, share pages with it, and set `auth_token_ref: env:NOTION_TOKEN`")
    })?;
    let endpoint = connection.text(&["endpoint"]);
    let endpoint = endpoint.as_deref().unwrap_or(super::API);
    super::client(endpoint, &token).map_err(|error| unreachable(connection, &error, hint))
}

fn scope(connection: &Connection, request: ReadRequest<'_>) -> Result<NotionScope, Failure> {
    let ids = |field: &str| -> Result<Vec<PageId>, Failure> {
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
    Ok(NotionScope {
        roots: (!is_all).then_some(roots),
        max_pages: count(connection, "max_pages_per_run", 1000),
        earlier: request.earlier.clone(),
        now: request.now,
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

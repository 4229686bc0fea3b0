//! PostgreSQL and Amazon Redshift.
//!
//! User statements use the extended protocol in `BEGIN READ ONLY` and are always rolled back. An
//! interrupted session is cancelled and discarded.

mod catalog;
mod cell;
mod composite;
mod encryption;
mod error;
mod functions;
mod introspect;
mod listing;
mod number;
mod pool;
mod redshift;
mod role;
mod scalar;
mod session;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ktx_read_only_sql::FunctionName;
use ktx_sql::Dialect;
use ktx_warehouse::{
    ConnectionCheck, Connector, FunctionVerdict, ListedSchema, SchemaReport, SchemaSnapshot, Scope,
    WarehouseError,
};

use crate::history;
use crate::session::{SessionConnector, SessionDriver};
use crate::settings::{ConnectionSettings, LoginTarget, ServerKind};
use functions::RecentVerdicts;
use pool::PostgresPool;
use session::PostgresSession;

const POSTGRES: ServerKind = ServerKind {
    name: "PostgreSQL",
    schemes: &["postgres", "postgresql"],
    port: 5432,
    tls_port: 5432,
    user: None,
};

const REDSHIFT: ServerKind = ServerKind {
    name: "Amazon Redshift",
    schemes: &["redshift", "postgres", "postgresql"],
    port: 5439,
    tls_port: 5439,
    user: None,
};

pub(crate) fn open(
    settings: &ConnectionSettings<'_>,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    let driver = Postgres::new(settings, POSTGRES, Dialect::Postgres)?;
    Ok(Arc::new(SessionConnector::new(driver)))
}

pub(crate) fn open_redshift(
    settings: &ConnectionSettings<'_>,
) -> Result<Arc<dyn Connector>, WarehouseError> {
    let driver = Postgres::new(settings, REDSHIFT, Dialect::Redshift)?;
    Ok(Arc::new(SessionConnector::new(driver)))
}

#[derive(Debug)]
pub(crate) struct Postgres {
    dialect: Dialect,
    sessions: PostgresPool,
    functions: RecentVerdicts,
}

impl Postgres {
    pub(crate) fn new(
        settings: &ConnectionSettings<'_>,
        server: ServerKind,
        dialect: Dialect,
    ) -> Result<Self, WarehouseError> {
        let mut target = LoginTarget::read(settings, server)?;
        if target.database.is_none() {
            target.database = Some(target.user.clone());
        }
        let schemas = settings.list(&["schemas", "schema"]);
        Ok(Self {
            dialect,
            sessions: PostgresPool::new(target, dialect, schemas),
            functions: RecentVerdicts::default(),
        })
    }
}

#[async_trait]
impl SessionDriver for Postgres {
    type Session = PostgresSession;

    const GRACE: Duration = Duration::from_secs(2);

    const LISTS_SCHEMAS: bool = true;

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn accepted(&self) -> &[Dialect] {
        std::slice::from_ref(&self.dialect)
    }

    fn timezone(&self) -> Option<&str> {
        Some(self.sessions.timezone())
    }

    fn query_history(&self, days: u32) -> Option<String> {
        // The view has no dates; it counts since its reset.
        (self.dialect == Dialect::Postgres).then(|| history::postgres(days))
    }

    async fn open(&self) -> Result<PostgresSession, WarehouseError> {
        self.sessions.open().await
    }

    async fn check(
        &self,
        session: &mut PostgresSession,
    ) -> Result<ConnectionCheck, WarehouseError> {
        role::check(session, self.dialect).await
    }

    async fn check_schemas(
        &self,
        session: &mut PostgresSession,
        names: &[String],
    ) -> Result<SchemaReport, WarehouseError> {
        match self.dialect {
            Dialect::Redshift => redshift::check_schemas(session, names).await,
            _ => introspect::check_schemas(session, names).await,
        }
    }

    async fn list_schemas(
        &self,
        session: &mut PostgresSession,
        scope: &Scope,
    ) -> Result<Vec<ListedSchema>, WarehouseError> {
        match self.dialect {
            Dialect::Redshift => redshift::list(session, scope).await,
            _ => introspect::list(session, scope).await,
        }
    }

    async fn introspect(
        &self,
        session: &mut PostgresSession,
        scope: &Scope,
    ) -> Result<SchemaSnapshot, WarehouseError> {
        match self.dialect {
            Dialect::Redshift => redshift::read(session, scope).await,
            _ => introspect::read(session, scope).await,
        }
    }

    fn known_verdicts(&self, names: &[FunctionName]) -> Option<Vec<FunctionVerdict>> {
        // Redshift records volatility but does not enforce it.
        if self.dialect != Dialect::Postgres {
            return Some(vec![FunctionVerdict::NotRecorded; names.len()]);
        }
        self.functions.all(names)
    }

    async fn judge_functions(
        &self,
        session: &mut PostgresSession,
        names: &[FunctionName],
    ) -> Result<Vec<FunctionVerdict>, WarehouseError> {
        let verdicts = functions::judge(session, names).await?;
        self.functions.keep(names, &verdicts);
        Ok(verdicts)
    }
}

#[cfg(test)]
mod tests;

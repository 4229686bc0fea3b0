//! Reads a catalog over a connection that goes silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ktx_test_support::services::{Service, ServiceName, service};
use ktx_warehouse::{Connector as _, Scope};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_postgres::Config;
use tokio_util::sync::CancellationToken;

use super::{connector, server};
use crate::tests::lines;

#[derive(Clone)]
struct StallingProxy {
    silent: Arc<AtomicBool>,
    stopped: UnboundedSender<()>,
}

impl StallingProxy {
    /// After `mark`, nothing passes in either direction.
    async fn copy(
        self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        mark: &'static str,
    ) {
        let mut buffer = vec![0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let bytes = &buffer[..count];
            if String::from_utf8_lossy(bytes).contains(mark) {
                self.silent.store(true, Ordering::SeqCst);
                self.stopped.send(()).unwrap();
            }
            if !self.silent.load(Ordering::SeqCst) {
                to.write_all(bytes).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_catalog_read_over_a_silent_connection_ends_with_the_statement_that_waited() {
    let Some((_admin, _)) = server("ktx_unit_silent", "CREATE TABLE t (id int)").await else {
        return;
    };
    let Service::Available(url) = service(ServiceName::Postgres) else {
        return;
    };
    let config: Config = url.parse().unwrap();
    let behind = *config.get_ports().first().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (stopped, mut has_stopped) = unbounded_channel();
    let way = StallingProxy {
        silent: Arc::default(),
        stopped,
    };
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", behind)).await.unwrap();
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::spawn(way.clone().copy(from_client, to_server, "pg_class"));
            tokio::spawn(way.clone().copy(from_server, to_client, "no mark"));
        }
    });
    let fields = json!({ "host": "127.0.0.1", "port": port });
    let connector = connector("ktx_unit_silent", &fields).unwrap();
    let reading = tokio::spawn(async move {
        let scope = Scope::default();
        connector
            .introspect(&scope, &CancellationToken::new())
            .await
    });
    has_stopped.recv().await.unwrap();
    tokio::time::pause();
    let error = reading.await.unwrap().unwrap_err();
    let shown = lines(&error).replace(&port.to_string(), "[PORT]");
    let shown = shown
        .replace("after 299 s", "after [TIME]")
        .replace("after 300 s", "after [TIME]");
    assert_eq!(
        shown,
        "connection_dropped\n\
         the connection to 127.0.0.1:[PORT] is silent: no answer to \
         `SELECT n.nspname::text, has_schema_privilege(n.oid, 'USAGE'), c.relname::text, …` after [TIME], \
         nor to the cancel request\n\
         run the command again; if it happens again, check the proxies and firewalls on the way to the server"
    );
}

//! The fake server over HTTP.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use anyhow::Context as _;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::legacy::{self, Sessions};
use super::tools::Tools;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportStyle {
    Streamable,
    Legacy,
}

/// Ends on drop.
#[derive(Debug)]
pub struct HttpServer {
    port: u16,
    style: TransportStyle,
    authorizations: SeenAuthorizations,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

type SeenAuthorizations = Arc<Mutex<Vec<Option<String>>>>;

impl HttpServer {
    pub fn start(style: TransportStyle) -> anyhow::Result<Self> {
        let authorizations = SeenAuthorizations::default();
        let seen = Arc::clone(&authorizations);
        let (stop, stopped) = oneshot::channel();
        let (ready, port) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            if let Ok(runtime) = runtime {
                runtime.block_on(async {
                    tokio::select! {
                        () = listen(style, &seen, &ready) => {}
                        _ = stopped => {}
                    }
                });
            }
        });
        Ok(Self {
            port: port.recv().context("no port on loopback")?,
            style,
            authorizations,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub fn url(&self) -> String {
        let path = match self.style {
            TransportStyle::Streamable => "mcp",
            TransportStyle::Legacy => "sse",
        };
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub fn authorizations(&self) -> Vec<Option<String>> {
        let seen = self
            .authorizations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        seen.clone()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn listen(style: TransportStyle, seen: &SeenAuthorizations, ready: &mpsc::Sender<u16>) {
    let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)).await else {
        return;
    };
    let Ok(address) = listener.local_addr() else {
        return;
    };
    if ready.send(address.port()).is_err() {
        return;
    }
    let streamable = StreamableHttpService::new(
        || Ok(Tools::default()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let sessions = Sessions::default();
    while let Ok((stream, _)) = listener.accept().await {
        let (streamable, sessions, seen) = (streamable.clone(), sessions.clone(), Arc::clone(seen));
        let service = service_fn(move |request: Request<Incoming>| {
            let header = request.headers().get("authorization");
            let header = header.and_then(|value| value.to_str().ok().map(str::to_owned));
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(header);
            let (streamable, sessions) = (streamable.clone(), sessions.clone());
            async move {
                Ok::<_, Infallible>(match style {
                    TransportStyle::Streamable => streamable.handle(request).await,
                    TransportStyle::Legacy => legacy::answer(request, &sessions).await,
                })
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

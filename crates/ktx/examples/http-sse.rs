//! A server that takes up sessions and sends their progress: `cargo run -p ktx --example http-sse -- --fake`. With
//! `--fake` it is its own client and ends; else it serves until it is killed.

#[path = "shared/setting.rs"]
mod setting;

use std::sync::Arc;
use std::time::Duration;

use ktx_agent_server::{AgentRoutes, Catalog};
use ktx_agent_session::{Pool, PoolError, PoolLimits};
use ktx_diagnostics::{Code, Failure};
use ktx_mcp_server::{Access, HttpServer};
use ktx_session_log::SessionId;
use ktx_tool_descriptors::ToolSet;
use serde_json::{Value, json};
use setting::{Done, SmallHost, is_fake, model, print, real_clock, says, sessions};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// A project with nothing to list.
struct NoCatalog;

impl Catalog for NoCatalog {
    fn agents(&self) -> Result<Value, Failure> {
        Ok(json!([]))
    }

    fn sessions(&self) -> Result<Value, Failure> {
        Ok(json!([]))
    }

    fn session(&self, id: &SessionId) -> Result<Value, Failure> {
        Ok(json!({ "session": id }))
    }

    fn approvals(&self) -> Result<Value, Failure> {
        Ok(json!([]))
    }

    fn failure(&self, error: PoolError) -> Failure {
        Failure::new(Code::Internal, error.to_string())
    }
}

#[tokio::main]
async fn main() -> Done {
    let folder = tempfile::tempdir()?;
    let host = SmallHost {
        runtime: model([says("Hello!")])?,
        tools: ToolSet::new(Vec::new())?,
    };
    let limits = PoolLimits {
        agents: 50,
        running: 4,
    };
    let pool = Pool::new(
        sessions(folder.path(), real_clock()),
        Arc::new(host),
        limits,
    );
    let ending = CancellationToken::new();
    let routes = AgentRoutes::new(pool.clone(), Arc::new(NoCatalog), ending.clone());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let access = Access::new(&[], &[], None);
    let server = HttpServer::serving(listener, access, "{}".to_owned(), routes, |_| {});
    let serving = tokio::spawn(server.serve(ending.clone()));
    if !is_fake() {
        print(&format!("http://{address}/v1/sessions"))?;
        serving.await?;
        return Ok(());
    }
    let body = json!({ "id": "talk", "message": "Hello?" }).to_string();
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    print(answer.lines().next().unwrap_or_default())?;
    let mut stream = TcpStream::connect(address).await?;
    let head = "GET /v1/sessions/talk/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(data) = line.strip_prefix("data: ") {
            let event: Value = serde_json::from_str(data)?;
            print(&event["event"].to_string())?;
            if event["event"]["type"] == "done" {
                break;
            }
        }
    }
    drop(lines);
    pool.shutdown(Duration::from_secs(30)).await;
    ending.cancel();
    serving.await?;
    Ok(())
}

//! The whole server, tested with the official client.

mod bounds;
mod conformance;
mod context;
mod fixture;
mod resumed;

use std::sync::Arc;

use ktx_context_tools::ToolProfile;
use ktx_mcp_server::{Ended, ServedTools, serve_stream};
use rmcp::ServiceExt as _;
use rmcp::model::CallToolRequestParams;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::context::Watched;

type Server = JoinHandle<Result<Ended, String>>;

fn start(context: &Arc<Watched>, profile: ToolProfile) -> (tokio::io::DuplexStream, Server) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let context = Arc::clone(context);
    let server = tokio::spawn(async move {
        let shutdown = CancellationToken::new();
        let served = ServedTools {
            context,
            more: Vec::new(),
            only: None,
            renewal: None,
            observer: None,
            wrap: |tools| tools,
            profile,
            version: "9.9.9",
        };
        serve_stream(served, Box::new(reader), Box::new(writer), shutdown)
            .await
            .map_err(|error| error.to_string())
    });
    (ours, server)
}

#[tokio::test]
async fn the_handshake_and_the_list_of_tools_open_nothing() {
    let context = Arc::new(Watched::default());
    let (stream, server) = start(&context, ToolProfile::Full);
    let client = ().serve(stream).await.unwrap();
    let info = client.peer_info().unwrap();
    assert!(
        info.instructions
            .as_deref()
            .is_some_and(|text| text.contains("discover_data"))
    );
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(
        names,
        [
            "connection_list",
            "dictionary_search",
            "discover_data",
            "entity_details",
            "sl_query",
            "sl_read_source",
            "sql_execution",
            "wiki_read",
            "wiki_search",
        ]
    );
    assert_eq!(context.seen(), Vec::<&str>::new());
    client.cancel().await.unwrap();
    assert_eq!(server.await.unwrap(), Ok(Ended::InputClosed));
}

#[tokio::test]
async fn a_call_opens_what_it_needs_and_no_more() {
    let context = Arc::new(Watched::default());
    let (stream, _server) = start(&context, ToolProfile::Full);
    let client = ().serve(stream).await.unwrap();
    let result = client
        .call_tool(CallToolRequestParams::new("connection_list"))
        .await
        .unwrap();
    assert_eq!(result.structured_content, Some(json!({"connections": []})));
    assert_eq!(context.seen(), ["connections"]);
    let arguments = json!({"key": "revenue"}).as_object().cloned().unwrap();
    let call = CallToolRequestParams::new("wiki_read").with_arguments(arguments);
    let result = client.call_tool(call).await.unwrap();
    assert_eq!(result.is_error, Some(true));
    let text = result
        .content
        .first()
        .and_then(|content| content.as_text())
        .unwrap();
    assert_eq!(
        text.text,
        "page_not_found: there is no wiki page `revenue`\nhint: find pages with `wiki_search`"
    );
    // Then similar names and these words are searched.
    assert_eq!(
        context.seen(),
        ["connections", "page_paths", "page_paths", "pages", "search"]
    );
}

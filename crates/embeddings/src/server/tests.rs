//! Tests requests to the server, and its answers.

use serde_json::{Value, json};
use wiremock::matchers::{body_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

fn settings(server: &MockServer) -> ServerSettings {
    ServerSettings {
        base: format!("{}/v1/", server.uri()),
        key: Some(Secret::new("sk-test-1234567890")),
        model: "text-embedding-3-small".to_owned(),
        dimensions: Some(2),
        batch: Some(2),
    }
}

async fn answering(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(answer)
        .mount(&server)
        .await;
    server
}

async fn refusal(answer: ResponseTemplate) -> String {
    let server = answering(answer).await;
    let port = server.address().port().to_string();
    let asked = EmbeddingServer::new(settings(&server)).expect("a client");
    let texts = ["one".to_owned(), "two".to_owned()];
    let error = asked.embed(&texts).await.expect_err("a refusal");
    error.to_string().replace(&port, "PORT")
}

fn vectors(entries: &[(usize, Value)]) -> ResponseTemplate {
    let data = entries.iter().map(
        |(index, numbers)| json!({ "object": "embedding", "index": index, "embedding": numbers }),
    );
    ResponseTemplate::new(200).set_body_json(json!({ "data": data.collect::<Vec<_>>() }))
}

/// KTX-08.
#[tokio::test]
async fn asks_in_batches_and_puts_the_vectors_in_order() {
    let server = MockServer::start().await;
    let body = |texts: Value| {
        json!({
            "model": "text-embedding-3-small",
            "input": texts,
            "encoding_format": "float",
            "dimensions": 2,
        })
    };
    let answers = [
        (
            json!(["a", "b"]),
            vectors(&[(1, json!([0.0, 1.0])), (0, json!([1.0, 0.0]))]),
        ),
        (json!(["c"]), vectors(&[(0, json!([0.5, 0.5]))])),
    ];
    for (texts, answer) in answers {
        Mock::given(method("POST"))
            .and(path("/v1/embeddings"))
            .and(header("authorization", "Bearer sk-test-1234567890"))
            .and(body_json(body(texts)))
            .respond_with(answer)
            .expect(1)
            .mount(&server)
            .await;
    }
    let asked = EmbeddingServer::new(settings(&server)).expect("a client");
    let texts = ["a", "b", "c"].map(str::to_owned);
    let found = asked.embed(&texts).await.expect("vectors");
    assert_eq!(found, [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]);
}

#[tokio::test]
async fn says_why_there_are_no_vectors() {
    let refused = |status: u16, message: &str| {
        let body = json!({ "error": { "message": message } });
        ResponseTemplate::new(status).set_body_json(body)
    };
    let all = [
        refusal(refused(401, "no such key: sk-test-1234567890")).await,
        refusal(refused(404, "no such model")).await,
        refusal(ResponseTemplate::new(200).set_body_string("<html>")).await,
        refusal(vectors(&[(0, json!([1.0, 0.0]))])).await,
        refusal(vectors(&[(0, json!([1.0])), (1, json!([1.0]))])).await,
        refusal(vectors(&[(0, json!([1.0, 0.0])), (0, json!([1.0, 0.0]))])).await,
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    the embeddings server at 127.0.0.1 answered 401: no such key: ***
    the embeddings server at 127.0.0.1 answered 404: no such model
    the embeddings server at 127.0.0.1 answered something other than vectors
    the embeddings server at 127.0.0.1 answered 1 vectors for 2 texts
    the embeddings server at 127.0.0.1 answered vectors of 1 numbers instead of 2
    the embeddings server at 127.0.0.1 answered two vectors for one text
    ");
}

#[test]
fn refuses_addresses_that_would_show_the_key() {
    let refused = ServerSettings {
        base: "http://example.com/v1".to_owned(),
        key: None,
        model: "m".to_owned(),
        dimensions: None,
        batch: None,
    };
    let error = EmbeddingServer::new(refused).expect_err("a refusal");
    insta::assert_snapshot!(error.to_string(), @"`http://example.com/v1` is not the address of an embeddings server: it must begin with `https://`, or name this machine");
}

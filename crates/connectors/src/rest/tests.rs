//! Tests with a local server.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use ktx_http::BaseUrl;
use ktx_secrets::Redactor;
use ktx_warehouse::ErrorKind;
use serde_json::json;

use super::RestClient;

fn serve(breaking: usize) -> RestClient {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend_from_slice(&byte);
            }
            if number >= breaking {
                let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 11\r\n\r\n{\"good\": 1}";
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    let endpoint = BaseUrl::parse(&format!("http://{address}")).unwrap();
    RestClient::new("Warehouse", endpoint, Redactor::new())
}

async fn ask(rest: &RestClient) -> Result<serde_json::Value, ErrorKind> {
    let request = rest.client().await.unwrap().get(rest.endpoint().as_str());
    let answer = rest.send(request).await;
    answer.map(|answer| answer.body).map_err(|error| error.kind)
}

#[tokio::test]
async fn asks_once_more_when_a_connection_breaks() {
    assert_eq!(ask(&serve(1)).await, Ok(json!({"good": 1})));
    assert_eq!(ask(&serve(2)).await, Err(ErrorKind::Dropped));
}

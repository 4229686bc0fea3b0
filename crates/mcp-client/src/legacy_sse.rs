//! The older transport: an event stream from the server, a POST for each message to it.

use reqwest::header::ACCEPT;
use reqwest::{Client, RequestBuilder, Response, Url};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use crate::address::Address;
use crate::events::{EventReader, ServerEvent};
use crate::lines::Watched;

#[derive(Debug, thiserror::Error)]
pub(crate) enum SseFault {
    #[error("the server could not be reached")]
    Request(#[from] reqwest::Error),
    #[error("HTTP {0}")]
    Status(u16),
    #[error("the stream of events ended before its `endpoint`")]
    NoEndpoint,
    #[error("the `endpoint` is on another host")]
    ForeignEndpoint,
    #[error("a message is too long")]
    TooLong,
}

pub(crate) struct LegacySse {
    address: Address,
    endpoint: Url,
    stream: EventStream,
}

impl LegacySse {
    /// The first event is the address for messages.
    pub(crate) async fn open(address: Address, watched: Watched) -> Result<Self, SseFault> {
        let request = address.client.get(address.url.clone());
        let request = request.header(ACCEPT, "text/event-stream");
        let response = accepted(with_headers(request, &address).send().await?)?;
        let mut stream = EventStream {
            response,
            reader: EventReader::default(),
            watched,
        };
        let endpoint = loop {
            let event = stream.next().await?.ok_or(SseFault::NoEndpoint)?;
            if event.name == "endpoint" {
                break event.data;
            }
        };
        let endpoint = address
            .url
            .join(endpoint.trim())
            .map_err(|_| SseFault::NoEndpoint)?;
        if endpoint.origin() != address.url.origin() {
            return Err(SseFault::ForeignEndpoint);
        }
        Ok(Self {
            address,
            endpoint,
            stream,
        })
    }
}

fn with_headers(request: RequestBuilder, address: &Address) -> RequestBuilder {
    let headers = address.headers.clone().into_iter().collect();
    request.headers(headers)
}

fn accepted(response: Response) -> Result<Response, SseFault> {
    let status = response.status();
    if status.is_success() {
        Ok(response)
    } else {
        Err(SseFault::Status(status.as_u16()))
    }
}

struct EventStream {
    response: Response,
    reader: EventReader,
    watched: Watched,
}

impl EventStream {
    async fn next(&mut self) -> Result<Option<ServerEvent>, SseFault> {
        loop {
            match self.reader.next_event() {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(_) => {
                    self.watched.too_long();
                    return Err(SseFault::TooLong);
                }
            }
            match self.response.chunk().await? {
                Some(bytes) => self.reader.push(&bytes),
                None => return Ok(None),
            }
        }
    }
}

impl Transport<RoleClient> for LegacySse {
    type Error = SseFault;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let client: &Client = &self.address.client;
        let request = with_headers(client.post(self.endpoint.clone()), &self.address).json(&item);
        async move { accepted(request.send().await?).map(drop) }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = match self.stream.next().await {
                Ok(event) => event?,
                Err(error) => {
                    tracing::debug!(%error, "the stream of an MCP server broke");
                    return None;
                }
            };
            match serde_json::from_str(&event.data) {
                Ok(message) => return Some(message),
                Err(_) => self.stream.watched.foreign(event.data.as_bytes()),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

//! Sends a statement and reads its answer line by line.

use ktx_secrets::Secret;
use ktx_warehouse::{Caps, Cell, ColumnHeader, ErrorKind, WarehouseError};
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::{cell, error};
use crate::limits::{Meter, RowDemand};
use crate::rest;
use crate::settings::LoginTarget;
use crate::tls::{Tls, TlsTrust};

/// Maximum bytes of a row beyond the result's cap.
const LINE_BYTES: usize = 16 << 20;

const ERROR_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct HttpServer {
    target: LoginTarget,
    client: OnceCell<Client>,
}

impl HttpServer {
    pub(super) fn new(target: LoginTarget) -> Self {
        Self {
            target,
            client: OnceCell::new(),
        }
    }

    pub(super) fn timezone(&self) -> &str {
        &self.target.timezone
    }

    pub(super) fn database(&self) -> &str {
        self.target.database.as_deref().unwrap_or("default")
    }

    /// Dropping the answer stops the server.
    pub(super) async fn stream(
        &self,
        sql: &str,
        caps: &Caps,
        meter: &mut Meter<'_>,
    ) -> Result<(), WarehouseError> {
        let response = self.send(sql, caps).await?;
        let mut lines = ResponseLines {
            response,
            rest: Vec::new(),
            cap: caps.bytes.saturating_add(LINE_BYTES),
        };
        let names = self.row(&mut lines).await?.unwrap_or_default();
        let types: Vec<String> = texts(self.row(&mut lines).await?.unwrap_or_default());
        let header: Vec<ColumnHeader> = texts(names)
            .into_iter()
            .zip(&types)
            .map(|(name, native_type)| ColumnHeader {
                name,
                native_type: Some(native_type.clone()),
            })
            .collect();
        meter.header(&header);
        while let Some(values) = self.row(&mut lines).await? {
            let cells: Vec<Cell> = types
                .iter()
                .zip(values)
                .map(|(native_type, value)| cell::decode(native_type, value))
                .collect();
            if meter.row(cells)? == RowDemand::Enough {
                break;
            }
        }
        Ok(())
    }

    /// A line that is not a list is an error in the middle of the answer.
    async fn row(&self, lines: &mut ResponseLines) -> Result<Option<Vec<Value>>, WarehouseError> {
        let Some(line) = lines.next(&self.target).await? else {
            return Ok(None);
        };
        match serde_json::from_str(&line) {
            Ok(values) => Ok(Some(values)),
            Err(_) => Err(error::from_text(&line, StatusCode::OK, &self.target)),
        }
    }

    async fn send(&self, sql: &str, caps: &Caps) -> Result<Response, WarehouseError> {
        let client = self
            .client
            .get_or_try_init(|| async { self.client() })
            .await?;
        let target = &self.target;
        let scheme = if matches!(target.tls, Tls::Required(_)) {
            "https"
        } else {
            "http"
        };
        let seconds = caps.timeout.as_secs_f64().max(0.001).to_string();
        let rows = caps.rows.saturating_add(1).to_string();
        let mut parameters = vec![
            ("readonly", "1"),
            ("session_timezone", target.timezone.as_str()),
            ("max_execution_time", seconds.as_str()),
            ("max_result_rows", rows.as_str()),
            ("result_overflow_mode", "break"),
            ("cancel_http_readonly_queries_on_client_close", "1"),
            ("default_format", "JSONCompactEachRowWithNamesAndTypes"),
            ("output_format_json_quote_64bit_integers", "1"),
            ("output_format_json_quote_decimals", "1"),
            ("output_format_json_quote_denormals", "1"),
            ("output_format_decimal_trailing_zeros", "1"),
        ];
        if let Some(database) = &target.database {
            parameters.push(("database", database));
        }
        let password = target.password.as_ref().map(Secret::expose);
        let response = client
            .post(format!("{scheme}://{}/", target.address()))
            .query(&parameters)
            .basic_auth(&target.user, password)
            .body(sql.to_owned())
            .send()
            .await
            .map_err(|error| error::from_client(&error, target))?;
        if response.status() == StatusCode::OK {
            return Ok(response);
        }
        let status = response.status();
        let mut lines = ResponseLines {
            response,
            rest: Vec::new(),
            cap: ERROR_BYTES,
        };
        let text = lines.next(target).await?.unwrap_or_default();
        Err(error::from_text(&text, status, target))
    }

    fn client(&self) -> Result<Client, WarehouseError> {
        let trust = match &self.target.tls {
            Tls::Required(trust) => trust,
            Tls::Off | Tls::WhereOffered => &TlsTrust::System,
        };
        rest::client(trust, &self.target.host)
    }
}

fn texts(values: Vec<Value>) -> Vec<String> {
    values
        .into_iter()
        .map(|value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        })
        .collect()
}

struct ResponseLines {
    response: Response,
    rest: Vec<u8>,
    cap: usize,
}

impl ResponseLines {
    async fn next(&mut self, target: &LoginTarget) -> Result<Option<String>, WarehouseError> {
        let mut searched = 0;
        loop {
            let fresh = self.rest.get(searched..).unwrap_or_default();
            if let Some(place) = fresh.iter().position(|byte| *byte == b'\n') {
                let tail = self.rest.split_off(searched + place + 1);
                let line = std::mem::replace(&mut self.rest, tail);
                searched = 0;
                if line.len() > 1 {
                    return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
                }
                continue;
            }
            searched = self.rest.len();
            if searched > self.cap {
                return Err(WarehouseError::new(
                    ErrorKind::Limit,
                    format!("one row has more than {} bytes", self.cap),
                ));
            }
            match self
                .response
                .chunk()
                .await
                .map_err(|error| error::from_client(&error, target))?
            {
                Some(chunk) => self.rest.extend_from_slice(&chunk),
                None if self.rest.is_empty() => return Ok(None),
                None => {
                    let line = std::mem::take(&mut self.rest);
                    return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
                }
            }
        }
    }
}

//! Starts, polls and reads one statement.

use std::sync::Arc;
use std::time::Duration;

use ktx_warehouse::{Caps, Cell, ColumnHeader, ErrorKind, WarehouseError};
use reqwest::Method;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::api::{SnowflakeApi, request_id};
use super::cell::RowType;
use super::error;
use crate::limits::{Meter, RowDemand};
use crate::orders;
use crate::rest;

const FIRST_PAUSE: Duration = Duration::from_millis(20);

const LONGEST_PAUSE: Duration = Duration::from_secs(1);

const CANCEL_TIME: Duration = Duration::from_secs(5);

/// A statement that can be running. Dropping it cancels it.
pub(super) struct RunningStatement {
    api: Arc<SnowflakeApi>,
    handle: String,
    runs: bool,
    _at_work: TaskTrackerToken,
}

impl RunningStatement {
    /// The request survives its caller, because only its answer has the handle for cancellation.
    pub(super) async fn start(
        api: &Arc<SnowflakeApi>,
        sql: &str,
        caps: &Caps,
    ) -> Result<Self, WarehouseError> {
        let body = api.statement(sql, caps);
        let query = [("requestId", request_id()?), ("async", "true".to_owned())];
        let (sender, started) = oneshot::channel();
        let api = Arc::clone(api);
        orders::send(async move {
            let answer = api.send(Method::POST, "", &query, Some(&body)).await;
            // Dropping an unreceived statement cancels it.
            drop(sender.send(answer.and_then(|answer| Self::of(&api, &answer))));
        });
        let broke = |_| WarehouseError::new(ErrorKind::Other, "the request to Snowflake broke");
        started.await.map_err(broke)?
    }

    fn of(api: &Arc<SnowflakeApi>, answer: &rest::JsonResponse) -> Result<Self, WarehouseError> {
        match (answer.status, rest::text(&answer.body, "/statementHandle")) {
            (200 | 202, Some(handle)) => Ok(Self {
                api: Arc::clone(api),
                handle: handle.to_owned(),
                runs: true,
                _at_work: orders::track_operation(),
            }),
            _ => Err(error::from_answer(api, answer)),
        }
    }

    pub(super) async fn read(&mut self, meter: &mut Meter<'_>) -> Result<(), WarehouseError> {
        let mut first = self.wait().await?;
        let row_type = RowType::list(first.pointer("/resultSetMetaData/rowType"));
        let header: Vec<ColumnHeader> = row_type.iter().map(RowType::header).collect();
        meter.header(&header);
        let partitions = first
            .pointer("/resultSetMetaData/partitionInfo")
            .and_then(Value::as_array)
            .map_or(1, Vec::len);
        if hand(&row_type, &mut first, meter)? == RowDemand::Enough {
            return Ok(());
        }
        for number in 1..partitions {
            let query = [("partition", number.to_string())];
            let mut partition = self.ask(&query).await?;
            if hand(&row_type, &mut partition.body, meter)? == RowDemand::Enough {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn wait(&mut self) -> Result<Value, WarehouseError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let answer = self.ask(&[]).await?;
            if answer.status == 200 {
                self.runs = false;
                return Ok(answer.body);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }

    async fn ask(
        &mut self,
        query: &[(&str, String)],
    ) -> Result<rest::JsonResponse, WarehouseError> {
        let path = self.path("");
        let answer = self.api.send(Method::GET, &path, query, None).await?;
        if matches!(answer.status, 200 | 202) {
            return Ok(answer);
        }
        // An error status means that the statement has ended.
        self.runs = !matches!(answer.status, 408 | 422);
        Err(error::from_answer(&self.api, &answer))
    }

    fn path(&self, ending: &str) -> String {
        format!("/{}{ending}", self.handle)
    }

    /// Returns a cancel request the first time, if the statement can still be running.
    fn order(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        if !std::mem::take(&mut self.runs) {
            return None;
        }
        let (api, path) = (Arc::clone(&self.api), self.path("/cancel"));
        Some(async move { cancel(&api, &path).await })
    }

    pub(super) async fn finish(mut self) {
        if let Some(order) = self.order() {
            orders::send_and_wait(order).await;
        }
    }
}

impl Drop for RunningStatement {
    fn drop(&mut self) {
        if let Some(order) = self.order() {
            orders::send(order);
        }
    }
}

async fn cancel(api: &SnowflakeApi, path: &str) {
    let call = api.send(Method::POST, path, &[], None);
    match tokio::time::timeout(CANCEL_TIME, call).await {
        Ok(Ok(answer)) if answer.status == 200 => {}
        failed => tracing::debug!(?failed, path, "a statement could not be cancelled"),
    }
}

fn hand(
    row_type: &[RowType],
    answer: &mut Value,
    meter: &mut Meter<'_>,
) -> Result<RowDemand, WarehouseError> {
    let Some(Value::Array(rows)) = answer.pointer_mut("/data").map(Value::take) else {
        return Ok(RowDemand::More);
    };
    for row in rows {
        let Value::Array(values) = row else {
            continue;
        };
        let cells: Vec<Cell> = row_type
            .iter()
            .zip(values)
            .map(|(column, value)| column.decode(value))
            .collect();
        if meter.row(cells)? == RowDemand::Enough {
            return Ok(RowDemand::Enough);
        }
    }
    Ok(RowDemand::More)
}

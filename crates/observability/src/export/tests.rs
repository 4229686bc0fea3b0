//! The exporter against collectors that misbehave. No test depends on timing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use async_trait::async_trait;

use super::{Delivery, DeliveryReceipt, Exporter, ExporterState, QUEUE, SpanShipment, rejected};
use crate::redaction::SharedRedactor;
use crate::settings::ExportSettings;
use crate::span::{FinishedSpan, SpanKind};

fn settings() -> ExportSettings {
    ExportSettings {
        url: "http://collector/v1/traces".to_owned(),
        headers: vec![("authorization".to_owned(), "Bearer planted".to_owned())],
        timeout: Duration::from_secs(10),
        resource: Vec::new(),
    }
}

fn span() -> FinishedSpan {
    FinishedSpan {
        trace: [1; 16],
        id: [2; 8],
        parent: None,
        name: "run".to_owned(),
        kind: SpanKind::Internal,
        start: 1,
        end: 2,
        attributes: BTreeMap::new(),
        failure: None,
    }
}

/// Answers with these statuses, then with 200; records the number of spans in each post.
#[derive(Clone, Default)]
struct SpanCollector {
    statuses: Arc<Mutex<VecDeque<u16>>>,
    posts: Arc<Mutex<Vec<usize>>>,
}

#[async_trait]
impl Delivery for SpanCollector {
    async fn post(&self, shipment: SpanShipment<'_>) -> Result<DeliveryReceipt, String> {
        assert_eq!(shipment.url, "http://collector/v1/traces");
        assert_eq!(shipment.headers, settings().headers);
        let body: serde_json::Value = serde_json::from_slice(&shipment.body).unwrap();
        let spans = body.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap();
        self.posts
            .lock()
            .unwrap()
            .push(spans.as_array().unwrap().len());
        let status = self.statuses.lock().unwrap().pop_front().unwrap_or(200);
        Ok(DeliveryReceipt {
            status,
            retry_after: Some(Duration::from_millis(1)),
            body: Vec::new(),
        })
    }
}

fn exporter(collector: &SpanCollector) -> Exporter {
    let collector = collector.clone();
    Exporter::new(settings(), SharedRedactor::default(), move || {
        Ok(Box::new(collector))
    })
}

#[test]
fn spans_arrive_in_batches_before_the_end() {
    let collector = SpanCollector::default();
    let exporter = exporter(&collector);
    for _ in 0..700 {
        exporter.take(span());
    }
    exporter.finish();
    let posts = collector.posts.lock().unwrap();
    assert_eq!(posts.iter().sum::<usize>(), 700);
    assert!(posts.iter().all(|spans| *spans <= 512), "{posts:?}");
}

#[test]
fn a_busy_collector_is_retried_and_a_refusing_one_is_not() {
    for (statuses, posts) in [
        (vec![503, 429], 3),
        (vec![503, 503, 503], 3),
        (vec![400], 1),
        (vec![401], 1),
    ] {
        let collector = SpanCollector::default();
        collector.statuses.lock().unwrap().extend(&statuses);
        let exporter = exporter(&collector);
        exporter.take(span());
        exporter.finish();
        assert_eq!(collector.posts.lock().unwrap().len(), posts, "{statuses:?}");
    }
}

#[test]
fn nothing_is_opened_before_the_first_span() {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let exporter = Exporter::new(settings(), SharedRedactor::default(), move || {
        count.fetch_add(1, Ordering::SeqCst);
        Err("no client".to_owned())
    });
    exporter.finish();
    assert_eq!(opened.load(Ordering::SeqCst), 0);
}

/// Holds every post until the test releases it.
struct StuckCollector(Mutex<mpsc::Receiver<()>>);

#[async_trait]
impl Delivery for StuckCollector {
    async fn post(&self, _shipment: SpanShipment<'_>) -> Result<DeliveryReceipt, String> {
        match self.0.lock().unwrap().recv() {
            Ok(()) => Err("let go".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[test]
fn a_full_queue_drops_and_counts_instead_of_waiting() {
    let (let_go, held) = mpsc::channel();
    let exporter = Exporter::new(settings(), SharedRedactor::default(), move || {
        Ok(Box::new(StuckCollector(Mutex::new(held))))
    });
    let sent = QUEUE * 2;
    for _ in 0..sent {
        exporter.take(span());
    }
    let dropped = exporter.dropped.load(Ordering::Relaxed);
    // The thread holds at most one batch besides the queue.
    assert!(
        dropped >= u64::try_from(sent - QUEUE - 512).unwrap(),
        "{dropped}"
    );
    drop(let_go);
    exporter.finish();
    assert!(matches!(*exporter.lock(), ExporterState::Over));
}

#[test]
fn a_collector_may_take_a_post_and_refuse_spans_of_it() {
    let check = |body: &str, expected: Option<(u64, &str)>| {
        let receipt = DeliveryReceipt {
            status: 200,
            retry_after: None,
            body: body.as_bytes().to_vec(),
        };
        let found = rejected(&receipt);
        assert_eq!(
            found,
            expected.map(|(count, words)| (count, words.to_owned()))
        );
    };
    check("", None);
    check("{}", None);
    check(r#"{"partialSuccess":{}}"#, None);
    check(r#"{"partialSuccess":{"rejectedSpans":"0"}}"#, None);
    check(
        r#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#,
        Some((3, "too old")),
    );
    check(
        r#"{"partialSuccess":{"rejectedSpans":1}}"#,
        Some((1, "no reason given")),
    );
}

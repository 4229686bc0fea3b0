//! What a connection reads, and what the next one.

use futures_util::{FutureExt as _, StreamExt as _};
use rmcp::model::{
    ProgressNotification, ProgressNotificationParam, ProgressToken, RequestId, ServerNotification,
};

use super::*;

const SILENT: Patience = Patience {
    retry: None,
    longest: None,
    absence: Duration::ZERO,
};

fn log(kind: StreamKind) -> Arc<EventLog> {
    EventLog::new(7, kind, CancellationToken::new())
}

fn push(log: &EventLog, count: u32) {
    for step in 0..count {
        let token = ProgressToken(RequestId::Number(1));
        let step = ProgressNotificationParam::new(token, f64::from(step));
        let step = ServerNotification::ProgressNotification(ProgressNotification::new(step));
        log.push(ServerJsonRpcMessage::notification(step));
    }
}

/// The ids of the events that are there, and whether the stream has ended.
fn heard(reader: &mut Reader) -> String {
    let mut heard = Vec::new();
    loop {
        match reader.next().now_or_never() {
            Some(Some(event)) => heard.push(event.event_id.unwrap_or_default()),
            Some(None) => heard.push("end".to_owned()),
            None => return heard.join(" "),
        }
        if heard.last().is_some_and(|last| last == "end") {
            return heard.join(" ");
        }
    }
}

#[test]
fn a_connection_reads_on_after_any_event() {
    let log = log(StreamKind::Answer);
    let mut first = log.read(SILENT);
    push(&log, 2);
    assert_eq!(heard(&mut first), "7-1 7-2");
    push(&log, 1);
    log.finish();
    for (after, rest) in [
        (0, "7-1 7-2 7-3 end"),
        (1, "7-2 7-3 end"),
        (2, "7-3 end"),
        (3, "end"),
    ] {
        let mut again = log.read_after(after, SILENT).unwrap();
        assert_eq!(heard(&mut again), rest);
    }
    assert!(log.read_after(4, SILENT).is_none());
}

#[test]
fn a_newer_connection_ends_the_older_one() {
    let log = log(StreamKind::Answer);
    let mut older = log.read(SILENT);
    push(&log, 1);
    assert_eq!(heard(&mut older), "7-1");
    let mut newer = log.read_after(1, SILENT).unwrap();
    push(&log, 1);
    assert_eq!(heard(&mut older), "end");
    assert_eq!(heard(&mut newer), "7-2");
}

#[test]
fn of_two_listeners_the_newer_one_hears_until_it_leaves() {
    let log = log(StreamKind::Listening);
    let mut older = log.read(SILENT);
    let mut newer = log.read(SILENT);
    push(&log, 1);
    assert_eq!(
        (heard(&mut older), heard(&mut newer)),
        (String::new(), "7-1".to_owned())
    );
    push(&log, 1);
    assert_eq!(heard(&mut newer), "7-2");
    drop(newer);
    push(&log, 1);
    assert_eq!(heard(&mut older), "7-3");
}

#[test]
fn of_a_long_stream_the_newest_events_are_kept() {
    let log = log(StreamKind::Answer);
    push(&log, 300);
    let mut reader = log.read_after(1, SILENT).unwrap();
    let heard = heard(&mut reader);
    assert_eq!(heard.split(' ').count(), KEPT);
    assert!(heard.starts_with("7-45 "), "{heard}");
    assert!(heard.ends_with(" 7-300"), "{heard}");
}

#[test]
fn a_place_is_what_it_prints() {
    let place = EventPlace {
        stream: 3,
        number: 12,
    };
    assert_eq!(EventPlace::parse(&place.to_string()), Some(place));
    for wrong in ["", "0", "3/12", "-1", "3-", "3--1", "a-b", "3-12-1"] {
        assert_eq!(EventPlace::parse(wrong), None, "{wrong}");
    }
}

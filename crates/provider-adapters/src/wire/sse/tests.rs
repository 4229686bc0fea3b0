//! Tests of the event parser.

use super::SseParser;

fn events(pieces: &[&[u8]]) -> Vec<String> {
    let mut parser = SseParser::default();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(parser.push(piece).unwrap());
    }
    events.extend(parser.finish());
    events
        .into_iter()
        .map(|event| format!("{}|{}", event.name, event.data))
        .collect()
}

#[test]
fn reads_all_line_ends_comments_joined_data_and_a_missing_last_blank_line() {
    let text = "\u{feff}: hello\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\nid: 7\rdata:3\r\r\ndata\n\nevent: x\n\ndata: ü";
    assert_eq!(events(&[text.as_bytes()]), ["a|1\n2", "|3", "|", "|ü"]);
}

#[test]
fn a_cut_at_every_byte_changes_nothing() {
    let text = "event: grüße\r\ndata: {\"a\":\"ü€😀\"}\r\n\r\ndata: [DONE]\n\n".as_bytes();
    let whole = events(&[text]);
    for cut in 0..=text.len() {
        let (head, tail) = text.split_at(cut);
        assert_eq!(events(&[head, tail]), whole, "cut at {cut}");
    }
    let single: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(events(&single), whole);
}

#[test]
fn knows_the_events_that_only_keep_the_connection_open() {
    let kept = |text: &str| -> Vec<bool> {
        let events = SseParser::default().push(text.as_bytes()).unwrap();
        events.iter().map(super::SseEvent::is_keep_alive).collect()
    };
    let silent = ": hello\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\ndata\n\n";
    assert_eq!(kept(silent), [true, true, true]);
    let spoken = "event: content_block_delta\ndata: {\"type\":\"ping\"}\n\ndata: {\"type\":\"response.output_text.delta\"}\n\ndata: {\"choices\":[]}\n\ndata: [DONE]\n\n";
    assert_eq!(kept(spoken), [false; 4]);
}

#[test]
fn an_event_without_an_end_is_refused() {
    let parser = || SseParser {
        longest: 10,
        ..SseParser::default()
    };
    let lines = |text: &str| {
        let mut parser = parser();
        text.split_inclusive('\n')
            .map(|line| parser.push(line.as_bytes()).map(|events| events.len()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| error.to_string())
    };
    let refused = Err("the provider sent an event of more than 64 MiB".to_owned());
    assert_eq!(
        lines("data: 1\ndata: 2\n\ndata: 3\n\n"),
        Ok(vec![0, 0, 1, 0, 1])
    );
    assert_eq!(lines("data: 1234567890"), refused);
    assert_eq!(
        lines("data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\ndata: 6\n"),
        refused
    );
}

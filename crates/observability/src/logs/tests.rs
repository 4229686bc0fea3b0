//! Tests of filters and of the redacted stream.

use tracing_subscriber::fmt::MakeWriter as _;

use super::{LogFormat, RedactedStderr, log_filter};
use crate::redaction::SharedRedactor;

#[test]
fn an_invalid_filter_is_reported_and_warnings_stay_on() {
    let mut warnings = Vec::new();
    let filter = log_filter(Some("ktx=loud=very"), &mut warnings);
    assert_eq!(
        filter.max_level_hint(),
        Some(tracing::level_filters::LevelFilter::WARN)
    );
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("`KTX_LOG` is `ktx=loud=very`, which is not a filter: "),
        "{warnings:?}"
    );
    let mut warnings = Vec::new();
    log_filter(Some("ktx_scan=trace,warn"), &mut warnings);
    log_filter(None, &mut warnings);
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn formats_have_their_spellings() {
    assert_eq!(LogFormat::parse("json"), Some(LogFormat::Json));
    assert_eq!(LogFormat::parse("text"), Some(LogFormat::Text));
    assert_eq!(LogFormat::parse("JSON"), None);
}

#[test]
fn a_secret_in_two_pieces_of_a_line_is_still_hidden() {
    use std::io::Write as _;
    let redactor = SharedRedactor::default();
    redactor.learn(&ktx_secrets::Secret::new("planted-value"));
    let stderr = RedactedStderr {
        redactor,
        shown: Some(|line| line.escape_debug().to_string().into()),
    };
    let mut line = stderr.make_writer();
    line.write_all(b"key=plan").unwrap();
    line.write_all(b"ted-value \x1b[2J\nnext\n").unwrap();
    assert_eq!(line.text(), "key=*** \\u{1b}[2J\\nnext\n");
}

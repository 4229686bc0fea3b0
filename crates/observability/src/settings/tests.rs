//! Tests of the variables.

use std::time::Duration;

use super::{ContentCapture, ExportSettings, TraceSettings};

fn read(variables: &[(&str, &'static str)]) -> TraceSettings {
    TraceSettings::read(&|name| {
        variables
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    })
}

fn url(variables: &[(&str, &'static str)]) -> Option<String> {
    let settings = read(variables);
    assert_eq!(settings.warnings, Vec::<String>::new());
    settings.export.map(|export| export.url)
}

#[test]
fn spans_go_nowhere_unless_a_collector_is_named() {
    assert_eq!(read(&[]), TraceSettings::default());
    assert_eq!(
        url(&[
            ("OTEL_SERVICE_NAME", "x"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=b")
        ]),
        None
    );
}

#[test]
fn the_path_is_added_to_a_base_and_not_to_a_whole_address() {
    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");
    const WHOLE: (&str, &str) = (
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "https://traces.example/in",
    );
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(url(&[BASE]), text("http://collector:4318/v1/traces"));
    assert_eq!(url(&[BASE, WHOLE]), text("https://traces.example/in"));
    assert_eq!(url(&[WHOLE]), text("https://traces.example/in"));
    assert_eq!(url(&[BASE, ("OTEL_SDK_DISABLED", "TRUE")]), None);
    assert_eq!(url(&[BASE, ("OTEL_TRACES_EXPORTER", "none")]), None);
    assert_eq!(
        url(&[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]),
        text("http://collector:4318/v1/traces")
    );
}

#[test]
fn every_setting_of_the_export_is_read() {
    let settings = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20t0ken, x-team = data ,broken,=y",
        ),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "service.name=other,deployment.environment.name=pr%C3%BCfung%",
        ),
        ("OTEL_SERVICE_NAME", "nightly"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
    ]);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        settings,
        TraceSettings {
            export: Some(ExportSettings {
                url: "http://collector:4318/v1/traces".to_owned(),
                headers: vec![
                    pair("authorization", "Bearer t0ken"),
                    pair("x-team", "data")
                ],
                timeout: Duration::from_millis(2500),
                resource: vec![
                    pair("service.name", "nightly"),
                    pair("deployment.environment.name", "prüfung%"),
                    pair("service.version", env!("CARGO_PKG_VERSION")),
                ],
            }),
            capture: ContentCapture::On,
            warnings: Vec::new(),
        }
    );
}

#[test]
fn an_unsupported_setting_is_one_warning_and_no_export() {
    let check = |name: &'static str, value: &'static str, expected: &str| {
        let settings = read(&[
            (
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                "http://collector:4318",
            ),
            (name, value),
        ]);
        assert_eq!(
            (settings.export, settings.warnings),
            (None, vec![expected.to_owned()])
        );
    };
    check(
        "OTEL_EXPORTER_OTLP_PROTOCOL",
        "grpc",
        "traces are not exported: ktx speaks `http/json`, not `grpc`; set `OTEL_EXPORTER_OTLP_PROTOCOL=http/json` and the port of the collector that accepts it",
    );
    let settings = read(&[(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "collector://ada:secret@collector",
    )]);
    assert_eq!(
        (settings.export, settings.warnings),
        (
            None,
            vec![
                "traces are not exported: `collector://ada:***@collector/v1/traces` is not a collector URL; it begins with `http://` or `https://`"
                    .to_owned()
            ]
        )
    );
}

#[test]
fn an_invalid_timeout_becomes_the_default_with_a_warning() {
    let settings = read(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
    ]);
    assert_eq!(
        (
            settings.export.map(|export| export.timeout),
            settings.warnings.len()
        ),
        (Some(Duration::from_secs(10)), 1)
    );
}

//! Parses the standard `OTEL_*` variables.

use std::time::Duration;

/// Prompts, answers, tool arguments and results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContentCapture {
    #[default]
    Off,
    /// Redacted (`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`).
    On,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSettings {
    pub url: String,
    /// Values are secrets.
    pub headers: Vec<(String, String)>,
    pub timeout: Duration,
    /// Includes `service.name`.
    pub resource: Vec<(String, String)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceSettings {
    /// `None` without a collector.
    pub export: Option<ExportSettings>,
    pub capture: ContentCapture,
    pub warnings: Vec<String>,
}

const TIMEOUT: Duration = Duration::from_secs(10);
const PROTOCOL: &str = "http/json";

impl TraceSettings {
    /// `get` omits blanks.
    pub fn read<'a>(get: &dyn Fn(&str) -> Option<&'a str>) -> Self {
        let mut settings = Self {
            capture: match get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") {
                Some(text) if text.eq_ignore_ascii_case("true") => ContentCapture::On,
                _ => ContentCapture::Off,
            },
            ..Self::default()
        };
        let disabled =
            get("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        if disabled || get("OTEL_TRACES_EXPORTER") == Some("none") {
            return settings;
        }
        let specific = |name: &str| {
            get(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
                .or_else(|| get(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        let url = match (
            get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
            get("OTEL_EXPORTER_OTLP_ENDPOINT"),
        ) {
            (Some(whole), _) => whole.to_owned(),
            (None, Some(base)) => format!("{}/v1/traces", base.trim_end_matches('/')),
            (None, None) => return settings,
        };
        if !["http://", "https://"]
            .iter()
            .any(|scheme| url.starts_with(scheme))
        {
            settings.warnings.push(format!(
                "traces are not exported: `{}` is not a collector URL; it begins with `http://` or `https://`",
                ktx_secrets::redact_url(&url)
            ));
            return settings;
        }
        if let Some(protocol) = specific("PROTOCOL").filter(|protocol| *protocol != PROTOCOL) {
            settings.warnings.push(format!(
                "traces are not exported: ktx speaks `{PROTOCOL}`, not `{protocol}`; set `OTEL_EXPORTER_OTLP_PROTOCOL={PROTOCOL}` and the port of the collector that accepts it"
            ));
            return settings;
        }
        let timeout = match specific("TIMEOUT").map(str::parse) {
            None => TIMEOUT,
            Some(Ok(milliseconds)) => Duration::from_millis(milliseconds),
            Some(Err(_)) => {
                settings.warnings.push(
                    "`OTEL_EXPORTER_OTLP_TIMEOUT` is not a number of milliseconds; 10000 is used"
                        .to_owned(),
                );
                TIMEOUT
            }
        };
        let headers = pairs(specific("HEADERS").unwrap_or_default());
        settings.export = Some(ExportSettings {
            url,
            headers,
            timeout,
            resource: resource(
                get("OTEL_SERVICE_NAME"),
                get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default(),
            ),
        });
        settings
    }
}

/// `OTEL_SERVICE_NAME` overrides `service.name`.
fn resource(service: Option<&str>, attributes: &str) -> Vec<(String, String)> {
    let mut resource = pairs(attributes);
    let named = resource
        .iter()
        .position(|(name, _)| name == "service.name")
        .map(|at| resource.remove(at).1);
    let service = service
        .map(str::to_owned)
        .or(named)
        .unwrap_or_else(|| "ktx".to_owned());
    resource.insert(0, ("service.name".to_owned(), service));
    if !resource.iter().any(|(name, _)| name == "service.version") {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        resource.push(("service.version".to_owned(), version));
    }
    resource
}

/// `name=value,name=value`, percent-encoded.
fn pairs(text: &str) -> Vec<(String, String)> {
    text.split(',')
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let name = name.trim();
            (!name.is_empty()).then(|| (name.to_owned(), decoded(value.trim())))
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = match (first, tail) {
            (b'%', [high, low, after @ ..]) => digit(*high)
                .zip(digit(*low))
                .map(|(high, low)| (high * 16 + low, after)),
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, tail));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

//! The URIs of resources.

use ktx_mcp_bridge::{ContentError, ResourceForm};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

pub(super) const FORMS: [ResourceForm; 4] = [
    ResourceForm {
        uri_template: "ktx://wiki/{key}",
        name: "wiki",
        title: "Wiki page",
        description: "A page of definitions, rules and caveats.",
        media_type: "text/markdown",
    },
    ResourceForm {
        uri_template: "ktx://source/{connection}/{source}",
        name: "source",
        title: "Semantic source",
        description: "The columns, joins, measures and segments that queries take.",
        media_type: "application/yaml",
    },
    ResourceForm {
        uri_template: "ktx://schema/{connection}",
        name: "schema",
        title: "Tables of a warehouse",
        description: "The tables that the last scan has found.",
        media_type: "text/plain",
    },
    ResourceForm {
        uri_template: "ktx://schema/{connection}/{table}",
        name: "table",
        title: "Table",
        description: "The columns, keys and joins of a table, as the last scan has found them.",
        media_type: "application/json",
    },
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Page(String),
    Source { connection: String, name: String },
    Schema(String),
    Table { connection: String, table: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) place: Place,
    pub(super) cursor: Option<String>,
}

impl Place {
    pub(super) fn form(&self) -> &'static ResourceForm {
        let [page, source, schema, table] = &FORMS;
        match self {
            Self::Page(_) => page,
            Self::Source { .. } => source,
            Self::Schema(_) => schema,
            Self::Table { .. } => table,
        }
    }

    pub(super) fn uri(&self) -> String {
        match self {
            Self::Page(key) => format!("ktx://wiki/{}", encoded(key)),
            Self::Source { connection, name } => {
                format!("ktx://source/{}/{}", encoded(connection), encoded(name))
            }
            Self::Schema(connection) => format!("ktx://schema/{}", encoded(connection)),
            Self::Table { connection, table } => {
                format!("ktx://schema/{}/{}", encoded(connection), encoded(table))
            }
        }
    }

    pub(super) fn uri_from(&self, cursor: &str) -> String {
        format!("{}?cursor={}", self.uri(), encoded(cursor))
    }
}

impl Address {
    pub(super) fn parse(uri: &str) -> Result<Self, ContentError> {
        let unknown = || {
            let forms: Vec<String> = FORMS
                .iter()
                .map(|form| format!("`{}`", form.uri_template))
                .collect();
            let uri = ktx_diagnostics::excerpt(uri);
            ContentError::NotFound(format!(
                "there is no resource `{uri}`; the forms are {}; `resources/list` has all",
                forms.join(", ")
            ))
        };
        let rest = uri.strip_prefix("ktx://").ok_or_else(unknown)?;
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let cursor = match query.map(|query| query.strip_prefix("cursor=")) {
            None => None,
            Some(Some(cursor)) => Some(decoded(cursor).ok_or_else(unknown)?),
            Some(None) => return Err(unknown()),
        };
        let parts: Option<Vec<String>> = path.split('/').map(decoded).collect();
        let place = match parts.ok_or_else(unknown)?.as_slice() {
            [kind, key] if kind == "wiki" => Place::Page(key.clone()),
            [kind, connection, name] if kind == "source" => Place::Source {
                connection: connection.clone(),
                name: name.clone(),
            },
            [kind, connection] if kind == "schema" => Place::Schema(connection.clone()),
            [kind, connection, table] if kind == "schema" => Place::Table {
                connection: connection.clone(),
                table: table.clone(),
            },
            _ => return Err(unknown()),
        };
        Ok(Self { place, cursor })
    }
}

fn encoded(part: &str) -> String {
    utf8_percent_encode(part, PLAIN).to_string()
}

/// `None` if empty or not UTF-8.
fn decoded(part: &str) -> Option<String> {
    let text = percent_decode_str(part).decode_utf8().ok()?;
    (!text.is_empty()).then(|| text.into_owned())
}

#[cfg(test)]
mod tests;

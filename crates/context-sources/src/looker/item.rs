//! The items that are read one by one, and their files. Names are escaped, because they may contain
//! dots, slashes and colons.

use std::fmt::Write as _;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    Explore { model: String, explore: String },
    Dashboard(String),
    Look(String),
}

impl Item {
    pub(super) fn of(file: &str) -> Option<Self> {
        let mut parts = file.strip_suffix(".yaml")?.split('/');
        let found = match (parts.next()?, parts.next()?, parts.next()) {
            ("explores", model, Some(explore)) => Self::Explore {
                model: unescaped(model)?,
                explore: unescaped(explore.split('.').next()?)?,
            },
            ("dashboards", id, None) => Self::Dashboard(unescaped(id)?),
            ("looks", id, None) => Self::Look(unescaped(id)?),
            _ => return None,
        };
        parts.next().is_none().then_some(found)
    }

    pub(super) fn file(&self) -> String {
        match self {
            Self::Explore { model, explore } => {
                format!("explores/{}/{}.yaml", escaped(model), escaped(explore))
            }
            Self::Dashboard(id) => format!("dashboards/{}.yaml", escaped(id)),
            Self::Look(id) => format!("looks/{}.yaml", escaped(id)),
        }
    }

    pub(super) fn part(&self, number: usize) -> String {
        let file = self.file();
        let stem = file.strip_suffix(".yaml").unwrap_or(&file);
        format!("{stem}.fields-{number}.yaml")
    }

    /// Returns `None` for a name that would lead elsewhere in a URL.
    pub(super) fn address(&self) -> Option<String> {
        let parts: &[&String] = match self {
            Self::Explore { model, explore } => &[model, explore],
            Self::Dashboard(id) | Self::Look(id) => &[id],
        };
        if parts
            .iter()
            .any(|part| part.chars().all(|letter| letter == '.'))
        {
            return None;
        }
        Some(match self {
            Self::Explore { model, explore } => format!(
                "/lookml_models/{}/explores/{}",
                escaped(model),
                escaped(explore)
            ),
            Self::Dashboard(id) => format!("/dashboards/{}", escaped(id)),
            Self::Look(id) => format!("/looks/{}", escaped(id)),
        })
    }

    /// Numeric ids sort as numbers, before names.
    pub(super) fn place(&self) -> (Option<u64>, &str) {
        match self {
            Self::Explore { explore, .. } => (None, explore),
            Self::Dashboard(id) | Self::Look(id) => (Some(id.parse().unwrap_or(u64::MAX)), id),
        }
    }
}

pub(super) fn escaped(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"_-".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

//! Removes secrets from text that users or logs will see.

mod named;
mod options;
mod shapes;

/// Replaces secrets. Ignores values below four characters, which occur in ordinary words.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    values: Vec<crate::Secret>,
}

impl Redactor {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn learn(&mut self, secret: &crate::Secret) {
        if secret.expose().len() >= 4 {
            self.values.push(secret.clone());
            self.values
                .sort_by_key(|value| std::cmp::Reverse(value.expose().len()));
        }
    }

    /// Puts `***` for known values and for what looks like a secret by shape, name, option or URL.
    pub fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text.contains(value.expose()) {
                text = text.replace(value.expose(), "***");
            }
        }
        let text = shapes::private_keys(&redact_url(&text));
        shapes::tokens(&named::values(&options::values(&text)))
    }
}

/// Hides the password of `scheme://user:password@host`.
pub fn redact_url(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|letter: char| letter.is_whitespace() || "/?#\"'`<>".contains(letter))
            .unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((login, host)) => {
                let user = login.split_once(':').map_or(login, |(user, _)| user);
                let mark = if login.contains(':') { ":***" } else { "" };
                out.push_str(user);
                out.push_str(mark);
                out.push('@');
                out.push_str(host);
            }
            None => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

//! Access over HTTP, decided from the head of a request.

use http::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use http::uri::Authority;
use http::{StatusCode, Uri};
use ktx_secrets::Secret;
use sha2::{Digest as _, Sha256};

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

pub struct Access {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<String>,
    token: Option<[u8; 32]>,
    clients: Vec<[u8; 32]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// Shows the server's token, or none if none is required.
    Other,
    Named(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub status: StatusCode,
    pub reason: &'static str,
}

impl Access {
    /// Requires one of `hosts` or this machine, one of `origins` if an origin is present, and the
    /// token for the tools.
    ///
    /// The host check stops web pages that reach the server through their own domain name resolved
    /// to this machine; the origin check stops pages that use the correct name.
    pub fn new(hosts: &[String], origins: &[String], token: Option<&Secret>) -> Self {
        let given = hosts.iter().map(String::as_str);
        let hosts = LOOPBACK.into_iter().chain(given);
        Self {
            hosts: hosts.map(split).collect(),
            origins: origins.to_vec(),
            token: token.map(|token| digest(token.expose())),
            clients: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_clients<'a>(mut self, tokens: impl IntoIterator<Item = &'a Secret>) -> Self {
        let tokens = tokens.into_iter();
        self.clients = tokens.map(|token| digest(token.expose())).collect();
        self
    }

    pub fn asks_for_token(&self) -> bool {
        self.token.is_some()
    }

    pub(crate) fn look(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        let forbidden = |reason| Refused {
            status: StatusCode::FORBIDDEN,
            reason,
        };
        let named = match headers.get(HOST) {
            Some(host) => host.to_str().ok().and_then(|text| text.parse().ok()),
            None => uri.authority().cloned(),
        };
        let named: Authority = named.ok_or(Refused {
            status: StatusCode::BAD_REQUEST,
            reason: "the Host header is missing or wrong",
        })?;
        let (name, port) = split(named.as_str());
        let fits = |known: &(String, Option<u16>)| {
            known.0 == name && (known.1.is_none() || known.1 == port)
        };
        if !self.hosts.iter().any(fits) {
            return Err(forbidden(
                "the Host header names a host that is not allowed; see `--allowed-host`",
            ));
        }
        let Some(origin) = headers.get(ORIGIN) else {
            return Ok(());
        };
        // Other pages cannot choose the name by which a browser reached the server.
        let is_own = |origin: &str| {
            let own = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            own.is_some_and(|own| split(own) == (name.clone(), port))
        };
        let is_allowed =
            |origin: &str| is_own(origin) || self.origins.iter().any(|known| known == origin);
        if origin.to_str().is_ok_and(is_allowed) {
            return Ok(());
        }
        Err(forbidden(
            "the Origin header names an origin that is not allowed; see `--allowed-origin`",
        ))
    }

    /// Returns the client that the token belongs to.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> Result<Admitted, Refused> {
        let shown = headers.get(AUTHORIZATION).map(|value| {
            let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
            scheme
                .eq_ignore_ascii_case("bearer")
                .then(|| digest(token.trim()))
        });
        let refused = Refused {
            status: StatusCode::UNAUTHORIZED,
            reason: "the bearer token is missing or wrong",
        };
        // Comparing digests keeps the timing independent of the token.
        if let Some(Some(shown)) = shown
            && let Some(place) = self.clients.iter().position(|token| *token == shown)
        {
            return Ok(Admitted::Named(place));
        }
        match (self.token, shown) {
            (Some(token), Some(Some(shown))) if shown == token => Ok(Admitted::Other),
            (Some(_), _) => Err(refused),
            // A misspelled token must not get the access of clients without one.
            (None, Some(_)) if !self.clients.is_empty() => Err(refused),
            (None, _) => Ok(Admitted::Other),
        }
    }
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("token", &self.token.map(|_| "***"))
            .field("clients", &self.clients.len())
            .finish()
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// `Example.com:80`, `::1`, `[::1]:80`.
fn split(text: &str) -> (String, Option<u16>) {
    let bare = |name: &str| {
        let name = name.strip_prefix('[').unwrap_or(name);
        name.strip_suffix(']').unwrap_or(name).to_ascii_lowercase()
    };
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return (bare(text), None);
    }
    match text.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => match port.parse() {
            Ok(port) => (bare(name), Some(port)),
            Err(_) => (bare(text), None),
        },
        _ => (bare(text), None),
    }
}

#[cfg(test)]
mod tests;

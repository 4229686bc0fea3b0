//! Access over HTTP, decided from the head of a request before its body is read.

use http::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use http::uri::Authority;
use http::{StatusCode, Uri};
use ktx_secrets::Secret;
use sha2::{Digest as _, Sha256};

/// The hosts that name this machine.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The access rules for requests.
pub struct Access {
    hosts: Vec<(String, Option<u16>)>,
    origins: Vec<String>,
    token: Option<[u8; 32]>,
    /// The tokens of the named clients.
    clients: Vec<[u8; 32]>,
}

/// The client of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// One that shows the server's token, or none where none is asked for.
    Other,
    /// The named client at this place.
    Named(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The response status.
    pub status: StatusCode,
    /// The reason, for display.
    pub reason: &'static str,
}

impl Access {
    /// Requests must name one of these hosts, or this machine. An origin, if present, must equal
    /// one of these. With a token, only requests that carry it reach the tools.
    ///
    /// Without the check of the host, a web page could reach the server through its own domain name
    /// that resolves to this machine. The check of the origin keeps out pages that use the correct
    /// name.
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

    /// Adds the tokens of named clients, each with its own tools.
    #[must_use]
    pub fn with_clients<'a>(mut self, tokens: impl IntoIterator<Item = &'a Secret>) -> Self {
        let tokens = tokens.into_iter();
        self.clients = tokens.map(|token| digest(token.expose())).collect();
        self
    }

    /// Returns whether a token is required.
    pub fn asks_for_token(&self) -> bool {
        self.token.is_some()
    }

    /// Checks whether a request may be answered at all.
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
        // A page of the server's own address: other pages cannot choose the name by which a browser reached it.
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

    /// Checks whether a request may reach the tools, and whose they are.
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
            // A misspelled token must not fall back to the access of clients without one.
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

/// Splits a host and its port: `Example.com:80`, `::1`, `[::1]:80`.
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

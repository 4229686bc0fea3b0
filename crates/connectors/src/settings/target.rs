//! Address, login and channel protection of a server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ktx_secrets::{Redactor, Secret, SecretError, SecretRef, is_loopback};
use ktx_warehouse::WarehouseError;
use serde_json::Value;

use crate::settings::ConnectionSettings;
use crate::tls::{Tls, TlsTrust};
use crate::url::{self, DatabaseUrl};

#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerKind {
    pub(crate) name: &'static str,
    pub(crate) schemes: &'static [&'static str],
    pub(crate) port: u16,
    /// Default port with TLS, if separate.
    pub(crate) tls_port: u16,
    pub(crate) user: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(crate) struct LoginTarget {
    pub(crate) server: ServerKind,
    /// Host name, IP address, or absolute path of a socket.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: Option<String>,
    pub(crate) user: String,
    pub(crate) password: Option<Secret>,
    pub(crate) tls: Tls,
    pub(crate) timezone: String,
    pub(crate) sessions: usize,
    pub(crate) redactor: Redactor,
}

impl LoginTarget {
    /// Fields fill in what the URL omits.
    pub(crate) fn read(
        settings: &ConnectionSettings<'_>,
        server: ServerKind,
    ) -> Result<Self, WarehouseError> {
        let mut redactor = Redactor::new();
        let url = read_url(settings, server, &mut redactor)?;
        let given = |part: Option<String>, keys: &[&str]| match part {
            Some(text) => Ok(Some(text)),
            None => settings.text(keys),
        };
        let password = match url.password {
            Some(password) => Some(password),
            None => settings.secret(&["password"])?,
        };
        if let Some(password) = &password {
            redactor.learn(password);
        }
        // libpq's socket syntax: `postgres:///database?host=/run/postgresql`.
        let parameter = |name: &str| url.parameters.get(name).filter(|text| !text.is_empty());
        let part = |part: Option<String>, name: &str| part.or_else(|| parameter(name).cloned());
        let host = given(part(url.host, "host"), &["host"])?.ok_or_else(|| {
            settings
                .wrong("names no server")
                .hint("add `url`, or `host`, `database`, `username` and `password`")
        })?;
        let usual = server.user.map(str::to_owned);
        let user = given(part(url.user, "user"), &["username", "user"])?
            .or(usual)
            .ok_or_else(|| {
                settings
                    .wrong("names no login")
                    .hint("add `username`, or put the login into `url`")
            })?;
        let mut tls = protection(settings, &url.parameters, &host)?;
        match (url.scheme.as_str(), &tls) {
            ("https", Tls::WhereOffered) => tls = Tls::Required(TlsTrust::System),
            ("http", Tls::WhereOffered | Tls::Required(_)) => tls = Tls::Off,
            _ => {}
        }
        let port = match given(part(url.port, "port"), &["port"])? {
            Some(text) => parse_port(settings, &text)?,
            None if matches!(tls, Tls::Required(_)) => server.tls_port,
            None => server.port,
        };
        Ok(Self {
            server,
            database: given(url.database, &["database"])?,
            tls,
            timezone: settings.timezone()?,
            sessions: settings.count("maxConnections")?.unwrap_or(10),
            host,
            port,
            user,
            password,
            redactor,
        })
    }

    pub(crate) fn address(&self) -> String {
        match (self.is_socket(), self.host.contains(':')) {
            (true, _) => self.host.clone(),
            (false, true) => format!("[{}]:{}", self.host, self.port),
            (false, false) => format!("{}:{}", self.host, self.port),
        }
    }

    pub(crate) fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }
}

fn read_url(
    settings: &ConnectionSettings<'_>,
    server: ServerKind,
    redactor: &mut Redactor,
) -> Result<DatabaseUrl, WarehouseError> {
    let Some(text) = settings.secret(&["url"])? else {
        return Ok(DatabaseUrl {
            scheme: String::new(),
            user: None,
            password: None,
            host: None,
            port: None,
            database: None,
            parameters: BTreeMap::new(),
        });
    };
    let example = format!(
        "write it as `{}://user@host:{}/database`",
        server.schemes.first().copied().unwrap_or_default(),
        server.port
    );
    let Some(url) = url::parse(text.expose()) else {
        return Err(settings.wrong("has a `url` without `://`").hint(example));
    };
    if let Some(password) = &url.password {
        redactor.learn(password);
    }
    if server.schemes.contains(&url.scheme.as_str()) {
        return Ok(url);
    }
    let what = format!("has a `url` for `{}`, not for {}", url.scheme, server.name);
    Err(settings.wrong(&redactor.redact(&what)).hint(example))
}

fn parse_port(settings: &ConnectionSettings<'_>, text: &str) -> Result<u16, WarehouseError> {
    match text.trim().parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(settings.wrong(&format!("has the port `{text}`; ports are 1 to 65535"))),
    }
}

/// How the channel is protected.
///
/// | setting | this machine | another machine |
/// |---|---|---|
/// | none, `sslmode: prefer` | TLS where offered, not checked | TLS, certificate checked |
/// | `sslmode: disable`, `ssl: false` | none | none |
/// | `ssl: true`, any other `sslmode` | TLS, certificate checked | TLS, certificate checked |
/// | `rejectUnauthorized: false`, `sslmode: no-verify` | TLS, not checked | TLS, not checked |
/// | `trustServerCertificate: true` | TLS, not checked | TLS, not checked |
/// | a URL with `http://` | none | none |
/// | a URL with `https://` | TLS, certificate checked | TLS, certificate checked |
///
/// HTTP cannot detect whether TLS is offered, so "where offered" means none there. The user's own
/// certificate authority is in `sslrootcert` or `ssl.ca`: a path, or the PEM text.
fn protection(
    settings: &ConnectionSettings<'_>,
    parameters: &BTreeMap<String, String>,
    host: &str,
) -> Result<Tls, WarehouseError> {
    if host.starts_with('/') {
        return Ok(Tls::Off);
    }
    let parameter = |names: &[&str]| names.iter().find_map(|name| parameters.get(*name).cloned());
    let ssl = settings.value("ssl").and_then(Value::as_object);
    let mode = parameter(&["sslmode", "ssl-mode", "ssl_mode"])
        .or_else(|| settings.written(&["sslmode", "sslMode"]))
        .map(|mode| mode.to_ascii_lowercase().replace('_', "-"));
    let switch = parameter(&["ssl"]).or_else(|| settings.written(&["ssl"]));
    let check = settings.written(&["rejectUnauthorized"]).or_else(|| {
        ssl.and_then(|ssl| ssl.get("rejectUnauthorized"))
            .map(Value::to_string)
    });
    let own = authorities(settings, parameters)?;
    let is_easy = own.is_none() && ssl.is_none() && is_loopback(host);
    let checked = own.map_or(TlsTrust::System, TlsTrust::Authorities);
    // SQL Server's name for the same setting.
    let trusts = parameter(&["trustservercertificate"])
        .or_else(|| settings.written(&["trustServerCertificate"]))
        .is_some_and(|text| text.eq_ignore_ascii_case("true"));
    if trusts || check.as_deref() == Some("false") {
        return Ok(Tls::Required(TlsTrust::Anything));
    }
    match mode.as_deref() {
        Some("disable" | "disabled") => return Ok(Tls::Off),
        Some("no-verify") => return Ok(Tls::Required(TlsTrust::Anything)),
        Some("require" | "required" | "verify-ca" | "verify-full" | "verify-identity") => {
            return Ok(Tls::Required(checked));
        }
        Some("prefer" | "preferred" | "allow") | None => {}
        Some(other) => {
            return Err(settings
                .wrong(&format!("has the unknown `sslmode` `{other}`"))
                .hint("use `disable`, `prefer`, `require`, `verify-full` or `no-verify`"));
        }
    }
    Ok(match switch.as_deref() {
        Some("false" | "0") => Tls::Off,
        Some(_) => Tls::Required(checked),
        None if is_easy => Tls::WhereOffered,
        None => Tls::Required(checked),
    })
}

fn authorities(
    settings: &ConnectionSettings<'_>,
    parameters: &BTreeMap<String, String>,
) -> Result<Option<String>, WarehouseError> {
    let in_url = ["sslrootcert", "sslca", "ssl-ca"]
        .iter()
        .find_map(|name| parameters.get(*name));
    let in_ssl = || {
        settings
            .value("ssl")
            .and_then(|ssl| ssl.get("ca"))
            .and_then(Value::as_str)
    };
    let written = in_url
        .cloned()
        .or_else(|| settings.written(&["sslrootcert", "sslRootCert"]))
        .or_else(|| in_ssl().map(str::to_owned));
    // For libpq, `system` means the operating system's authorities.
    let Some(text) = written.filter(|text| text != "system") else {
        return Ok(None);
    };
    let reference = if text.contains("-----BEGIN") {
        SecretRef::Literal(Secret::new(text))
    } else if text.starts_with("env:") || text.starts_with("file:") {
        SecretRef::parse(&text)
    } else {
        SecretRef::File(PathBuf::from(text))
    };
    let resolved = match reference.resolve(settings.secrets()) {
        Err(SecretError::UnreadableFile { path, source }) => {
            let what = format!(
                "has the certificate file `{}` in `sslrootcert`, which cannot be read: {source}",
                path.display()
            );
            let hint = "check that the file exists and that you may read it";
            return Err(settings.wrong(&what).hint(hint));
        }
        _ => settings.resolve(&reference, "sslrootcert")?,
    };
    Ok(Some(resolved.expose().to_owned()))
}

#[cfg(test)]
mod tests;

//! The encrypted channel in the form that the driver requires.

use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Encrypts connections to hosts and lets sockets pass, which have no host name and are never
/// encrypted.
#[derive(Clone)]
pub(super) struct Encryption(MakeRustlsConnect);

impl Encryption {
    pub(super) fn new(config: rustls::ClientConfig) -> Self {
        Self(MakeRustlsConnect::new(config))
    }
}

impl<S> MakeTlsConnect<S> for Encryption
where
    MakeRustlsConnect: MakeTlsConnect<S>,
{
    type Stream = <MakeRustlsConnect as MakeTlsConnect<S>>::Stream;
    type TlsConnect = <MakeRustlsConnect as MakeTlsConnect<S>>::TlsConnect;
    type Error = <MakeRustlsConnect as MakeTlsConnect<S>>::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Self::TlsConnect, Self::Error> {
        // The driver asks for a channel before it knows whether there will be one.
        let host = if host.is_empty() { "localhost" } else { host };
        self.0.make_tls_connect(host)
    }
}

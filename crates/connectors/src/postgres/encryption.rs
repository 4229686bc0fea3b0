//! TLS for the driver.

use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Encrypts connections to hosts, never to sockets.
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
        let host = if host.is_empty() { "localhost" } else { host };
        self.0.make_tls_connect(host)
    }
}

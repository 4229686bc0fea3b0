//! Diagnoses a failed connection from the HTTP client's text.

use super::RetryRule;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionObstacle {
    Broken,
    NoNetwork,
    /// Or a proxy that opens no tunnel.
    ClosedPort,
    UnknownHost,
    NoProxy,
    ProxyRefused,
    PlainText,
    UntrustedCertificate,
}

impl ConnectionObstacle {
    /// Texts of reqwest 0.13, hyper-util 0.1, rustls 0.23.
    pub(super) fn of(words: &str) -> Self {
        let says = |text: &str| words.contains(text);
        if says("tunnel error: failed to create") {
            Self::NoProxy
        } else if says("tunnel error") {
            Self::ProxyRefused
        } else if says("invalid peer certificate") {
            Self::UntrustedCertificate
        } else if says("InvalidContentType") || says("corrupt message") {
            Self::PlainText
        } else if says("dns error") {
            Self::UnknownHost
        } else if says("onnection refused") || says("actively refused") {
            Self::ClosedPort
        } else {
            Self::NoNetwork
        }
    }

    pub(super) const fn message(self) -> &'static str {
        match self {
            Self::Broken => "the connection to the provider broke",
            Self::NoNetwork | Self::ClosedPort | Self::UnknownHost => {
                "the provider could not be reached"
            }
            Self::NoProxy => "the proxy could not be reached",
            Self::ProxyRefused => "the proxy does not connect to the provider",
            Self::PlainText => "the provider's port does not speak TLS",
            Self::UntrustedCertificate => "the provider's certificate is not trusted",
        }
    }

    /// Once if only the user can change it. What worked before can come back.
    pub(super) const fn again(self) -> RetryRule {
        match self {
            Self::Broken | Self::NoNetwork | Self::ProxyRefused => RetryRule::Worth,
            Self::ClosedPort | Self::UnknownHost | Self::NoProxy => RetryRule::IfEverAnswered,
            Self::PlainText | Self::UntrustedCertificate => RetryRule::Pointless,
        }
    }

    pub(super) const fn next_step(self) -> &'static str {
        match self {
            Self::NoProxy => {
                "check that the proxy runs, and the address in `HTTPS_PROXY` or `ALL_PROXY`"
            }
            Self::ProxyRefused => {
                "check the address, the user name and the password in `HTTPS_PROXY` or `ALL_PROXY`, and what the proxy allows"
            }
            Self::PlainText => {
                "check the port of `base_url` in `ktx.yaml`; a server on this machine may want `http://`"
            }
            Self::UntrustedCertificate => {
                "check `base_url` in `ktx.yaml`; if a proxy intercepts TLS, let `SSL_CERT_FILE` name its certificate"
            }
            Self::UnknownHost => {
                "check the network, and the host name of `base_url` in `ktx.yaml` if it is set"
            }
            Self::Broken | Self::NoNetwork | Self::ClosedPort => {
                "check the network, the proxy, and `base_url` in `ktx.yaml` if it is set; then run the command again"
            }
        }
    }
}

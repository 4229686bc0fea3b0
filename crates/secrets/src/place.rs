//! Which hosts secrets may be sent to unencrypted.

use std::net::IpAddr;

/// True if data sent to `host` stays on this machine.
pub fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.to_ascii_lowercase().ends_with(".localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

//! Which hosts are this server: what may be in the `Host` header of its clients, and where its own requests must not go.

use std::net::IpAddr;

/// The address that a server listens on, and its names.
#[derive(Debug)]
pub(crate) struct OwnNames {
    address: IpAddr,
    hosts: Vec<String>,
}

impl OwnNames {
    /// Returns the names of a server that listens on `address` and is also called `hosts`.
    pub(crate) fn new(address: IpAddr, hosts: Vec<String>) -> Self {
        Self { address: address.to_canonical(), hosts }
    }

    /// Returns whether clients may call the server by `host`. Of addresses, more are accepted than lead here: a page with an address as its
    /// name cannot be rebound to another address.
    pub(crate) fn accept(&self, host: &str) -> bool {
        let fits = |address: IpAddr| {
            self.address.is_unspecified()
                || address == self.address
                || (self.address.is_loopback() && address.is_loopback())
        };
        self.contain(host) || literal(host).is_some_and(fits)
    }

    /// Returns whether a connection to `host` leads to the server. An address of this machine may be missed; another server may listen
    /// on another loopback address.
    pub(crate) fn lead_here(&self, host: &str) -> bool {
        let fits = |address: IpAddr| {
            address == self.address
                // A connection to the unspecified address goes to this machine.
                || (address.is_unspecified() && self.is_local())
                || (self.address.is_unspecified() && address.is_loopback())
        };
        self.contain(host) || literal(host).is_some_and(fits)
    }

    /// Returns whether `host` is one of the names.
    fn contain(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
            || (self.is_local() && host.eq_ignore_ascii_case("localhost"))
    }

    fn is_local(&self) -> bool {
        self.address.is_loopback() || self.address.is_unspecified()
    }
}

/// Returns the address that a host is, if it is not a name.
fn literal(host: &str) -> Option<IpAddr> {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Some(address.parse::<IpAddr>().ok()?.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_a_name_or_an_address_of_the_server() {
        let hosts = ["registry.example.com".to_owned(), "10.9.9.9".to_owned()];
        for (address, host, is_accepted, leads_here) in [
            ("127.0.0.1", "127.0.0.1", true, true),
            ("127.0.0.1", "127.0.0.2", true, false),
            ("127.0.0.1", "[::1]", true, false),
            ("127.0.0.1", "0.0.0.0", false, true),
            ("127.0.0.1", "LOCALHOST", true, true),
            ("127.0.0.1", "localhost.", false, false),
            ("127.0.0.1", "10.0.0.1", false, false),
            ("127.0.0.1", "10.9.9.9", true, true),
            ("127.0.0.1", "Registry.example.com", true, true),
            ("127.0.0.1", "evil.example", false, false),
            ("127.0.0.1", "2130706433", false, false),
            ("::ffff:127.0.0.1", "localhost", true, true),
            ("0.0.0.0", "10.0.0.1", true, false),
            ("0.0.0.0", "127.0.0.2", true, true),
            ("0.0.0.0", "localhost", true, true),
            ("[::]", "[::ffff:127.0.0.1]", true, true),
            ("[::1]", "127.0.0.1", true, false),
            ("10.0.0.1", "10.0.0.1", true, true),
            ("10.0.0.1", "10.0.0.2", false, false),
            ("10.0.0.1", "localhost", false, false),
            ("10.0.0.1", "0.0.0.0", false, false),
        ] {
            let address = address.trim_matches(['[', ']']).parse().unwrap();
            let own = OwnNames::new(address, hosts.to_vec());
            assert_eq!(
                (own.accept(host), own.lead_here(host)),
                (is_accepted, leads_here),
                "{address} {host}"
            );
        }
    }
}

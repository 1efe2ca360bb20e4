//! Where requests may go: which registries are reached without TLS, and which addresses a registry may send the
//! client on to.

use std::net::{IpAddr, Ipv4Addr};

use reqwest::Url;

use super::error::Error;
use super::options::Options;
use crate::secrets::Address;

/// Maximum length of an address in a `Location` header or of a token server, in bytes.
const MAX_ADDRESS: usize = 16 << 10;

/// How far an address is from this machine, by its literal host. Names are never resolved for this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    /// 127.0.0.0/8, `::1` or `localhost`, which the client resolves itself.
    Loopback,
    /// Addresses that reach this machine or its network in other notations, and private networks.
    Private,
    /// Everything else, names included.
    Public,
}

/// Which addresses requests of one registry may go to.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    registry: Url,
    plain_loopback: bool,
    plain_hosts: Vec<String>,
}

impl Policy {
    /// Returns the policy for `registry` (host, or host and port), whose base address it determines.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] if `registry` is not a host.
    pub(crate) fn new(registry: &str, options: &Options) -> Result<Self, Error> {
        let url = |scheme: &str| {
            Url::parse(&format!("{scheme}://{registry}/v2/")).ok().filter(|url| {
                // A host and nothing else: no path, user or query that would change where requests go.
                url.path() == "/v2/" && url.username().is_empty() && url.query().is_none()
            })
        };
        let invalid = || Error::Name {
            name: Address::new(registry).to_string(),
            reason: "the registry is not a valid host".into(),
        };
        let secure = url("https").ok_or_else(invalid)?;
        let mut policy = Self {
            registry: secure,
            plain_loopback: options.plain_http,
            plain_hosts: options.plain_http_hosts.clone(),
        };
        let plain = url("http").ok_or_else(invalid)?;
        if policy.is_plain_allowed(&plain) {
            policy.registry = plain;
        }
        Ok(policy)
    }

    /// Returns the registry's base address, which ends in `/v2/`.
    pub(crate) fn registry(&self) -> &Url {
        &self.registry
    }

    /// True if the registry is a literal loopback address.
    pub(crate) fn is_loopback(&self) -> bool {
        reach(&self.registry) == Reach::Loopback
    }

    /// Returns the address that `location`, from a response of `from`, names.
    ///
    /// # Errors
    ///
    /// The reason why requests must not go there: it is not an HTTP address, leaves TLS, names a user, or points from
    /// another machine to this one.
    pub(crate) fn follow(&self, from: &Url, location: &str) -> Result<Url, String> {
        if location.len() > MAX_ADDRESS {
            return Err(format!("the address exceeds the limit of {MAX_ADDRESS} bytes"));
        }
        let mut target =
            from.join(location).map_err(|error| format!("it is not a valid address: {error}"))?;
        target.set_fragment(None);
        if !matches!(target.scheme(), "http" | "https") || target.host_str().is_none_or(str::is_empty) {
            return Err("it is not an HTTP address".into());
        }
        if !target.username().is_empty() || target.password().is_some() {
            return Err("it contains a user name".into());
        }
        if target.scheme() == "http" && from.scheme() == "https" {
            return Err("it would downgrade from HTTPS to HTTP".into());
        }
        if target.scheme() == "http" && !self.is_plain_allowed(&target) {
            return Err("plain HTTP is not allowed for this host".into());
        }
        let is_local = |url: &Url| reach(url) == Reach::Loopback || is_this_machine(url);
        if is_local(&target) && !is_local(&self.registry) {
            return Err("it points to this machine, and the registry is on another one".into());
        }
        Ok(target)
    }

    /// True if the registry's credentials may be sent to `target`, the address of its token server.
    ///
    /// Token servers are often on another host. A literal address in a private network is accepted only from a
    /// registry that has one itself.
    pub(crate) fn may_receive_credentials(&self, target: &Url) -> bool {
        target.origin() == self.registry.origin() || reach(target) >= reach(&self.registry)
    }

    /// True if plain HTTP is allowed for the host of `url`.
    fn is_plain_allowed(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let port = url.port_or_known_default();
        let is_named = |named: &String| {
            named.eq_ignore_ascii_case(host)
                || Url::parse(&format!("http://{named}/")).is_ok_and(|named_url| {
                    named_url.host_str() == Some(host)
                        && named.contains(':')
                        && named_url.port_or_known_default() == port
                })
        };
        self.plain_hosts.iter().any(is_named) || (self.plain_loopback && reach(url) == Reach::Loopback)
    }
}

fn address(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

fn reach(url: &Url) -> Reach {
    match address(url) {
        Some(address) if address.is_loopback() => Reach::Loopback,
        Some(address) if is_private(address.to_canonical()) => Reach::Private,
        None if url.host_str() == Some("localhost") => Reach::Loopback,
        _ => Reach::Public,
    }
}

/// True for other notations of loopback addresses: mapped into IPv6, `0.0.0.0`, names that resolvers may map.
fn is_this_machine(url: &Url) -> bool {
    match address(url).map(|address| address.to_canonical()) {
        Some(address) => address.is_loopback() || address.is_unspecified(),
        None => url.host_str().is_some_and(|host| {
            let host = host.trim_end_matches('.');
            host == "localhost" || host.ends_with(".localhost")
        }),
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            // Shared address space (RFC 6598) too: networks of providers and clouds.
            v4.is_private()
                || v4.is_link_local()
                || v4.is_loopback()
                || v4 == Ipv4Addr::UNSPECIFIED
                || (a == 100 && (64..128).contains(&b))
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local() || v6.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(registry: &str, plain_http: bool, hosts: &[&str]) -> Result<Policy, Error> {
        let plain_http_hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        let options = Options { plain_http, plain_http_hosts, ..Options::default() };
        Policy::new(registry, &options)
    }

    #[test]
    fn plain_http_covers_literal_loopback_addresses_only() {
        for registry in
            ["localhost", "localhost:5000", "LOCALHOST:5000", "127.0.0.1:5000", "127.8.8.8", "[::1]:5000"]
        {
            let policy = policy(registry, true, &[]).unwrap();
            assert_eq!(policy.registry().scheme(), "http", "{registry}");
        }
        for registry in [
            "evil.localhost",
            "localhost.",
            "localhost.example.com",
            "127.0.0.1.example.com:80",
            "[::ffff:127.0.0.1]",
            "0.0.0.0:5000",
            "10.0.0.1:5000",
        ] {
            for plain_http in [true, false] {
                let policy = policy(registry, plain_http, &[]).unwrap();
                assert_eq!(policy.registry().scheme(), "https", "{registry}");
            }
        }
        assert_eq!(policy("localhost:5000", false, &[]).unwrap().registry().scheme(), "https");
    }

    #[test]
    fn plain_http_elsewhere_must_be_named() {
        for (named, registry, expected) in [
            ("registry.lan:5000", "registry.lan:5000", "http"),
            ("registry.lan", "registry.lan:5000", "http"),
            ("registry.lan:80", "registry.lan", "http"),
            ("registry.lan:5000", "registry.lan:5001", "https"),
            ("registry.lan", "evil.registry.lan", "https"),
            ("http://registry.lan", "registry.lan", "https"),
            ("*", "registry.lan", "https"),
            ("", "registry.lan", "https"),
        ] {
            let policy = policy(registry, false, &[named]).unwrap();
            assert_eq!(policy.registry().scheme(), expected, "{named} {registry}");
        }
    }

    #[test]
    fn registry_is_a_host_and_nothing_else() {
        for registry in
            ["", "a b", "user@host", "host/path", "host?query", "host#fragment", "host:99999", "["]
        {
            assert!(matches!(policy(registry, false, &[]), Err(Error::Name { .. })), "{registry}");
        }
    }

    #[test]
    fn downgrades_and_detours_are_refused() {
        let remote = policy("registry.example.com", false, &["plain.example.com"]).unwrap();
        let from = remote.registry().clone();
        for allowed in
            ["/v2/x", "x?y=z", "//cdn.example.com/x", "https://cdn.example.com:8443/x", "https://10.0.0.1/x"]
        {
            assert!(remote.follow(&from, allowed).is_ok(), "{allowed}");
        }
        for refused in [
            "http://registry.example.com/v2/",
            "http://plain.example.com/",
            "file:///etc/passwd",
            "data:,x",
            "mailto:x",
            "https://",
            "https://[::",
            "https://user:password@cdn.example.com/",
            "https://registry.example.com@evil.example.com/",
            "https://127.0.0.1/",
            "https://127.1:5000/",
            "https://0x7f.1/",
            "https://localhost/",
            "https://evil.localhost/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://0.0.0.0/",
            &format!("/{}", "a".repeat(MAX_ADDRESS)),
        ] {
            assert!(remote.follow(&from, refused).is_err(), "{refused}");
        }
        let local = policy("127.0.0.1:5000", true, &[]).unwrap();
        let from = local.registry().clone();
        for (location, expected) in [
            ("http://127.0.0.1:5001/", true),
            ("http://localhost:5001/", true),
            ("https://cdn.example.com/", true),
            ("http://cdn.example.com/", false),
            ("http://evil.localhost/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(local.follow(&from, location).is_ok(), expected, "{location}");
        }
    }

    #[test]
    fn credentials_do_not_go_to_a_network_that_the_registry_is_not_in() {
        let url = |text: &str| Url::parse(text).unwrap();
        let public = policy("registry.example.com", false, &[]).unwrap();
        assert!(public.may_receive_credentials(&url("https://auth.example.com/token")));
        assert!(public.may_receive_credentials(&url("https://registry.example.com/token")));
        for private in
            ["https://10.0.0.1/", "https://192.168.1.1/", "https://169.254.169.254/", "https://[fd00::1]/"]
        {
            assert!(!public.may_receive_credentials(&url(private)), "{private}");
        }
        let private = policy("10.0.0.1:5000", false, &[]).unwrap();
        assert!(private.may_receive_credentials(&url("https://10.0.0.2/token")));
        assert!(!private.may_receive_credentials(&url("https://127.0.0.1/token")));
        let local = policy("127.0.0.1:5000", false, &[]).unwrap();
        assert!(local.may_receive_credentials(&url("https://127.0.0.1:5001/token")));
    }
}

//! Who may use the registry: checks of a request before anything else is done with it.
//!
//! A web page can make a browser send requests to loopback. Its origin is then in the `Origin` header or in
//! `Sec-Fetch-Site`; or, if the page's name was made to resolve to this machine (DNS rebinding), its name is in the
//! `Host` header. None of these is accepted.

use std::str::FromStr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Method, StatusCode, Uri};

use super::own::OwnNames;
use super::response::{Code, Failure};

/// The rules of access.
#[derive(Debug)]
pub(crate) struct Access {
    /// The names of the server.
    pub(crate) own: OwnNames,
    /// Whether clients may write.
    pub(crate) writing: Writing,
}

/// Whether clients may write.
#[derive(Debug)]
pub(crate) enum Writing {
    Allowed,
    ReadOnly,
    /// The content is that of another registry.
    Elsewhere(String),
}

impl Writing {
    /// Accepts or rejects a request.
    fn check(&self, method: &Method) -> Result<(), Failure> {
        let message = match self {
            _ if matches!(*method, Method::GET | Method::HEAD) => return Ok(()),
            Self::Allowed => return Ok(()),
            Self::ReadOnly => "the registry is read-only".to_owned(),
            Self::Elsewhere(upstream) => {
                format!("the registry is a cache of {upstream}: push there instead")
            }
        };
        Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, Code::Unsupported, message))
    }
}

impl Access {
    /// Accepts or rejects a request.
    pub(crate) fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
        let host = self.check_host(uri, headers)?;
        check_origin(host, headers)?;
        self.writing.check(method)
    }

    /// Returns the `Host` header if it names this server.
    fn check_host<'a>(&self, uri: &Uri, headers: &'a HeaderMap) -> Result<&'a str, Failure> {
        let mut values = headers.get_all(HOST).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(Failure::bad(Code::Denied, "the request must have one Host header"));
        };
        let host = value.to_str().ok().filter(|host| self.is_own(host));
        let uri_is_own = uri.authority().is_none_or(|authority| self.is_own(authority.as_str()));
        host.filter(|_| uri_is_own).ok_or_else(|| {
            let message = "the Host header does not name this registry; its other names must be configured";
            Failure::denied(message)
        })
    }

    /// Whether `authority`, a host with or without a port, is a name of this server.
    fn is_own(&self, authority: &str) -> bool {
        let parsed = Authority::from_str(authority).ok().filter(|_| !authority.contains('@'));
        parsed.is_some_and(|parsed| self.own.accept(parsed.host()))
    }
}

/// Rejects requests that a browser sends for a page of another origin.
fn check_origin(host: &str, headers: &HeaderMap) -> Result<(), Failure> {
    let is_same = |origin: &str| {
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        name.is_some_and(|name| name.eq_ignore_ascii_case(host))
    };
    let same_origin = headers.get_all(ORIGIN).iter().all(|origin| origin.to_str().is_ok_and(is_same));
    let same_site = headers
        .get_all("sec-fetch-site")
        .iter()
        .all(|site| matches!(site.as_bytes(), b"same-origin" | b"none"));
    if same_origin && same_site {
        return Ok(());
    }
    Err(Failure::denied("requests from web pages of other origins are not accepted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str) -> Access {
        let hosts = vec!["registry.example.com".to_owned()];
        Access { own: OwnNames::new(address.parse().unwrap(), hosts), writing: Writing::Allowed }
    }

    #[test]
    fn foreign_host_names_are_rejected() {
        let loopback = access("127.0.0.1");
        for host in [
            "127.0.0.1:5000",
            "127.0.0.1",
            "localhost:5000",
            "LOCALHOST",
            "[::1]:5000",
            "127.9.9.9",
            "registry.example.com:1",
        ] {
            assert!(loopback.is_own(host), "{host} was rejected");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.localhost",
            "10.0.0.1",
            "0.0.0.0",
            "evil@127.0.0.1",
            "127.0.0.1@evil.example",
            "localhost.",
            "2130706433",
            "[::ffff:10.0.0.1]",
            "127.0.0.1/",
            " localhost",
        ] {
            assert!(!loopback.is_own(host), "{host} was accepted");
        }
        let everywhere = access("0.0.0.0");
        assert!(everywhere.is_own("10.0.0.1:5000") && everywhere.is_own("localhost"));
        assert!(!everywhere.is_own("evil.example"));
        let one = access("10.0.0.1");
        assert!(one.is_own("10.0.0.1:5000"));
        assert!(!one.is_own("localhost") && !one.is_own("10.0.0.2"));
    }
}

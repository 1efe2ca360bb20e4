//! How registries are reached.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::{Backoff, Error};

/// How registries are reached; the defaults are HTTPS with the system's certificates.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// PEM files with certificates of authorities to trust beside the system's.
    pub ca_files: Vec<PathBuf>,
    /// Whether registries on this machine are spoken to without TLS.
    pub plain_http: bool,
    /// Registries (host, or host and port) elsewhere that are spoken to without TLS all the same.
    pub plain_http_hosts: Vec<String>,
    /// How often and how patiently to try again.
    pub backoff: Backoff,
}

impl Options {
    /// The client library's configuration for one registry.
    pub(super) fn config(&self, registry: &str) -> Result<ClientConfig, Error> {
        let plain = self.is_plain(registry)?;
        let loopback = is_loopback(registry);
        Ok(ClientConfig {
            protocol: if plain { ClientProtocol::Http } else { ClientProtocol::Https },
            // One request for a layer, streamed from the disk.
            use_monolithic_push: true,
            extra_root_certificates: self.certificates()?,
            connect_timeout: Some(Duration::from_secs(10)),
            read_timeout: Some(Duration::from_mins(1)),
            user_agent: concat!("bundle-tool/", env!("CARGO_PKG_VERSION")),
            // A proxy cannot reach this machine's loopback. Naming one that is never used is the library's only way
            // to leave those of the environment aside.
            http_proxy: loopback.then(|| "http://127.0.0.1:9".to_owned()),
            https_proxy: loopback.then(|| "http://127.0.0.1:9".to_owned()),
            no_proxy: loopback.then(|| "*,127.0.0.0/8,::1".to_owned()),
            ..ClientConfig::default()
        })
    }

    fn is_plain(&self, registry: &str) -> Result<bool, Error> {
        let host = host(registry);
        if self.plain_http_hosts.iter().any(|named| named == registry || named == host) {
            return Ok(true);
        }
        if self.plain_http && !is_loopback(registry) {
            return Err(Error::PlainHttp { registry: registry.to_owned() });
        }
        Ok(self.plain_http)
    }

    fn certificates(&self) -> Result<Vec<Certificate>, Error> {
        let mut certificates = Vec::new();
        for path in &self.ca_files {
            let pem = std::fs::read(path).map_err(|error| Error::certificates(path, &error))?;
            let before = certificates.len();
            for der in CertificateDer::pem_slice_iter(&pem) {
                let der = der.map_err(|error| Error::certificates(path, &error))?;
                certificates.push(Certificate { encoding: CertificateEncoding::Der, data: der.to_vec() });
            }
            if certificates.len() == before {
                return Err(Error::certificates(path, "there is no PEM certificate in it"));
            }
        }
        Ok(certificates)
    }
}

/// True for `localhost` and addresses of the loopback interface, with or without a port.
pub(super) fn is_loopback(registry: &str) -> bool {
    let host = host(registry);
    host == "localhost"
        || host.ends_with(".localhost")
        || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn host(registry: &str) -> &str {
    match registry.rsplit_once(':') {
        Some((host, port)) if port.chars().all(|c| c.is_ascii_digit()) => host,
        _ => registry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_this_machine_only() {
        for registry in ["localhost", "localhost:5000", "127.0.0.1:5000", "127.8.8.8", "[::1]:5000"] {
            assert!(is_loopback(registry), "{registry}");
        }
        for registry in ["registry.e2e", "localhost.example.com", "10.0.0.1:5000", "127.0.0.1.example.com:80"]
        {
            assert!(!is_loopback(registry), "{registry}");
        }
    }

    #[test]
    fn plain_http_elsewhere_must_be_named() {
        let mut options = Options { plain_http: true, ..Options::default() };
        assert!(options.is_plain("localhost:5000").unwrap());
        assert!(matches!(options.is_plain("registry.lan:5000"), Err(Error::PlainHttp { .. })));
        options.plain_http_hosts = vec!["registry.lan:5000".into()];
        assert!(options.is_plain("registry.lan:5000").unwrap());
        assert!(!Options::default().is_plain("localhost:5000").unwrap());
    }

    #[test]
    fn certificates_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        let options = Options { ca_files: vec![path.clone()], ..Options::default() };
        for text in [
            None,
            Some("no certificate"),
            Some("-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----\n"),
        ] {
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            let error = options.config("registry.example.com").map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("ca.pem"), "{error}");
        }
    }
}

//! Certificates: of authorities to trust, and of this client.

use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::error::Error;
use super::file;
use super::options::{ClientCertificate, Options};
use crate::plain::io_error;

/// Maximum size of a file with certificates, in bytes.
const MAX_CERTIFICATES: u64 = 4 << 20;
/// Maximum number of files in a directory of certificates.
const MAX_FILES: usize = 100;

/// Returns the directories in which container tools look for certificates (containers-certs.d(5) and Docker's), in their
/// order.
#[must_use]
pub fn certificate_directories(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Vec<PathBuf> {
    let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = path("HOME").map(|home| home.join(".config"));
    let user = path("XDG_CONFIG_HOME").or(home).map(|config| config.join("containers/certs.d"));
    user.into_iter().chain(["/etc/containers/certs.d".into(), "/etc/docker/certs.d".into()]).collect()
}

/// What TLS with one registry needs beside the system's authorities.
#[derive(Debug, Default)]
pub(crate) struct Tls {
    /// Certificates of authorities, DER-encoded.
    pub(crate) authorities: Vec<CertificateDer<'static>>,
    /// The client's certificate and its key, PEM-encoded.
    pub(crate) identity: Option<Vec<u8>>,
}

impl Tls {
    /// Reads the files for `registry`, as the user names it: those of the options, then those of the first directory that
    /// is there for it.
    ///
    /// # Errors
    ///
    /// [`Error::Certificates`] if a file cannot be used.
    pub(crate) fn read(registry: &str, options: &Options) -> Result<Self, Error> {
        let mut tls = Self::default();
        for path in &options.ca_files {
            tls.authorities.append(&mut read_certificates(path)?);
        }
        if let Some(ClientCertificate { certificate, key }) = &options.client_certificate {
            tls.identity = Some(read_identity(certificate, key)?);
        }
        // The name of a registry is the name of a directory.
        let is_name = !registry.starts_with('.') && !registry.contains('/');
        let mut directories =
            options.certificate_directories.iter().map(|directory| directory.join(registry));
        if let Some(directory) = directories.find(|directory| is_name && directory.is_dir()) {
            tls.add_directory(&directory)?;
        }
        Ok(tls)
    }

    /// Adds `*.crt` as authorities, and `NAME.cert` with `NAME.key` as the client's certificate if there is none.
    fn add_directory(&mut self, directory: &Path) -> Result<(), Error> {
        let fail = |reason: String| Error::Certificates { path: directory.to_owned(), reason };
        let entries = directory.read_dir().map_err(|error| fail(io_error(&error)))?;
        let mut paths = Vec::new();
        for entry in entries.take(MAX_FILES) {
            paths.push(entry.map_err(|error| fail(io_error(&error)))?.path());
        }
        paths.sort();
        for path in paths {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("crt") => self.authorities.append(&mut read_certificates(&path)?),
                Some("cert") if self.identity.is_none() => {
                    self.identity = Some(read_identity(&path, &path.with_extension("key"))?);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    file::read(path, MAX_CERTIFICATES)
        .map_err(|error| Error::Certificates { path: path.to_owned(), reason: io_error(&error) })
}

fn read_identity(certificate: &Path, key: &Path) -> Result<Vec<u8>, Error> {
    let mut pem = read(certificate)?;
    if key != certificate {
        pem.push(b'\n');
        pem.append(&mut read(key)?);
    }
    // The parser's own words might quote a key.
    reqwest::Identity::from_pem(&pem).map_err(|_| Error::Certificates {
        path: certificate.to_owned(),
        reason: format!("expected a PEM certificate and its private key in {}", key.display()),
    })?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let private = PrivateKeyDer::from_pem_slice(&pem);
    let is_pair = chain.ok().zip(private.ok()).is_some_and(|(chain, private)| {
        CertifiedKey::from_der(chain, private, &rustls::crypto::ring::default_provider()).is_ok()
    });
    if !is_pair {
        return Err(Error::Certificates {
            path: certificate.to_owned(),
            reason: format!("the private key in {} does not belong to the certificate", key.display()),
        });
    }
    Ok(pem)
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let fail = |reason: String| Error::Certificates { path: path.to_owned(), reason };
    let pem = read(path)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| fail(format!("invalid PEM: {error}")))?;
    if certificates.is_empty() {
        return Err(fail("the file contains no PEM certificate".into()));
    }
    Ok(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_certificate_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        let mut options = Options { ca_files: vec![path.clone()], ..Options::default() };
        for text in [
            None,
            Some("no certificate"),
            Some("-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----\n"),
        ] {
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            let error = Tls::read("x.example.com", &options).unwrap_err().to_string();
            assert!(error.contains("ca.pem"), "{error}");
        }
        options.ca_files = vec!["/dev/zero".into()];
        let error = Tls::read("x.example.com", &options).unwrap_err().to_string();
        assert!(error.contains("/dev/zero: the file exceeds the limit"), "{error}");
    }

    #[test]
    fn directory_of_a_registry_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(["x".to_owned()]).unwrap().self_signed(&key).unwrap();
        let own = dir.path().join("second/x.example.com:5000");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("ca.crt"), certificate.pem()).unwrap();
        std::fs::write(own.join("client.cert"), certificate.pem()).unwrap();
        let options = Options {
            certificate_directories: vec![dir.path().join("first"), dir.path().join("second")],
            ..Options::default()
        };
        let error = Tls::read("x.example.com:5000", &options).unwrap_err().to_string();
        assert!(error.contains("client.key"), "{error}");
        let other = rcgen::KeyPair::generate().unwrap();
        std::fs::write(own.join("client.key"), other.serialize_pem()).unwrap();
        let error = Tls::read("x.example.com:5000", &options).unwrap_err().to_string();
        assert!(error.contains("client.key does not belong to the certificate"), "{error}");
        std::fs::write(own.join("client.key"), key.serialize_pem()).unwrap();
        let tls = Tls::read("x.example.com:5000", &options).unwrap();
        assert_eq!((tls.authorities.len(), tls.identity.is_some()), (1, true));
        let tls = Tls::read("x.example.com", &options).unwrap();
        assert_eq!((tls.authorities.len(), tls.identity.is_some()), (0, false));
    }
}

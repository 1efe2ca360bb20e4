//! Errors of the system, of JSON, of TLS and of HTTP in plain words: without the names of types, numbers of errors, and the layers
//! that wrap them.

use std::io;

#[cfg(feature = "sign")]
use crate::message::{escape, shorten};

/// Returns what an I/O error says, without its number.
pub(crate) fn io_error(error: &io::Error) -> String {
    let text = error.to_string();
    let number = error.raw_os_error().map(|number| format!(" (os error {number})"));
    // Messages of Windows are sentences.
    let system = number
        .and_then(|number| text.strip_suffix(&number))
        .map(|text| text.trim_end_matches('.').to_owned());
    let text = system.unwrap_or(text);
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        // `Connection refused`, but `I/O error`.
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(chars).collect(),
        _ => text,
    }
}

/// Returns what an error of JSON says, on one line: with the types of JSON instead of those of serde and Rust, and without values of
/// other types.
#[cfg(feature = "sign")]
pub(crate) fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (text, place) = text
        .rfind(" at line ")
        .filter(|_| error.line() > 0)
        .map_or((text.as_str(), ""), |at| text.split_at(at));
    let types = text.strip_prefix("invalid type: ").and_then(|types| types.rsplit_once(", expected "));
    let text = match types {
        Some((found, expected)) => format!("expected {}, found {}", json_type(expected), json_type(found)),
        None => text.replacen("missing field", "missing required field", 1),
    };
    shorten(&escape(&text)) + place
}

/// Returns the type of JSON that serde describes.
#[cfg(feature = "sign")]
fn json_type(text: &str) -> &str {
    const TYPES: [(&str, &str); 9] = [
        ("a sequence", "a list"),
        ("sequence", "a list"),
        ("map", "a map"),
        ("struct ", "a map"),
        ("internally tagged enum ", "a map"),
        ("string", "a string"),
        ("integer", "a number"),
        ("floating point", "a number"),
        ("boolean", "a boolean"),
    ];
    TYPES.iter().find(|(serde, _)| text.starts_with(serde)).map_or(text, |(_, json)| json)
}

#[cfg(feature = "registry")]
pub(crate) use transport::{Cause, CauseKind};

/// Returns why a connection could not be made, or broke: the innermost cause of an error of a client of HTTP.
#[must_use]
pub fn transport_cause(error: &(dyn std::error::Error + 'static)) -> String {
    transport::Cause::find(error).to_string()
}

#[cfg_attr(not(feature = "registry"), expect(dead_code, reason = "registries tell causes apart"))]
mod transport {
    use std::error::Error;
    use std::fmt;
    use std::io;

    use rustls::CertificateError;

    /// Why a connection could not be made, or broke.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Cause {
        pub(crate) kind: CauseKind,
        text: String,
    }

    /// What a user can do something about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum CauseKind {
        /// TLS cannot be used at all.
        TlsUnavailable,
        /// The certificate's authority is not trusted.
        UnknownAuthority,
        /// The certificate is not valid for other reasons.
        Certificate,
        /// The server answers TLS in plain HTTP.
        PlainHttp,
        /// The server answers plain HTTP in TLS.
        Tls,
        /// Anything else.
        Other,
    }

    impl fmt::Display for Cause {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(&self.text)
        }
    }

    impl<T: Into<String>> From<T> for Cause {
        fn from(text: T) -> Self {
            Self::new(CauseKind::Other, text)
        }
    }

    impl Cause {
        pub(crate) fn new(kind: CauseKind, text: impl Into<String>) -> Self {
            Self { kind, text: text.into() }
        }

        /// Returns the same cause with other words.
        pub(crate) fn map(self, change: impl FnOnce(&str) -> String) -> Self {
            Self { kind: self.kind, text: change(&self.text) }
        }

        /// Returns the innermost cause of an error: the outer ones only say that sending failed.
        pub(crate) fn find(error: &(dyn Error + 'static)) -> Self {
            let mut cause = error;
            loop {
                if let Some(error) = cause.downcast_ref::<rustls::Error>() {
                    return Self::tls(error);
                }
                let io = cause.downcast_ref::<io::Error>();
                // The source of an I/O error that wraps another one is the source of the other one.
                let inner = io.and_then(|error| error.get_ref()).map(|inner| inner as &(dyn Error + 'static));
                match (inner.or_else(|| cause.source()), io) {
                    (Some(next), _) => cause = next,
                    (None, Some(error)) => return super::io_error(error).into(),
                    (None, None) => break,
                }
            }
            let text = cause.to_string().replace("connection was not ready", "it was closed");
            // hyper has no other sign of it.
            let kind = if text.contains("invalid HTTP version") { CauseKind::Tls } else { CauseKind::Other };
            Self::new(kind, text)
        }

        /// Describes an error of TLS.
        fn tls(error: &rustls::Error) -> Self {
            let other = |text: &str| Self::from(text);
            match error {
                rustls::Error::InvalidCertificate(error) => Self::certificate(error),
                rustls::Error::InvalidMessage(_) => {
                    Self::new(CauseKind::PlainHttp, "the server did not answer with TLS")
                }
                rustls::Error::AlertReceived(alert) => {
                    format!("the server ended the TLS handshake: {}", words(alert)).into()
                }
                rustls::Error::PeerIncompatible(_) => {
                    other("the server has no version or cipher of TLS in common")
                }
                rustls::Error::NoCertificatesPresented => other("the server presented no certificate"),
                rustls::Error::General(text) => other(text),
                error => format!("the TLS handshake failed: {}", words(error)).into(),
            }
        }

        /// Describes why a certificate is not accepted.
        fn certificate(error: &CertificateError) -> Self {
            let (kind, text) = match error {
                CertificateError::UnknownIssuer => (
                    CauseKind::UnknownAuthority,
                    "the certificate is signed by an unknown authority".to_owned(),
                ),
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    (CauseKind::Certificate, "the certificate has expired".to_owned())
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    (CauseKind::Certificate, "the certificate is not valid yet".to_owned())
                }
                CertificateError::NotValidForName => {
                    (CauseKind::Certificate, "the certificate is for another name".to_owned())
                }
                CertificateError::NotValidForNameContext { expected, .. } => (
                    CauseKind::Certificate,
                    format!("the certificate is not valid for {}", expected.to_str()),
                ),
                CertificateError::Other(error) if error.to_string() == "CaUsedAsEndEntity" => {
                    let text = "the certificate is that of an authority, which cannot be a server's";
                    (CauseKind::Certificate, text.to_owned())
                }
                CertificateError::Other(error) => {
                    (CauseKind::Certificate, format!("the certificate is invalid: {}", words(&error.0)))
                }
                error => (CauseKind::Certificate, format!("the certificate is invalid: {}", words(error))),
            };
            Self::new(kind, text)
        }
    }

    /// Returns the name of a variant as words: `handshake failure` for `HandshakeFailure`, without what it contains.
    fn words(variant: &dyn fmt::Debug) -> String {
        let debug = format!("{variant:?}");
        let name = debug.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let mut words = String::new();
        for c in name.chars() {
            if c.is_ascii_uppercase() && words.ends_with(|last: char| last.is_ascii_lowercase()) {
                words.push(' ');
            }
            words.push(c.to_ascii_lowercase());
        }
        words
    }

    #[cfg(test)]
    mod tests {
        use rustls::pki_types::ServerName;
        use rustls::{AlertDescription, InvalidMessage, OtherError, PeerIncompatible, PeerMisbehaved};

        use super::*;

        /// An error as webpki has it.
        #[derive(Debug)]
        struct CaUsedAsEndEntity;

        impl fmt::Display for CaUsedAsEndEntity {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{self:?}")
            }
        }

        impl Error for CaUsedAsEndEntity {}

        /// An error that wraps another one, as those of HTTP clients do.
        #[derive(Debug)]
        struct Sending(io::Error);

        impl fmt::Display for Sending {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("client error (Connect)")
            }
        }

        impl Error for Sending {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&self.0)
            }
        }

        fn is_plain(text: &str) -> bool {
            let bytes = text.as_bytes();
            let camel =
                bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
            !text.is_empty() && !camel && !text.contains(['(', '{', '[', '"']) && !text.contains("os error")
        }

        #[test]
        fn error_of_every_layer_is_in_plain_words() {
            let name = ServerName::try_from("registry.example.com").unwrap();
            let other = || OtherError(std::sync::Arc::new(CaUsedAsEndEntity));
            let certificates = [
                CertificateError::UnknownIssuer,
                CertificateError::Expired,
                CertificateError::NotValidYet,
                CertificateError::NotValidForName,
                CertificateError::NotValidForNameContext { expected: name, presented: Vec::new() },
                CertificateError::Revoked,
                CertificateError::BadEncoding,
                CertificateError::BadSignature,
                CertificateError::InvalidPurpose,
                CertificateError::UnhandledCriticalExtension,
                CertificateError::UnknownRevocationStatus,
                CertificateError::Other(other()),
            ];
            let tls = [
                rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType),
                rustls::Error::AlertReceived(AlertDescription::HandshakeFailure),
                rustls::Error::AlertReceived(AlertDescription::CertificateRequired),
                rustls::Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                rustls::Error::PeerMisbehaved(PeerMisbehaved::BadCertChainExtensions),
                rustls::Error::NoCertificatesPresented,
                rustls::Error::DecryptError,
                rustls::Error::HandshakeNotComplete,
                rustls::Error::Other(other()),
            ];
            let system =
                [libc::ECONNREFUSED, libc::ECONNRESET, libc::ETIMEDOUT, libc::EHOSTUNREACH, libc::EACCES];
            let wrapped = certificates.into_iter().map(rustls::Error::InvalidCertificate).chain(tls);
            let wrapped = wrapped.map(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            let system = system.into_iter().map(io::Error::from_raw_os_error);
            for error in wrapped.chain(system) {
                let shown = Cause::find(&Sending(error)).to_string();
                assert!(is_plain(&shown), "{shown}");
            }
        }

        #[test]
        fn cause_is_recognized_by_its_type() {
            let find = |error: rustls::Error| Cause::find(&io::Error::other(error));
            let unknown = find(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
            assert_eq!(unknown.kind, CauseKind::UnknownAuthority);
            let expired = find(rustls::Error::InvalidCertificate(CertificateError::Expired));
            assert_eq!(expired.kind, CauseKind::Certificate);
            let plain = find(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType));
            assert_eq!(plain.kind, CauseKind::PlainHttp);
            let refused = Cause::find(&io::Error::from_raw_os_error(libc::ECONNREFUSED));
            assert_eq!(
                (refused.kind, refused.to_string().as_str()),
                (CauseKind::Other, "connection refused")
            );
        }
    }
}

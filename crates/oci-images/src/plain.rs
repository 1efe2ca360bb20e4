//! Errors of the system, of TLS and of HTTP in plain words: without the names of types, numbers of errors, and the layers
//! that wrap them.

use std::io;

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

    /// The cause of the kind [`CauseKind::Resolve`], to which [`Cause::about_host`] adds the name.
    const UNRESOLVED: &str = "failed to resolve the host name";

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
        /// The certificate is that of an authority.
        CaCertificate,
        /// The certificate is not valid for other reasons.
        Certificate,
        /// The server and this program do not agree about TLS.
        Handshake,
        /// The server answers TLS in plain HTTP.
        PlainHttp,
        /// The server answers plain HTTP in TLS.
        Tls,
        /// The host name has no address.
        Resolve,
        /// The proxy cannot be used.
        Proxy,
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

        /// Returns the same cause with the name of the host, if it is about the name.
        pub(crate) fn about_host(self, host: &str) -> Self {
            if self.kind != CauseKind::Resolve {
                return self;
            }
            self.map(|text| text.replacen(UNRESOLVED, &format!("{UNRESOLVED} `{host}`"), 1))
        }

        /// Returns the same cause as that of a proxy.
        pub(crate) fn of_proxy(self, change: impl FnOnce(&str) -> String) -> Self {
            Self { kind: CauseKind::Proxy, ..self.map(change) }
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
                    (None, Some(error)) => return Self::other(&super::io_error(error)),
                    (None, None) => break,
                }
            }
            Self::other(&cause.to_string())
        }

        /// Describes an error that only its text tells from others.
        fn other(text: &str) -> Self {
            const LOOKUP: &str = "failed to lookup address information: ";
            if let Some(reason) = text.strip_prefix(LOOKUP) {
                return Self::new(CauseKind::Resolve, unresolved(reason));
            }
            if let Some(reason) = text.strip_prefix("tunnel error: ") {
                return Self::new(CauseKind::Proxy, tunnel(reason));
            }
            match text {
                "invalid HTTP version parsed" => {
                    Self::new(CauseKind::Tls, "the server did not answer with HTTP")
                }
                text => Self::from(text.replace("connection was not ready", "it was closed")),
            }
        }

        /// Describes an error of TLS.
        fn tls(error: &rustls::Error) -> Self {
            let other = |text: &str| Self::new(CauseKind::Handshake, text);
            match error {
                rustls::Error::InvalidCertificate(error) => Self::certificate(error),
                rustls::Error::InvalidMessage(_) => {
                    Self::new(CauseKind::PlainHttp, "the server did not answer with TLS")
                }
                rustls::Error::AlertReceived(alert) => {
                    other(&format!("the server ended the TLS handshake: {}", words(alert)))
                }
                rustls::Error::PeerIncompatible(_) => {
                    other("the server has no version or cipher of TLS in common")
                }
                rustls::Error::NoCertificatesPresented => other("the server presented no certificate"),
                rustls::Error::General(text) => other(text),
                error => other(&format!("the TLS handshake failed: {}", words(error))),
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
                    let text = "the server certificate is a CA certificate";
                    (CauseKind::CaCertificate, text.to_owned())
                }
                CertificateError::Other(error) => {
                    (CauseKind::Certificate, format!("the certificate is invalid: {}", words(&error.0)))
                }
                error => (CauseKind::Certificate, format!("the certificate is invalid: {}", words(error))),
            };
            Self::new(kind, text)
        }
    }

    /// Describes why a host name has no address, from the reason of the resolver, which differs between systems.
    fn unresolved(reason: &str) -> String {
        const MISSING: [&str; 4] = [
            "Name does not resolve",
            "Name or service not known",
            "No address associated with hostname",
            "nodename nor servname provided, or not known",
        ];
        if MISSING.iter().any(|missing| reason.starts_with(missing)) {
            UNRESOLVED.to_owned()
        } else {
            format!("{UNRESOLVED} ({})", reason.to_lowercase())
        }
    }

    /// Describes why a proxy did not connect to a server.
    fn tunnel(reason: &str) -> String {
        match reason {
            "proxy authorization required" => "it requires a user name and a password",
            "unsuccessful" => "it refused the connection to the registry",
            "unexpected end of file" => "it closed the connection",
            _ => "it did not answer as a proxy",
        }
        .to_owned()
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
        fn causes_are_not_in_the_words_of_the_library() {
            let texts = [
                "failed to lookup address information: Name does not resolve",
                "failed to lookup address information: Try again",
                "tunnel error: unsuccessful",
                "tunnel error: proxy authorization required",
                "invalid HTTP version parsed",
                "connection was not ready",
            ];
            let causes = texts.map(|text| Cause::find(&io::Error::other(text)).about_host("quay.io"));
            let shown = causes.map(|cause| format!("{:?}: {cause}", cause.kind)).join("\n");
            assert_eq!(
                shown,
                "Resolve: failed to resolve the host name `quay.io`\n\
                 Resolve: failed to resolve the host name `quay.io` (try again)\n\
                 Proxy: it refused the connection to the registry\n\
                 Proxy: it requires a user name and a password\n\
                 Tls: the server did not answer with HTTP\n\
                 Other: it was closed"
            );
        }

        #[test]
        fn cause_is_recognized_by_its_type() {
            let find = |error: rustls::Error| Cause::find(&io::Error::other(error));
            let unknown = find(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
            assert_eq!(unknown.kind, CauseKind::UnknownAuthority);
            let expired = find(rustls::Error::InvalidCertificate(CertificateError::Expired));
            assert_eq!(expired.kind, CauseKind::Certificate);
            let other = || OtherError(std::sync::Arc::new(CaUsedAsEndEntity));
            let authority = find(rustls::Error::InvalidCertificate(CertificateError::Other(other())));
            assert_eq!(
                authority,
                Cause::new(CauseKind::CaCertificate, "the server certificate is a CA certificate")
            );
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

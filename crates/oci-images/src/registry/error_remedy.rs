//! What may help against an error, for programs that name their own options.

use std::fmt;

/// What may help against an [`Error`](super::Error), whose text ends with it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// To check the system's network configuration.
    CheckNetwork,
    /// To install the system's certificates.
    InstallAuthorities,
    /// To trust the registry's authority: [`Options::ca_files`](super::Options::ca_files).
    TrustAuthority,
    /// To check the registry's name and its certificate.
    CheckCertificate,
    /// To replace the server's certificate, which is that of an authority.
    ReplaceCaCertificate,
    /// To use TLS: [`Options::plain_http`](super::Options::plain_http).
    UseTls,
    /// To allow plain HTTP: [`Options::plain_http`](super::Options::plain_http), or, for a host that is not on loopback,
    /// [`Options::plain_http_hosts`](super::Options::plain_http_hosts).
    AllowPlainHttp {
        /// The registry, if it is not on loopback.
        host: Option<String>,
    },
    /// To correct the proxy in `HTTPS_PROXY`, or to allow plain HTTP.
    CheckProxyScheme,
    /// To check the proxy, or to exempt the registry in `NO_PROXY`.
    CheckProxy,
    /// To check the address and the registry.
    CheckAddress,
    /// To log in: no credentials were found.
    LogIn,
    /// To check the permissions of the account, or to log in again.
    CheckPermissions,
    /// To check the network and the registry, or to raise [`Options::idle_timeout`](super::Options::idle_timeout).
    RaiseIdleTimeout,
    /// To raise [`Options::timeout`](super::Options::timeout).
    RaiseTimeout {
        /// The name of the setting, as passed to [`Deadline::with_setting`](super::Deadline::with_setting).
        setting: Option<&'static str>,
    },
}

impl Remedy {
    /// Returns what may help if access is denied with or without credentials.
    pub(crate) fn of_denial(is_anonymous: bool) -> Self {
        if is_anonymous { Self::LogIn } else { Self::CheckPermissions }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::CheckNetwork => "check the system's network configuration",
            Self::InstallAuthorities => "install the system's CA certificates",
            Self::TrustAuthority => "the registry's certificate authority must be trusted",
            Self::CheckCertificate => "check the registry's name and its certificate",
            Self::ReplaceCaCertificate => "create a server certificate, with `basicConstraints=CA:FALSE`",
            Self::UseTls => "the registry seems to use TLS",
            Self::AllowPlainHttp { .. } => {
                "the registry seems to use plain HTTP, which must be allowed because images and passwords are sent unencrypted"
            }
            Self::CheckProxyScheme => {
                "the proxy or the registry seems to use plain HTTP; if it is the proxy, write http:// in HTTPS_PROXY"
            }
            Self::CheckProxy => "check the proxy, or list the registry in NO_PROXY",
            Self::CheckAddress => "check the address and whether the registry is running",
            Self::LogIn => "log in to the registry",
            Self::CheckPermissions => "check the account's permissions, or log in again",
            Self::RaiseIdleTimeout => "check the network and the registry, or set a longer idle timeout",
            Self::RaiseTimeout { setting } => {
                return write!(formatter, "set a longer {}", setting.unwrap_or("timeout"));
            }
        })
    }
}

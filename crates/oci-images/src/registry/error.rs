//! What can go wrong between this client and a registry.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::auth;
use super::deadline::Deadline;
use super::error_remedy::Remedy;
use crate::layout;

/// A registry could not be used as requested.
///
/// Text that a registry sent is shortened, on one line, with control characters escaped and secrets masked. Reasons
/// are text and not sources: an I/O error of a connection must never be mistaken for one of this process's own output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The name of an image is invalid.
    #[error("invalid image name `{name}`: {reason}; expected a name such as registry.example.com/name:tag")]
    Name {
        /// The name, as given.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A push was requested to a digest.
    #[error("cannot push to the digest in `{name}`: use a tag, such as registry.example.com/name:tag")]
    PushToDigest {
        /// The name, as given.
        name: String,
    },
    /// A file with certificates cannot be used.
    #[error("failed to read certificates from {}: {reason}", .path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// The environment names a proxy that cannot be used.
    #[error("invalid proxy in {variable}: expected http://HOST:PORT or https://HOST:PORT")]
    Proxy {
        /// The environment variable.
        variable: &'static str,
    },
    /// A file with mirrors cannot be used.
    #[error("failed to read mirrors from {}: {reason}", .path.display())]
    Mirrors {
        /// The file.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// The configuration does not allow a registry.
    #[error("access to {name} is blocked by {}", .path.display())]
    Blocked {
        /// Registry and repository.
        name: String,
        /// The file that blocks it.
        path: PathBuf,
    },
    /// An image could not be signed.
    #[cfg(feature = "sign")]
    #[error("failed to sign the image")]
    Sign,
    /// A registry did not accept a login.
    #[error("the registry {registry} rejected the login: {reason}; check the user name and the password")]
    Login {
        /// Host and port.
        registry: String,
        /// What the registry reported.
        reason: String,
    },
    /// Stored credentials cannot be read.
    #[error(transparent)]
    Auth(#[from] auth::Error),
    /// The image itself cannot be read or written.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// No connection to the registry could be established.
    #[error("{}; {remedy}", unreachable(.registry, .reason))]
    Unreachable {
        /// Host and port.
        registry: String,
        /// What the network reported.
        reason: String,
        /// What may help.
        remedy: Remedy,
    },
    /// A registry is unreachable, and none of its mirrors has the image.
    #[error("{}", mirrored(&.error.to_string(), .mirrors))]
    Mirrored {
        /// The registry's own error.
        error: Box<Error>,
        /// The mirrors, each with the reason.
        mirrors: Vec<String>,
    },
    /// The registry requires a login, or other permissions.
    #[error(
        "{}; {}", denied(.registry, *.action, .repository, .who, .reason), Remedy::of_denial(*.is_anonymous)
    )]
    Denied {
        /// Host and port.
        registry: String,
        /// The repository.
        repository: String,
        /// Whose credentials were used, without any secret.
        who: String,
        /// The access that was requested.
        action: Action,
        /// What the registry reported.
        reason: String,
        /// Whether no credentials were used.
        is_anonymous: bool,
    },
    /// The server that gives tokens for the registry failed.
    #[error(
        "failed to log in to the registry {registry}: the token server {server} returned an error: {reason}"
    )]
    Token {
        /// Host and port.
        registry: String,
        /// Host and port of the token server.
        server: String,
        /// What it returned.
        reason: String,
    },
    /// The registry does not have the image.
    #[error("image not found: `{name}`; check the name and the tag")]
    NotFound {
        /// The image.
        name: String,
    },
    /// The registry returned an error.
    #[error("the registry {registry} failed to {verb} {what}: {reason}")]
    Failed {
        /// Host and port.
        registry: String,
        /// What it was asked to do.
        verb: &'static str,
        /// With what.
        what: String,
        /// What it returned.
        reason: String,
    },
    /// The registry violated the protocol, or returned something else than what it was asked for.
    #[error("the registry {registry} returned an invalid response for {what}: {reason}")]
    Invalid {
        /// Host and port.
        registry: String,
        /// Which image or blob.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// A response is larger than its limit.
    #[error("the response to `{request}` exceeds the limit of {limit} bytes")]
    TooLarge {
        /// Method and address.
        request: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The registry sent the client to an address that it must not go to.
    #[error("rejected the address `{target}` from the registry {registry}: {reason}")]
    Target {
        /// Host and port.
        registry: String,
        /// The address, without its query.
        target: String,
        /// Why not.
        reason: String,
    },
    /// A request made no progress.
    #[error("{}; {}", stalled(.request, *.after), Remedy::RaiseIdleTimeout)]
    Stalled {
        /// Method and address.
        request: String,
        /// The idle timeout.
        after: Duration,
    },
    /// The deadline passed.
    #[error("{}; {}", expired(.request, *.deadline), raise_timeout(*.deadline))]
    Expired {
        /// Method and address.
        request: String,
        /// The deadline.
        deadline: Deadline,
    },
}

impl Error {
    /// Returns whether a registry, which can be reached otherwise, does not return what it was asked for.
    pub(crate) fn is_about_content(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::Failed { .. } | Self::Denied { .. })
    }

    /// Returns what may help, if that is known. The error's text contains its text.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Unreachable { remedy, .. } => Some(remedy.clone()),
            Self::Denied { is_anonymous, .. } => Some(Remedy::of_denial(*is_anonymous)),
            Self::Mirrored { error, .. } => error.remedy(),
            Self::Stalled { .. } => Some(Remedy::RaiseIdleTimeout),
            Self::Expired { deadline, .. } => Some(raise_timeout(*deadline)),
            _ => None,
        }
    }

    /// Returns the error's text with the remedy in the words of a program, which can name its options.
    #[must_use]
    pub fn with_remedy(&self, words: &dyn Fn(&Remedy) -> String) -> String {
        let (fact, remedy) = match self {
            Self::Unreachable { registry, reason, remedy } => (unreachable(registry, reason), remedy.clone()),
            Self::Mirrored { error, mirrors } => return mirrored(&error.with_remedy(words), mirrors),
            Self::Denied { registry, repository, who, action, reason, is_anonymous } => {
                (denied(registry, *action, repository, who, reason), Remedy::of_denial(*is_anonymous))
            }
            Self::Stalled { request, after } => (stalled(request, *after), Remedy::RaiseIdleTimeout),
            Self::Expired { request, deadline } => (expired(request, *deadline), raise_timeout(*deadline)),
            _ => return self.to_string(),
        };
        format!("{fact}; {}", words(&remedy))
    }
}

// What happened, without a remedy.

fn unreachable(registry: &str, reason: &str) -> String {
    format!("failed to connect to the registry {registry}: {reason}")
}

fn mirrored(error: &str, mirrors: &[String]) -> String {
    format!("{error}; its mirrors have no such image or failed: {}", mirrors.join(", "))
}

fn denied(registry: &str, action: Action, repository: &str, who: &str, reason: &str) -> String {
    format!("the registry {registry} denied {action} access to {repository} for {who}: {reason}")
}

fn stalled(request: &str, after: Duration) -> String {
    format!("`{request}` stalled: less than 32 KiB transferred within {}", Seconds(after))
}

fn expired(request: &str, deadline: Deadline) -> String {
    format!("`{request}` did not finish within the total timeout of {}", Seconds(deadline.total()))
}

fn raise_timeout(deadline: Deadline) -> Remedy {
    Remedy::RaiseTimeout { setting: deadline.setting() }
}

/// The access that a login is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Reading.
    Pull,
    /// Reading and writing.
    Push,
}

impl Action {
    /// Returns the actions of a token's scope.
    pub(crate) fn scope(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Pull => "pull",
            Self::Push => "push",
        })
    }
}

/// Shows a duration as seconds: `30 s`, `0.2 s`.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} s", self.0.as_secs_f64())
    }
}

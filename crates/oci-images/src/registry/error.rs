//! What can go wrong between this tool and a registry, in the user's terms.

use std::path::{Path, PathBuf};

use oci_client::errors::{OciDistributionError, OciErrorCode};

use super::auth;
use crate::layout;

/// A registry could not be used as asked.
///
/// The reasons are text and not sources: an I/O error of a connection must never be mistaken for one of this
/// process's own output, and addresses of uploads may carry secrets in their queries.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name of an image cannot be read.
    #[error("{name:?} is no image name: {reason} (write it as registry.example.com/name:tag)")]
    Name {
        /// What was given.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A push was asked to go to a digest.
    #[error("{name:?} names a digest: a push goes to a tag (registry.example.com/name:tag)")]
    PushToDigest {
        /// What was given.
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
    /// Plain HTTP was asked for with a registry elsewhere.
    #[error(
        "plain HTTP is for registries on this machine, and {registry} is not: to send images and passwords unprotected all the same, name it: --plain-http={registry}"
    )]
    PlainHttp {
        /// Host and port.
        registry: String,
    },
    /// Credentials are kept in a way that cannot be read.
    #[error(transparent)]
    Auth(#[from] auth::Error),
    /// The image itself cannot be read or written.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// No answer came.
    #[error("failed to reach the registry {registry}: {reason}{hint}")]
    Unreachable {
        /// Host and port.
        registry: String,
        /// What the network said.
        reason: String,
        /// What to try.
        hint: &'static str,
    },
    /// The registry wants to know who asks, or does not let them.
    #[error("the registry {registry} refused to let {who} {action} {repository}: {reason}")]
    Refused {
        /// Host and port.
        registry: String,
        /// The repository.
        repository: String,
        /// Whose credentials were used, without any secret.
        who: String,
        /// What was tried.
        action: &'static str,
        /// What the registry said, and what to do.
        reason: String,
    },
    /// There is no such image.
    #[error("there is no image {name} in its registry (check the name and the tag)")]
    NotFound {
        /// The image.
        name: String,
    },
    /// The registry answered with an error.
    #[error("the registry {registry} failed to {action} {what}: {reason}")]
    Answer {
        /// Host and port.
        registry: String,
        /// What was tried.
        action: &'static str,
        /// With what.
        what: String,
        /// The answer.
        reason: String,
    },
    /// The registry gave bytes or a digest that are not what they should be.
    #[error("the registry {registry} answered wrongly about {what}: {reason}")]
    Mismatch {
        /// Host and port.
        registry: String,
        /// Which image or blob.
        what: String,
        /// The difference.
        reason: String,
    },
}

impl Error {
    pub(crate) fn certificates(path: &Path, reason: &(impl ToString + ?Sized)) -> Self {
        Self::Certificates { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// What an answer means for whoever wants to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Trying again may help: the server is overloaded or broke off.
    Transient,
    /// There is nobody at that address.
    Unreachable,
    /// 401 or 403.
    Refused,
    /// 404.
    Missing,
    /// Bytes and digest differ.
    Mismatch,
    /// Anything else: trying again gives the same.
    Final,
}

/// Sorts what the client library says.
pub(super) fn kind(error: &OciDistributionError) -> Kind {
    use OciDistributionError as E;
    match error {
        E::AuthenticationFailure(_) | E::UnauthorizedError { .. } => Kind::Refused,
        E::DigestError(_) => Kind::Mismatch,
        E::ImageManifestNotFoundError(_) => Kind::Missing,
        E::ServerError { code, .. } => by_status(*code),
        E::RegistryError { envelope, .. } => {
            envelope.errors.first().map_or(Kind::Final, |error| match error.code {
                OciErrorCode::Toomanyrequests => Kind::Transient,
                OciErrorCode::Unauthorized | OciErrorCode::Denied => Kind::Refused,
                OciErrorCode::ManifestUnknown
                | OciErrorCode::BlobUnknown
                | OciErrorCode::NameUnknown
                | OciErrorCode::NotFound => Kind::Missing,
                _ => Kind::Final,
            })
        }
        E::RequestError(error) => match error.status() {
            Some(status) => by_status(status.as_u16()),
            None if error.is_connect() => Kind::Unreachable,
            None if error.is_builder() || error.is_redirect() => Kind::Final,
            None => Kind::Transient,
        },
        // A stream that breaks off comes as an I/O error; one that ends with the wrong digest too.
        E::IoError(error) => by_stream(error),
        _ => Kind::Final,
    }
}

/// Sorts an error in the middle of a blob.
pub(super) fn by_stream(error: &std::io::Error) -> Kind {
    let wrong = error
        .get_ref()
        .is_some_and(|inner| inner.downcast_ref::<oci_client::errors::DigestError>().is_some());
    if wrong { Kind::Mismatch } else { Kind::Transient }
}

fn by_status(code: u16) -> Kind {
    match code {
        401 | 403 => Kind::Refused,
        404 => Kind::Missing,
        // A full disk (507) stays full for longer than anybody waits here.
        408 | 429 | 500..=506 | 508..=599 => Kind::Transient,
        _ => Kind::Final,
    }
}

/// What the registry or the network said, in one line, without addresses.
pub(super) fn reason(error: &OciDistributionError) -> String {
    use OciDistributionError as E;
    match error {
        E::RegistryError { envelope, .. } => {
            let errors: Vec<_> = envelope
                .errors
                .iter()
                .map(|error| {
                    let code = serde_json::to_value(&error.code).unwrap_or_default();
                    format!("{} ({})", one_line(&error.message), code.as_str().unwrap_or("unknown"))
                })
                .collect();
            errors.join("; ")
        }
        E::ServerError { code, message, .. } => match one_line(message) {
            text if text.is_empty() => format!("status {code}"),
            text => format!("status {code}: {text}"),
        },
        E::UnauthorizedError { .. } => "it wants a login".into(),
        E::AuthenticationFailure(text) => match one_line(text) {
            text if text.is_empty() => "the login was refused".into(),
            text => format!("the login was refused: {text}"),
        },
        E::RequestError(error) => {
            if let Some(status) = error.status() {
                return format!("status {}", status.as_u16());
            }
            innermost(error)
        }
        other => one_line(&other.to_string()),
    }
}

/// The last cause: the outer ones say that sending a request failed, and to which address.
pub(super) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let text = one_line(&cause.to_string());
    let timed_out = error.to_string().contains("timed out") || text.contains("timed out");
    if timed_out { "no answer in time".into() } else { text }
}

/// A server's text is shortened and kept on one line; it may be a whole page.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean: String = line.chars().filter(|c| !c.is_control()).take(300).collect();
    if let Ok(value) = serde_json::from_str::<serde_json::Value>(&line)
        && let Some(first) = value["errors"].get(0)
    {
        let message = first["message"].as_str().unwrap_or_default();
        let code = first["code"].as_str().unwrap_or("unknown");
        return format!("{message} ({code})").chars().filter(|c| !c.is_control()).take(300).collect();
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: u16, message: &str) -> OciDistributionError {
        OciDistributionError::ServerError { code, url: "https://x/?secret=1".into(), message: message.into() }
    }

    #[test]
    fn answers_are_sorted() {
        for (code, expected) in [
            (401, Kind::Refused),
            (403, Kind::Refused),
            (404, Kind::Missing),
            (400, Kind::Final),
            (429, Kind::Transient),
            (500, Kind::Transient),
            (503, Kind::Transient),
            (507, Kind::Final),
        ] {
            assert_eq!(kind(&server(code, "")), expected, "{code}");
        }
    }

    #[test]
    fn reasons_are_one_line_without_addresses() {
        let long = format!("<html>\n{}", "x".repeat(1000));
        let text = reason(&server(502, &long));
        assert!(text.starts_with("status 502: <html> x") && text.len() < 400, "{text}");
        assert!(!text.contains("secret"), "{text}");
        let text = reason(&server(400, r#"{"errors":[{"code":"DIGEST_INVALID","message":"no"}]}"#));
        assert_eq!(text, "status 400: no (DIGEST_INVALID)");
    }
}

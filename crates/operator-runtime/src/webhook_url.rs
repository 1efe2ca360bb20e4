//! The URL of webhooks that are served outside of the cluster, as by a manager on a developer's machine.

use axum::http::Uri;
use std::fmt;
use std::str::FromStr;

/// A URL by which the API server reaches a manager's webhooks without a Service: `https://HOST` or `https://HOST:PORT`.
///
/// ```
/// use operator_runtime::WebhookUrl;
///
/// let url: WebhookUrl = "https://192.0.2.1:9443/".parse().unwrap();
/// assert_eq!(url.to_string(), "https://192.0.2.1:9443");
/// assert!("http://192.0.2.1:9443".parse::<WebhookUrl>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl {
    /// Host and port.
    authority: String,
    host: String,
}

/// A URL that the API server does not accept for webhooks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `https://HOST` or `https://HOST:PORT`, without a user, a path or a query")]
pub struct InvalidWebhookUrl;

impl FromStr for WebhookUrl {
    type Err = InvalidWebhookUrl;

    fn from_str(text: &str) -> Result<Self, InvalidWebhookUrl> {
        let uri: Uri = text.parse().map_err(|_| InvalidWebhookUrl)?;
        let authority = uri.authority().ok_or(InvalidWebhookUrl)?;
        let port = authority.as_str().strip_prefix(authority.host()).ok_or(InvalidWebhookUrl)?;
        let is_port =
            port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        let is_plain = is_port && uri.path() == "/" && uri.query().is_none() && !text.contains('#');
        let host = authority.host().trim_matches(['[', ']']);
        if uri.scheme_str() != Some("https") || !is_plain || host.is_empty() {
            return Err(InvalidWebhookUrl);
        }
        Ok(Self { authority: authority.as_str().to_owned(), host: host.to_owned() })
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.authority)
    }
}

impl WebhookUrl {
    /// Returns the name or the address that the certificate is for.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Returns the URL of a path.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{self}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_that_the_api_server_does_not_accept_is_rejected() {
        for text in [
            "",
            "https://",
            "http://a",
            "a:9443",
            "https://a/convert",
            "https://a?b",
            "https://a#b",
            "https://u@a",
            "https://a@a",
            "https://a@a:5",
            "https://a:b",
        ] {
            assert_eq!(text.parse::<WebhookUrl>(), Err(InvalidWebhookUrl), "{text}");
        }
        let url: WebhookUrl = "https://[::1]:9443".parse().unwrap();
        assert_eq!((url.host(), url.at("/convert").as_str()), ("::1", "https://[::1]:9443/convert"));
    }
}

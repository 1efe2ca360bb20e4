//! Credentials, which never show their secret.

use std::fmt;

/// Credentials for a registry, and where they were found.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(crate) secret: Secret,
    origin: Option<String>,
}

/// What a registry or its token server accepts.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Secret {
    Anonymous,
    Basic {
        user: String,
        password: String,
    },
    /// A token that the token server exchanges for others (OAuth 2's refresh token).
    IdentityToken(String),
}

impl Credentials {
    /// Returns no credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        Self { secret: Secret::Anonymous, origin: None }
    }

    pub(crate) fn found(secret: Secret, origin: String) -> Self {
        Self { secret, origin: Some(origin) }
    }

    /// Returns a user and a password.
    #[must_use]
    pub fn basic(user: &str, password: &str) -> Self {
        let secret = Secret::Basic { user: user.to_owned(), password: password.to_owned() };
        Self::found(secret, "the given user and password".to_owned())
    }

    /// Returns a token that the registry's token server exchanges for others (OAuth 2's refresh token).
    #[must_use]
    pub fn identity_token(token: &str) -> Self {
        Self::found(Secret::IdentityToken(token.to_owned()), "the given identity token".to_owned())
    }

    /// True if no credentials were found.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.secret == Secret::Anonymous
    }
}

/// Shows where the credentials were found, without any secret: `the credentials of quay.io/org in …/auth.json`.
impl fmt::Display for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.origin.as_deref().unwrap_or("anonymous (no credentials found)"))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Credentials({self})")
    }
}

//! A login at a registry: the challenge it makes, the token it gives, and requests in its name.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::auth::{Credentials, Resolver, Secret};
use super::challenge::{self, Challenge, LoginChallenge};
use super::connections::SharedConnections;
use super::error::{Action, Error};
use super::error_remedy::Remedy;
use super::failure::{Failure, status_text};
use super::http::{Http, Payload, Request, Response, authority};
use super::options::Options;
use super::retry::{Attempts, Backoff};
use super::target::Policy;
use crate::blocking::blocking;
use crate::keyed_locks::KeyedLock;
use crate::plain::{Cause, CauseKind};
use crate::reference::Reference;
use crate::secrets::Secrets;

/// Maximum size of a token server's response, in bytes.
const MAX_TOKEN_RESPONSE: u64 = 64 << 10;

/// A connection to a registry for one repository, logged in if the registry requires it.
pub(crate) struct Session {
    pub(crate) http: Http,
    /// What is shared with other repositories.
    connections: SharedConnections,
    /// The registry as the user wrote it.
    registry: String,
    repository: String,
    action: Action,
    /// Another repository of the registry, whose blobs may be mounted.
    mount_from: Option<String>,
    /// Whether the registry has refused to mount.
    mount_refused: AtomicBool,
    credentials: Credentials,
    backoff: Backoff,
    /// How many blobs are transferred at once.
    pub(crate) parallel: usize,
    /// The header that requests carry, once the registry asked for it.
    authorization: Mutex<Option<HeaderValue>>,
}

impl Session {
    /// Connects to the registry of `reference` and logs in.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], [`Error::Denied`], [`Error::Certificates`], [`Error::Auth`],
    /// [`Error::Token`].
    pub(crate) async fn open(
        reference: &Reference,
        options: &Options,
        resolver: &Resolver,
        action: Action,
        mount_from: Option<&str>,
    ) -> Result<Self, Error> {
        let credentials = resolve(resolver, reference, options).await?;
        let (reference, options) = (reference.clone(), options.clone());
        let mount_from = mount_from.map(str::to_owned);
        // Files with certificates may be streams.
        let new = move || Self::new(&reference, &options, credentials, action, mount_from.as_deref());
        let session = blocking(new).await?;
        session
            .log_in()
            .await
            .map_err(|failure| session.error(failure, "answer", "the API version check"))?;
        Ok(session)
    }

    /// Checks what does not depend on a response: certificates, proxies and the name.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), before it connects.
    #[cfg(feature = "server")]
    pub(crate) fn check(reference: &Reference, options: &Options) -> Result<(), Error> {
        let policy = Policy::new(reference.host(), options)?;
        Http::new(reference.registry(), policy, options, Secrets::default()).map(drop)
    }

    /// Returns a session that has made no request. Without a repository in `reference`, it is for the registry itself.
    pub(crate) fn new(
        reference: &Reference,
        options: &Options,
        credentials: Credentials,
        action: Action,
        mount_from: Option<&str>,
    ) -> Result<Self, Error> {
        let policy = Policy::new(reference.host(), options)?;
        let secrets = Secrets::default();
        match &credentials.secret {
            Secret::Anonymous => {}
            Secret::Basic { user, password } => {
                secrets.add(password);
                secrets.add(&format!("{user}:{password}"));
            }
            Secret::IdentityToken(token) => secrets.add(token),
        }
        Ok(Self {
            http: Http::new(reference.registry(), policy, options, secrets)?,
            connections: options.connections.clone(),
            registry: reference.registry().to_owned(),
            repository: reference.repository().to_owned(),
            action,
            mount_from: mount_from.map(str::to_owned),
            mount_refused: AtomicBool::new(false),
            credentials,
            backoff: options.backoff,
            parallel: options.parallel.get(),
            authorization: Mutex::new(None),
        })
    }

    /// Returns the repository whose blobs may be mounted; `None` once that was refused.
    pub(crate) fn mount_from(&self) -> Option<&str> {
        self.mount_from.as_deref().filter(|_| !self.mount_refused.load(Ordering::Relaxed))
    }

    /// Stops mounting blobs: they are uploaded instead.
    pub(crate) fn refuse_mount(&self) {
        self.mount_refused.store(true, Ordering::Relaxed);
    }

    /// Asks the registry whether it requires a login, unless another repository has asked, and logs in.
    pub(crate) async fn log_in(&self) -> Result<(), Failure> {
        let base = self.http.policy.registry();
        let ask = async || self.run(|| self.ask_for_login()).await;
        match self.connections.login(base, ask).await? {
            None => Ok(()),
            Some(challenge) => self.run(|| self.renew(&challenge, None)).await.map(drop),
        }
    }

    /// Asks the registry for its challenge; `None` if it requires no login.
    async fn ask_for_login(&self) -> Result<Option<LoginChallenge>, Failure> {
        let ping = Request::new(Method::GET, self.http.policy.registry().clone());
        let response = self.http.send(&ping, None).await?;
        match response.status() {
            StatusCode::UNAUTHORIZED => Ok(Some(login_challenge(&response))),
            status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(response.failure().await)
            }
            // Anything else says nothing about a login: the next request has its own response.
            _ => Ok(None),
        }
    }

    /// Runs `attempt` with retries.
    pub(crate) async fn run<T, F>(&self, attempt: impl FnMut() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.backoff.run(self.http.deadline, attempt).await
    }

    /// Waits until no other task sends the blob to the repository.
    pub(crate) async fn upload_lock(&self, digest: &str) -> KeyedLock {
        self.connections.upload_lock(self.http.policy.registry(), &self.repository, digest).await
    }

    /// Returns the counter of attempts for one request.
    pub(crate) fn attempts(&self) -> Attempts {
        self.backoff.start(self.http.deadline)
    }

    /// Returns the address of something in the repository: `blobs/sha256:…`.
    pub(crate) fn url(&self, path: &str) -> Result<Url, Failure> {
        let text = format!("{}{}/{path}", self.http.policy.registry(), self.repository);
        Url::parse(&text)
            .map_err(|error| Failure::Invalid(format!("`{text}` is not a valid address: {error}")))
    }

    /// Makes a request once, with the login if it goes to the registry itself. If the registry does not accept the
    /// login, it is renewed once.
    pub(crate) async fn send(&self, request: &Request) -> Result<Response<'_>, Failure> {
        if !self.http.is_registry(&request.url) {
            return self.http.send(request, None).await;
        }
        let used = self.authorization.lock().await.clone();
        let response = self.http.send(request, used.as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED || !self.http.is_registry(response.url()) {
            return Ok(response);
        }
        match self.renew(&login_challenge(&response), used.as_ref()).await? {
            Some(renewed) => {
                drop(response);
                self.http.send(request, Some(&renewed)).await
            }
            None => Ok(response),
        }
    }

    /// Makes a request that is expected to be answered with one of `statuses`.
    pub(crate) async fn expect(
        &self,
        request: &Request,
        statuses: &[StatusCode],
    ) -> Result<Response<'_>, Failure> {
        let response = self.send(request).await?;
        if statuses.contains(&response.status()) { Ok(response) } else { Err(response.failure().await) }
    }

    /// Answers the challenge of a 401, and returns the new header; `None` if there is none better than `used`.
    async fn renew(
        &self,
        LoginChallenge { headers, from }: &LoginChallenge,
        used: Option<&HeaderValue>,
    ) -> Result<Option<HeaderValue>, Failure> {
        let mut authorization = self.authorization.lock().await;
        if authorization.as_ref() != used {
            // Another request was faster.
            return Ok(authorization.clone());
        }
        let challenges: Vec<Challenge> = headers.iter().flat_map(|header| challenge::parse(header)).collect();
        let supported = challenges.iter().find(|found| matches!(found.scheme.as_str(), "basic" | "bearer"));
        let Some(challenge) = supported else {
            return match challenges.first() {
                Some(Challenge { scheme, .. }) => Err(Failure::Login(format!(
                    "the registry requires the unsupported authentication scheme `{}`",
                    self.http.secrets.clean(scheme)
                ))),
                None => Ok(None),
            };
        };
        let renewed = if challenge.scheme == "basic" {
            match &self.credentials.secret {
                Secret::Basic { user, password } => sensitive("Basic", &basic(user, password))?,
                Secret::IdentityToken(_) => {
                    return Err(Failure::Login(
                        "the registry requires a user name and a password, but the credentials are an identity token"
                            .into(),
                    ));
                }
                Secret::Anonymous => return Ok(None),
            }
        } else {
            let token = self.token(challenge, from).await?;
            self.http.secrets.add(&token);
            sensitive("Bearer", &token)?
        };
        if Some(&renewed) == used {
            return Ok(None);
        }
        *authorization = Some(renewed.clone());
        Ok(Some(renewed))
    }

    /// Requests a token from the server that `challenge` names. A server that does not let these credentials read the repository
    /// to mount from may give no token at all; then the token is requested for this repository only.
    async fn token(&self, challenge: &Challenge, from: &Url) -> Result<String, Failure> {
        let mount_from = self.mount_from();
        match self.token_for(challenge, from, mount_from).await {
            Err(failure) if mount_from.is_some() && failure.is_refusal() => {
                self.refuse_mount();
                self.token_for(challenge, from, None).await
            }
            result => result,
        }
    }

    /// Requests a token for this repository, and for reading another one.
    async fn token_for(
        &self,
        challenge: &Challenge,
        from: &Url,
        mount_from: Option<&str>,
    ) -> Result<String, Failure> {
        let realm = challenge.parameter("realm").unwrap_or_default();
        if realm.is_empty() {
            return Err(Failure::Invalid("the login challenge does not name a token server".into()));
        }
        let mut url = self.http.target(from, realm)?;
        if !self.credentials.is_anonymous() && !self.http.policy.may_receive_credentials(&url) {
            return Err(Failure::Target {
                target: self.http.secrets.clean(&authority(&url)),
                reason: "credentials of a public registry are not sent to a private network".into(),
            });
        }
        let service = challenge.parameter("service").filter(|service| !service.is_empty());
        let mut scopes = Vec::new();
        if !self.repository.is_empty() {
            scopes.push(format!("repository:{}:{}", self.repository, self.action.scope()));
        }
        // Mounting reads from the other repository.
        scopes.extend(mount_from.map(|name| format!("repository:{name}:{}", Action::Pull.scope())));
        let mut authorization = None;
        let request = if let Secret::IdentityToken(token) = &self.credentials.secret {
            // Docker's token specification, "Getting a token" with OAuth 2.
            let mut form = Url::parse("form:?").map_err(|error| Failure::Invalid(error.to_string()))?;
            form.query_pairs_mut()
                .append_pair("grant_type", "refresh_token")
                .append_pair("refresh_token", token)
                .append_pair("client_id", self.http.client_id())
                .append_pair("service", service.unwrap_or_default())
                .append_pair("scope", &scopes.join(" "));
            let form = Bytes::from(form.query().unwrap_or_default().to_owned());
            let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
            Request::new(Method::POST, url.clone())
                .header(CONTENT_TYPE, content_type)
                .payload(Payload::Secret(form))
        } else {
            if let Some(service) = service {
                url.query_pairs_mut().append_pair("service", service);
            }
            for scope in &scopes {
                url.query_pairs_mut().append_pair("scope", scope);
            }
            if let Secret::Basic { user, password } = &self.credentials.secret {
                authorization = Some(sensitive("Basic", &basic(user, password))?);
            }
            Request::new(Method::GET, url.clone())
        };
        let request = request.header(ACCEPT, HeaderValue::from_static("application/json"));
        let result = self
            .run(|| async {
                let response = self.http.send(&request, authorization.as_ref()).await?;
                if response.status() != StatusCode::OK {
                    return Err(response.failure().await);
                }
                parse_token(&response.bytes(MAX_TOKEN_RESPONSE).await?)
            })
            .await;
        let server = self.http.secrets.clean(&authority(&url));
        result.map_err(|failure| match failure {
            Failure::Status { status: StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, message, .. } => {
                let message = if message.is_empty() { String::new() } else { format!(": {message}") };
                Failure::Login(format!("the token server {server} rejected the login{message}"))
            }
            failure => Failure::Token { server, cause: Box::new(failure) },
        })
    }

    /// Turns a failure into an error: what the registry was asked to do (`read`), and with what.
    pub(crate) fn error(&self, failure: Failure, verb: &'static str, what: &str) -> Error {
        let registry = self.registry.clone();
        match failure {
            Failure::Unreachable(cause) => self.unreachable(&cause),
            Failure::Broken(cause) if cause.kind == CauseKind::Tls => self.unreachable(&cause),
            Failure::Status {
                status: status @ (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN),
                message,
                ..
            } => self.denied(status_text(status, &message)),
            Failure::Login(reason) => self.denied(reason),
            Failure::Token { server, cause } => match *cause {
                // These name the address or the request themselves.
                cause @ (Failure::Target { .. } | Failure::Stalled { .. } | Failure::Expired { .. }) => {
                    self.error(cause, verb, what)
                }
                cause => Error::Token { registry, server, reason: cause.to_string() },
            },
            Failure::Invalid(reason) => Error::Invalid { registry, what: what.to_owned(), reason },
            Failure::Stalled { request, after } => Error::Stalled { request, after },
            Failure::Expired { request, deadline } => Error::Expired { request, deadline },
            Failure::TooLarge { request, limit } => Error::TooLarge { request, limit },
            Failure::Target { target, reason } => Error::Target { registry, target, reason },
            Failure::Local(error) => Error::Layout(error),
            failure @ (Failure::Broken(_) | Failure::Status { .. }) => {
                Error::Failed { registry, verb, what: what.to_owned(), reason: failure.to_string() }
            }
        }
    }

    /// Returns the error for a registry without a connection, with what to do about its `cause`.
    fn unreachable(&self, cause: &Cause) -> Error {
        let registry = self.registry.clone();
        let is_loopback = self.http.policy.is_loopback();
        // These are reqwest's variables.
        let proxies = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
        let mut proxies = proxies.iter().filter_map(std::env::var_os).filter(|_| !is_loopback);
        let is_proxied_with_tls =
            proxies.any(|proxy| proxy.to_string_lossy().to_ascii_lowercase().starts_with("https://"));
        let remedy = match cause.kind {
            CauseKind::TlsUnavailable => Remedy::InstallAuthorities,
            CauseKind::UnknownAuthority => Remedy::TrustAuthority,
            CauseKind::CaCertificate => Remedy::ReplaceCaCertificate,
            CauseKind::Certificate => Remedy::CheckCertificate,
            CauseKind::Tls => Remedy::UseTls,
            CauseKind::PlainHttp if is_proxied_with_tls => Remedy::CheckProxyScheme,
            CauseKind::PlainHttp => Remedy::AllowPlainHttp { host: (!is_loopback).then(|| registry.clone()) },
            CauseKind::Proxy => Remedy::CheckProxy,
            CauseKind::Handshake | CauseKind::Resolve | CauseKind::Other => Remedy::CheckAddress,
        };
        Error::Unreachable { registry, reason: cause.to_string(), remedy }
    }

    fn denied(&self, reason: String) -> Error {
        if self.repository.is_empty() {
            return Error::Login { registry: self.registry.clone(), reason };
        }
        Error::Denied {
            registry: self.registry.clone(),
            repository: self.repository.clone(),
            who: self.credentials.to_string(),
            action: self.action,
            reason,
            is_anonymous: self.credentials.is_anonymous(),
        }
    }
}

/// Finds the credentials on a thread that may block: a helper may take its time.
async fn resolve(
    resolver: &Resolver,
    reference: &Reference,
    options: &Options,
) -> Result<Credentials, Error> {
    let (resolver, reference) = (Arc::new(resolver.clone()), reference.clone());
    let left = options.timeout.start().left();
    let found = tokio::task::spawn_blocking(move || resolver.resolve_within(&reference, left)).await;
    found.unwrap_or_else(|_| Ok(Credentials::anonymous())).map_err(Error::Auth)
}

/// Returns the challenge of a response with status 401.
fn login_challenge(response: &Response<'_>) -> LoginChallenge {
    LoginChallenge { headers: response.headers(&WWW_AUTHENTICATE), from: response.url().clone() }
}

fn basic(user: &str, password: &str) -> String {
    STANDARD.encode(format!("{user}:{password}"))
}

/// Returns the value of an `Authorization` header, which is never shown.
fn sensitive(scheme: &str, secret: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(&format!("{scheme} {secret}")).map_err(|_| {
        Failure::Invalid("the token contains characters that a header must not contain".into())
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Parses the response of a token server.
fn parse_token(body: &[u8]) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        token: Option<String>,
        #[serde(default)]
        access_token: Option<String>,
    }
    let invalid = |reason: &str| Failure::Invalid(reason.to_owned());
    // Never the parser's own words: it quotes what it stumbles over.
    let Body { token, access_token } = serde_json::from_slice(body).map_err(|error| {
        Failure::Invalid(format!(
            "the response is not valid JSON with a token at line {}, column {}",
            error.line(),
            error.column()
        ))
    })?;
    let token = [token, access_token]
        .into_iter()
        .flatten()
        .find(|token| !token.is_empty())
        .ok_or_else(|| invalid("the response contains no token"))?;
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid("the token contains characters that a header must not contain"));
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_elsewhere_is_suggested_by_name() {
        for (registry, host) in [("127.0.0.1:5000", None), ("r.lan:5000", Some("r.lan:5000".to_owned()))] {
            let reference: Reference = format!("{registry}/a").parse().unwrap();
            let (options, credentials) = (Options::default(), Credentials::anonymous());
            let session = Session::new(&reference, &options, credentials, Action::Pull, None).unwrap();
            let failure =
                Failure::Unreachable(Cause::new(CauseKind::PlainHttp, "the server did not answer with TLS"));
            let error = session.error(failure, "read", "x");
            assert_eq!(error.remedy(), Some(Remedy::AllowPlainHttp { host }));
            let tls = session.error(
                Failure::Broken(Cause::new(CauseKind::Tls, "the server did not answer with HTTP")),
                "read",
                "x",
            );
            assert_eq!(tls.remedy(), Some(Remedy::UseTls));
            assert!(
                tls.to_string()
                    .ends_with(": the server did not answer with HTTP; the registry seems to use TLS"),
                "{tls}"
            );
            let authority = Failure::Unreachable(Cause::new(CauseKind::CaCertificate, "x"));
            let authority = session.error(authority, "read", "x").to_string();
            assert!(
                authority.ends_with("x; create a server certificate, with `basicConstraints=CA:FALSE`"),
                "{authority}"
            );
        }
    }

    #[test]
    fn tokens_are_what_a_header_can_carry() {
        assert_eq!(parse_token(br#"{"token":"abc.d-e_f~+/="}"#).unwrap(), "abc.d-e_f~+/=");
        assert_eq!(parse_token(br#"{"token":"","access_token":"x","expires_in":-1}"#).unwrap(), "x");
        for body in [
            "",
            "x",
            "null",
            "{}",
            r#"{"token":null}"#,
            r#"{"token":5}"#,
            r#"{"token":""}"#,
            r#"{"token":"a\nb"}"#,
            r#"{"token":"a\u0000b"}"#,
            r#"{"token":"a\u007fb"}"#,
            r#"{"token":"a b"}"#,
            r#"{"token":"ä"}"#,
            r#"{"access_token":"a\r\nX-Evil: 1"}"#,
            &r#"{"token":"#.repeat(10_000),
        ] {
            let error = parse_token(body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("token") && !error.contains("X-Evil"), "{body}: {error}");
        }
    }
}

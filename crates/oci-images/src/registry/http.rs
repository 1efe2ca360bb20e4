//! One HTTP client for a registry and its token server, with limits for everything that a server can draw out.
//!
//! | what | limit |
//! | --- | --- |
//! | everything together | [`Options::timeout`] |
//! | a connection | 10 seconds |
//! | a response's head, and any pause in a body | [`Options::idle_timeout`] with less than 32 KiB transferred |
//! | a response's head | about 400 KiB and 100 headers (hyper's limits) |
//! | the body of an error | 16 KiB and 5 seconds; what is beyond is not read |
//! | other documents | the caller's limit |
//! | redirects of one request | 10, each checked by [`Policy::follow`] |

use std::ffi::OsString;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, VIA};
use reqwest::redirect;
use reqwest::{Certificate, Client, ClientBuilder, Identity, Method, StatusCode, Url};
use tokio::time::timeout_at;
use tracing::debug;

use super::certificates::Tls;
use super::connections::{Key, SharedConnections, Trust};
use super::deadline::Deadline;
use super::error::Error;
use super::error_remedy::Remedy;
use super::failure::Failure;
use super::options::Options;
use super::target::Policy;
use super::upload::{PassedOn, Upload};
use crate::plain::{Cause, CauseKind};
use crate::secrets::{Address, Secrets};

/// Maximum number of redirects of one request.
const MAX_REDIRECTS: usize = 10;
/// Minimum number of bytes that count as progress within the idle timeout.
const MIN_PROGRESS: u64 = 32 << 10;
/// Maximum size of an error's body, in bytes.
const MAX_ERROR_BODY: usize = 16 << 10;
/// Maximum time for an error's body.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for a connection, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A request that can be made more than once.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) payload: Payload,
}

/// What a request sends.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    Empty,
    Bytes(Bytes),
    /// A form with a secret in it, which must not follow a redirect.
    Secret(Bytes),
    Upload(Arc<Upload>),
    PassedOn(Arc<PassedOn>),
}

impl Request {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self { method, url, headers: Vec::new(), payload: Payload::Empty }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn payload(mut self, payload: Payload) -> Self {
        self.payload = payload;
        self
    }
}

/// The client.
pub(crate) struct Http {
    /// For plain HTTP: without the system's certificates, which take time to read.
    plain: Client,
    /// For HTTPS, built when it is needed first.
    secure: OnceLock<Client>,
    /// For HTTPS to the registry itself, if that differs: with the client's certificate, or without verification.
    own: OnceLock<Client>,
    /// Where clients are shared.
    connections: SharedConnections,
    /// Certificates of authorities to trust in addition to the system's, as DER.
    authorities: Vec<Vec<u8>>,
    /// The client's certificate and its key, as PEM.
    identity: Option<Vec<u8>>,
    skip_verification: bool,
    pub(crate) policy: Policy,
    pub(crate) secrets: Secrets,
    pub(crate) deadline: Deadline,
    idle: Duration,
    via: Option<HeaderValue>,
    user_agent: String,
}

impl Http {
    /// Returns a client for `registry`, as the user names it, whose addresses are those of `policy`.
    ///
    /// # Errors
    ///
    /// [`Error::Certificates`] if a file with certificates cannot be used, [`Error::Unreachable`] if TLS is not
    /// available.
    pub(crate) fn new(
        registry: &str,
        policy: Policy,
        options: &Options,
        secrets: Secrets,
    ) -> Result<Self, Error> {
        // Another provider may be installed already; it is ring either way.
        let _ = rustls::crypto::ring::default_provider().install_default();
        if !policy.is_loopback() {
            find_proxy(policy.registry(), |name| std::env::var_os(name))?;
        }
        let fail = |error: reqwest::Error| Error::Unreachable {
            registry: authority(policy.registry()),
            reason: Cause::find(&error).to_string(),
            remedy: Remedy::CheckNetwork,
        };
        let Tls { authorities, identity } = Tls::read(registry, options)?;
        let authorities: Vec<Vec<u8>> = authorities.iter().map(|der| der.to_vec()).collect();
        // What cannot be used is reported before a connection needs it.
        certificates(&authorities).map_err(fail)?;
        identity.as_deref().map(Identity::from_pem).transpose().map_err(fail)?;
        let user_agent = options.user_agent.clone();
        let user_agent =
            user_agent.unwrap_or_else(|| concat!("oci-images/", env!("CARGO_PKG_VERSION")).into());
        let is_loopback = policy.is_loopback();
        let key = Key { trust: Trust::Plain, is_loopback, user_agent: user_agent.clone() };
        let connections = options.connections.clone();
        let plain = connections
            .get(key, || builder(is_loopback, &user_agent).tls_certs_only([]).build())
            .map_err(fail)?;
        Ok(Self {
            connections,
            plain,
            secure: OnceLock::new(),
            own: OnceLock::new(),
            authorities,
            identity,
            skip_verification: options.skip_tls_verification,
            policy,
            secrets,
            deadline: options.timeout.start(),
            idle: options.idle_timeout.0,
            via: options.via.clone(),
            user_agent,
        })
    }

    /// Returns the name of this client, without its version.
    pub(crate) fn client_id(&self) -> &str {
        self.user_agent.split(['/', ' ']).next().unwrap_or_default()
    }

    fn client(&self, url: &Url) -> Result<&Client, Failure> {
        if url.scheme() == "http" {
            return Ok(&self.plain);
        }
        let differs = self.identity.is_some() || self.skip_verification;
        let is_own = differs && self.is_registry(url);
        let client = if is_own { &self.own } else { &self.secure };
        if let Some(client) = client.get() {
            return Ok(client);
        }
        let cell = client;
        let authorities = self.authorities.clone();
        let trust = if is_own {
            let (identity, skip_verification) = (self.identity.clone(), self.skip_verification);
            Trust::Registry { authorities, identity, skip_verification }
        } else {
            Trust::Authorities(authorities)
        };
        let is_loopback = self.policy.is_loopback();
        let key = Key { trust, is_loopback, user_agent: self.user_agent.clone() };
        let build = || {
            let certificates = certificates(&self.authorities)?;
            let mut client = builder(is_loopback, &self.user_agent).tls_certs_merge(certificates);
            if is_own {
                client = client.tls_danger_accept_invalid_certs(self.skip_verification);
                if let Some(identity) = &self.identity {
                    client = client.identity(Identity::from_pem(identity)?);
                }
            }
            client.build()
        };
        let client = self.connections.get(key, build).map_err(|error| {
            let reason = format!("TLS is not available: {}", Cause::find(&error));
            Failure::Unreachable(Cause::new(CauseKind::TlsUnavailable, reason))
        })?;
        Ok(cell.get_or_init(|| client))
    }

    /// Whether `url` has the origin of the registry: scheme, host and port.
    pub(crate) fn is_registry(&self, url: &Url) -> bool {
        url.origin() == self.policy.registry().origin()
    }

    /// Makes a request and follows redirects. `authorization` is sent only to the host of `request.url`.
    ///
    /// # Errors
    ///
    /// Every [`Failure`] but a status: responses are returned whatever their status.
    pub(crate) async fn send(
        &self,
        request: &Request,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response<'_>, Failure> {
        let mut authorization = authorization;
        let mut request = request.clone();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_once(&request, authorization).await?;
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let Some(location) = response.header(&LOCATION) else { return Ok(response) };
            let url = self.target(&request.url, &location)?;
            let is_read = matches!(request.method, Method::GET | Method::HEAD);
            let keeps_method = is_read || matches!(response.status().as_u16(), 307 | 308);
            if !keeps_method || matches!(request.payload, Payload::Secret(_)) {
                return Err(Failure::Invalid(format!(
                    "unexpected redirect of `{}` with status {}",
                    self.name(&request),
                    response.status().as_u16()
                )));
            }
            if url.origin() != request.url.origin() {
                authorization = None;
            }
            request.url = url;
        }
        Err(Failure::Invalid(format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// Returns the address that a response of `from` names.
    ///
    /// # Errors
    ///
    /// [`Failure::Target`] if the client must not go there.
    pub(crate) fn target(&self, from: &Url, location: &str) -> Result<Url, Failure> {
        self.policy.follow(from, location).map_err(|reason| {
            // Never the query, which may carry the rights to an upload.
            let shown = Address::new(location).to_string();
            Failure::Target { target: self.secrets.clean(&shown), reason }
        })
    }

    async fn send_once(
        &self,
        request: &Request,
        authorization: Option<&HeaderValue>,
    ) -> Result<Response<'_>, Failure> {
        let name = self.name(request);
        let client = self.client(&request.url)?;
        let mut builder = client.request(request.method.clone(), request.url.clone());
        for (header, value) in &request.headers {
            builder = builder.header(header, value);
        }
        if let Some(authorization) = authorization {
            builder = builder.header(AUTHORIZATION, authorization);
        }
        if let Some(via) = &self.via {
            builder = builder.header(VIA, via);
        }
        let moved = Arc::new(AtomicU64::new(0));
        let failed = Arc::new(Mutex::new(None));
        match &request.payload {
            Payload::Empty if matches!(request.method, Method::GET | Method::HEAD) => {}
            Payload::Empty => builder = builder.header(CONTENT_LENGTH, 0),
            Payload::PassedOn(_) => {}
            Payload::Bytes(bytes) | Payload::Secret(bytes) => builder = builder.body(bytes.clone()),
            Payload::Upload(upload) => {
                let stream =
                    upload.stream(Arc::clone(&moved), Arc::clone(&failed)).map_err(Failure::Local)?;
                builder =
                    builder.header(CONTENT_LENGTH, upload.length()).body(reqwest::Body::wrap_stream(stream));
            }
        }
        if let Payload::PassedOn(passed) = &request.payload {
            let stream = passed.stream(Arc::clone(&moved));
            let stream = stream.ok_or_else(|| Failure::Broken("the request had to be repeated".into()))?;
            builder =
                builder.header(CONTENT_LENGTH, passed.length()).body(reqwest::Body::wrap_stream(stream));
        }
        let begin = Instant::now();
        let mut sending = pin!(builder.send());
        let mut stall = StallDetector::new(self.idle);
        let response = loop {
            match timeout_at(stall.end(self.deadline), &mut sending).await {
                Ok(Ok(response)) => {
                    debug!("{name}: {} after {} ms", response.status(), begin.elapsed().as_millis());
                    break response;
                }
                Ok(Err(error)) => {
                    debug!("{name}: no response after {} ms", begin.elapsed().as_millis());
                    // If the blob could not be read, that is the reason, and not the request that broke.
                    if let Some(error) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                        return Err(Failure::Local(error));
                    }
                    return Err(match self.failure(&error, &request.url) {
                        // The error is about the registry, unless it says otherwise.
                        Failure::Unreachable(cause)
                            if !self.is_registry(&request.url) && cause.kind != CauseKind::Resolve =>
                        {
                            let host = self.secrets.clean(&authority(&request.url));
                            Failure::Unreachable(cause.map(|reason| format!("{host}: {reason}")))
                        }
                        failure => failure,
                    });
                }
                Err(_) => stall.check(moved.load(Ordering::Relaxed), self.deadline, &name)?,
            }
        };
        Ok(Response { http: self, url: request.url.clone(), request: name, inner: response, stall, read: 0 })
    }

    /// Returns the proxy that requests to `url` use.
    fn proxy(&self, url: &Url) -> Option<Proxy> {
        // Clients for a registry on loopback use none.
        if self.policy.is_loopback() {
            return None;
        }
        find_proxy(url, |name| std::env::var_os(name)).ok().flatten()
    }

    /// Returns what a request is called in messages: method and address without query.
    fn name(&self, request: &Request) -> String {
        let mut url = request.url.clone();
        url.set_query(None);
        self.secrets.clean(&format!("{} {url}", request.method))
    }

    /// Returns the failure of a request to `url`.
    fn failure(&self, error: &reqwest::Error, url: &Url) -> Failure {
        let cause = Cause::find(error).map(|reason| self.secrets.clean(reason));
        if error.is_connect() {
            let timed_out = error.is_timeout();
            let cause = if timed_out { "no connection within 10 seconds".into() } else { cause };
            Failure::Unreachable(match self.proxy(url) {
                // Whatever is about TLS comes from the registry, through the proxy.
                Some(proxy) if is_of_proxy(&cause) => {
                    let cause = cause.about_host(&proxy.host);
                    cause.of_proxy(|reason| format!("failed to connect to {proxy}: {reason}"))
                }
                _ => cause.about_host(url.host_str().unwrap_or_default()),
            })
        } else if error.is_builder() {
            Failure::Invalid(cause.to_string())
        } else {
            Failure::Broken(cause)
        }
    }
}

/// Whether a connection through a proxy failed because of the proxy.
fn is_of_proxy(cause: &Cause) -> bool {
    matches!(cause.kind, CauseKind::Resolve | CauseKind::Proxy | CauseKind::Other)
}

/// A proxy of the environment.
#[derive(Debug, PartialEq, Eq)]
struct Proxy {
    /// The environment variable.
    variable: &'static str,
    /// Its host.
    host: String,
    /// The host and the port, without a password.
    address: String,
}

impl fmt::Display for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the proxy `{}` ({})", self.address, self.variable)
    }
}

/// Returns the proxy for requests to `url`; `None` if there is none. `variable` returns the value of an environment variable.
///
/// # Errors
///
/// [`Error::Proxy`] for a proxy that reqwest would ignore: requests would then take another way than the user wants.
fn find_proxy(url: &Url, variable: impl Fn(&str) -> Option<OsString>) -> Result<Option<Proxy>, Error> {
    let first = |names: [&'static str; 2]| {
        let set = names.into_iter().find_map(|name| Some((name, variable(name)?)));
        set.filter(|(_, value)| !value.is_empty())
    };
    let own =
        if url.scheme() == "http" { ["HTTP_PROXY", "http_proxy"] } else { ["HTTPS_PROXY", "https_proxy"] };
    // The scheme's own variable is used if there is one.
    let Some((name, value)) = first(own).or_else(|| first(["ALL_PROXY", "all_proxy"])) else {
        return Ok(None);
    };
    let exempt = first(["NO_PROXY", "no_proxy"]).and_then(|(_, value)| value.into_string().ok());
    if exempt.is_some_and(|exempt| is_exempt(url, exempt)) {
        return Ok(None);
    }
    let parsed = value.to_str().and_then(|value| value.parse::<Uri>().ok());
    let valid = parsed.as_ref().and_then(|uri| {
        let host = uri.host().filter(|host| !host.is_empty())?;
        matches!(uri.scheme_str(), None | Some("http" | "https")).then_some((uri, host))
    });
    let Some((uri, host)) = valid else { return Err(Error::Proxy { variable: name }) };
    let address = uri.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Ok(Some(Proxy { variable: name, host: host.to_owned(), address }))
}

/// Whether `exempt`, the value of `NO_PROXY`, matches the host of `url`.
fn is_exempt(url: &Url, exempt: String) -> bool {
    // The matcher that reqwest uses, with a proxy for everything else.
    let matcher = Matcher::builder().all("http://proxy").no(exempt).build();
    url.as_str().parse::<Uri>().is_ok_and(|uri| matcher.intercept(&uri).is_none())
}

/// Parses the certificates of authorities.
fn certificates(authorities: &[Vec<u8>]) -> reqwest::Result<Vec<Certificate>> {
    authorities.iter().map(|der| Certificate::from_der(der)).collect()
}

/// Returns what clients for HTTP and HTTPS have in common.
fn builder(is_loopback: bool, user_agent: &str) -> ClientBuilder {
    // Whatever a resolver says of it, `localhost` is this machine.
    let localhost = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), SocketAddr::from((Ipv6Addr::LOCALHOST, 0))];
    let builder = Client::builder()
        .user_agent(user_agent)
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .resolve_to_addrs("localhost", &localhost);
    // A proxy cannot reach this machine's loopback interface.
    if is_loopback { builder.no_proxy() } else { builder }
}

/// The progress of a transfer.
#[derive(Debug)]
struct StallDetector {
    idle: Duration,
    window_end: Instant,
    at_window_start: u64,
}

impl StallDetector {
    fn new(idle: Duration) -> Self {
        Self { idle, window_end: later(idle), at_window_start: 0 }
    }

    fn end(&self, deadline: Deadline) -> tokio::time::Instant {
        self.window_end.min(deadline.at()).into()
    }

    /// Starts a new window if enough was `moved` since the last one started.
    fn check(&mut self, moved: u64, deadline: Deadline, request: &str) -> Result<(), Failure> {
        if deadline.left().is_zero() {
            return Err(Failure::Expired { request: request.to_owned(), deadline });
        }
        if moved - self.at_window_start < MIN_PROGRESS {
            return Err(Failure::Stalled { request: request.to_owned(), after: self.idle });
        }
        self.at_window_start = moved;
        self.window_end = later(self.idle);
        Ok(())
    }
}

fn later(duration: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(duration).unwrap_or(now + Duration::from_hours(24 * 365))
}

/// A response whose body has not been read.
pub(crate) struct Response<'a> {
    http: &'a Http,
    /// Where it came from, after redirects.
    url: Url,
    request: String,
    inner: reqwest::Response,
    stall: StallDetector,
    read: u64,
}

impl Response<'_> {
    pub(crate) fn status(&self) -> StatusCode {
        self.inner.status()
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Returns a header as text; bytes that are not UTF-8 are replaced.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<String> {
        let value = self.inner.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// Returns all values of a header as text.
    pub(crate) fn headers(&self, name: &HeaderName) -> Vec<String> {
        let values = self.inner.headers().get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    /// Returns the length that the response claims for its body, or for the body that a `HEAD` is about.
    pub(crate) fn claimed_length(&self) -> Option<u64> {
        self.header(&CONTENT_LENGTH)?.parse().ok()
    }

    /// Returns the next part of the body, `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            match timeout_at(self.stall.end(self.http.deadline), self.inner.chunk()).await {
                Ok(Ok(chunk)) => {
                    self.read += chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
                    // A body that always has more is stopped here, any other by the timeout.
                    if chunk.is_some() && self.http.deadline.left().is_zero() {
                        self.stall.check(self.read, self.http.deadline, &self.request)?;
                    }
                    return Ok(chunk);
                }
                Ok(Err(error)) => return Err(self.http.failure(&error, &self.url)),
                Err(_) => self.stall.check(self.read, self.http.deadline, &self.request)?,
            }
        }
    }

    /// Reads the whole body, at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// [`Failure::TooLarge`] beyond `limit`.
    pub(crate) async fn bytes(mut self, limit: u64) -> Result<Vec<u8>, Failure> {
        let too_large = || Failure::TooLarge { request: self.request.clone(), limit };
        if self.claimed_length().is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Err(Failure::TooLarge { request: self.request, limit });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    /// Turns the response into a failure, with what its body says.
    pub(crate) async fn failure(mut self) -> Failure {
        let status = self.status();
        let retry_after = self.header(&RETRY_AFTER).and_then(|value| retry_after(&value));
        let mut body = Vec::new();
        // What arrived until something goes wrong is all there is to say.
        let reading = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() >= MAX_ERROR_BODY {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(ERROR_BODY_TIMEOUT, reading).await;
        body.truncate(MAX_ERROR_BODY);
        let message = self.http.secrets.clean(&message(&body));
        Failure::Status { status, message, retry_after }
    }
}

/// Parses `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(value: &str) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Duration::try_from(date.duration_since(jiff::Timestamp::now())).ok()
}

/// Returns what the body of an error says: its first errors in the distribution specification's form, or its text.
fn message(body: &[u8]) -> String {
    /// Maximum number of errors that are shown.
    const MAX_ERRORS: usize = 3;
    #[derive(serde::Deserialize)]
    struct Body {
        errors: Vec<Item>,
    }
    #[derive(serde::Deserialize)]
    struct Item {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    if let Ok(Body { errors }) = serde_json::from_slice(body) {
        let texts = errors.iter().take(MAX_ERRORS).map(|Item { code, message }| match message.as_str() {
            "" => code.clone(),
            message if code.is_empty() => message.to_owned(),
            message => format!("{message} ({code})"),
        });
        return texts.collect::<Vec<_>>().join("; ");
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start();
    // A page for browsers says nothing that its status does not.
    if text.starts_with('<') { String::new() } else { text.to_owned() }
}

/// Returns host and port of an address.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_bodies_are_reduced_to_what_they_say() {
        for (body, expected) in [
            (r#"{"errors":[{"code":"DIGEST_INVALID","message":"no"}]}"#, "no (DIGEST_INVALID)"),
            (r#"{"errors":[{"code":"A"},{"message":"b"},{"detail":[]},{"code":"d"}]}"#, "A; b; "),
            ("rate limit exceeded", "rate limit exceeded"),
            ("<html><body>502</body></html>", ""),
            ("", ""),
        ] {
            assert_eq!(message(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn proxy_that_would_be_ignored_is_an_error() {
        let check = |scheme: &str, name: &str, value: &str| {
            let registry = format!("{scheme}://registry.example.com/v2/").parse().unwrap();
            find_proxy(&registry, |variable| (variable == name).then(|| value.into()))
        };
        for valid in
            ["", "proxy:3128", "http://proxy.example.com:3128", "https://user:secret@proxy/", "10.0.0.1"]
        {
            check("https", "HTTPS_PROXY", valid).unwrap_or_else(|error| panic!("{valid}: {error}"));
        }
        for invalid in
            ["http://", "not a proxy", "socks5://proxy:1080", "ftp://proxy", "http://user:secret@", "/x"]
        {
            for (scheme, name) in [("https", "https_proxy"), ("http", "HTTP_PROXY"), ("http", "all_proxy")] {
                let error = check(scheme, name, invalid).unwrap_err().to_string();
                assert!(error.contains(name) && !error.contains("secret"), "{invalid}: {error}");
            }
        }
        assert!(check("https", "http_proxy", "not a proxy").is_ok(), "it is not used");
        let shown = |value: &str| check("https", "HTTPS_PROXY", value).unwrap().unwrap().to_string();
        assert_eq!(shown("http://user:secret@proxy:3128/"), "the proxy `proxy:3128` (HTTPS_PROXY)");
        assert_eq!(shown("nonsense"), "the proxy `nonsense` (HTTPS_PROXY)");
    }

    #[test]
    fn proxy_that_is_not_used_is_not_checked() {
        let check = |registry: &str, variables: &[(&str, &str)]| {
            find_proxy(&registry.parse().unwrap(), |name| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| value.into())
            })
        };
        let registry = "https://registry.example.com:5000/v2/";
        let socks = ("ALL_PROXY", "socks5://127.0.0.1:7891");
        check(registry, &[("HTTPS_PROXY", "http://127.0.0.1:7890"), socks]).unwrap();
        assert!(check(registry, &[("HTTP_PROXY", "http://127.0.0.1:7890"), socks]).is_err());
        assert!(check(registry, &[("HTTPS_PROXY", ""), socks]).is_err());
        for exempt in ["*", "example.com", ".example.com", "other.com, registry.example.com"] {
            let checked = check(registry, &[("no_proxy", exempt), socks]);
            checked.unwrap_or_else(|error| panic!("{exempt}: {error}"));
        }
        check("https://[2001:db8::1]:5000/v2/", &[("NO_PROXY", "2001:db8::/32"), socks]).unwrap();
        for other in ["", "example.org", "ample.com", "10.0.0.0/8"] {
            assert!(check(registry, &[("NO_PROXY", other), socks]).is_err(), "{other}");
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after("120"), Some(Duration::from_mins(2)));
        let date = retry_after("Tue, 31 Dec 2999 23:59:59 GMT").unwrap();
        assert!(date > Duration::from_hours(24));
        for invalid in ["", "soon", "-5", "Fri, 31 Dec 1999 23:59:59 GMT"] {
            assert_eq!(retry_after(invalid), None, "{invalid}");
        }
    }
}

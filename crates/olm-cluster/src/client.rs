//! A connection to a cluster: reads and writes objects of the kinds in [`kinds`](super::kinds).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use http::StatusCode;
use http::header::AUTHORIZATION;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::core::Request;
use kube::core::params::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Config};
use serde_json::Value;
use tracing::debug;

use super::credentials::{self, Credentials};
use super::kinds::Kind;
use super::snapshot::{Snapshot, name_of, namespace_of, string};
use kube_yaml::text::{excerpt, shortened, with_causes};
use oci_images::plain::transport_cause;
use oci_images::secrets::{Address, Secrets};
use olm_model::report::suggest;

/// The field manager of what this program applies.
pub const MANAGER: &str = "bundle-tool";

/// The maximum number of objects in one response.
const PAGE: u32 = 250;
/// The maximum number of objects in one response, if only their metadata is read.
const METADATA_PAGE: u32 = 1000;
/// The maximum number of responses for one list.
const MAX_PAGES: usize = 16;
/// The maximum size of a response in bytes: 250 CSVs of a quarter of a megabyte each.
const MAX_RESPONSE: usize = 64 << 20;
/// The maximum number of values in a response: 250 CSVs of a few thousand.
const MAX_RESPONSE_VALUES: usize = 1_500_000;
/// The maximum number of characters of an API server's message.
const MAX_MESSAGE: usize = 2000;
/// The maximum time for a request and its response.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// The maximum time to connect to the API server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum time between two parts of a response.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of requests that are sent at the same time.
const PARALLEL: usize = 16;

/// Why the cluster could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no usable configuration.
    #[error(
        "no cluster is configured: found neither a kubeconfig nor a service account; set KUBECONFIG or --kubeconfig"
    )]
    NoConfiguration,
    /// A kubeconfig cannot be used.
    #[error("failed to read kubeconfig {file}: {reason}")]
    Kubeconfig {
        /// The file, or several with a colon between them, as in `KUBECONFIG`.
        file: String,
        /// The reason, without anything that the file contains.
        reason: String,
    },
    /// A kubeconfig does not have the context that is to be used.
    #[error("kubeconfig {file} has no context `{context}`{known}")]
    Context {
        /// The file, or several with a colon between them.
        file: String,
        /// The context.
        context: String,
        /// The contexts that it has, for the end of the message.
        known: String,
    },
    /// The configuration cannot be used to connect.
    #[error("failed to use the configuration of the cluster {server}: {reason}")]
    Configuration {
        /// The API server.
        server: Address,
        /// The reason.
        reason: String,
    },
    /// The API server did not respond.
    #[error("the API server {server} does not respond: {reason}")]
    Unreachable {
        /// The API server.
        server: Address,
        /// The reason.
        reason: String,
    },
    /// The API server rejected a request.
    #[error("failed to {action}: {message}")]
    Rejected {
        /// What was to be done, such as ``create Subscription `x` ``.
        action: String,
        /// The API server's message.
        message: String,
        /// The HTTP status.
        code: u16,
    },
    /// The response could not be understood.
    #[error("failed to {action}: {reason}")]
    Response {
        /// What was to be done.
        action: String,
        /// The reason.
        reason: String,
    },
}

impl Error {
    /// Returns whether the object or the kind does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Rejected { code: 404, .. })
    }

    /// Returns whether the user may not do this.
    #[must_use]
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, Self::Rejected { code: 401 | 403, .. })
    }

    /// Returns whether the API server did not take the request, and may later.
    #[must_use]
    pub(crate) fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Rejected { code: 429 | 503 | 504, .. })
    }

    /// Returns whether the same request may succeed later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Rejected { code: 409 | 429 | 500.., .. })
    }
}

/// A connection to a cluster.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    server: Address,
    namespace: String,
    credentials: Arc<Credentials>,
}

/// Whether a write is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// The write is stored.
    Stored,
    /// The API server validates the write and does not store it.
    DryRun,
}

/// An object that was applied.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The object as stored.
    pub object: Value,
    /// Whether it did not exist before.
    pub is_new: bool,
}

impl Cluster {
    /// Connects to the cluster of a kubeconfig, of `KUBECONFIG`, of `~/.kube/config`, or to the one this program runs in.
    ///
    /// # Errors
    /// There is no configuration, or it cannot be used.
    pub async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self, Error> {
        let files = || match kubeconfig {
            Some(path) => path.display().to_string(),
            None => std::env::var("KUBECONFIG")
                .ok()
                .filter(|files| !files.is_empty())
                .unwrap_or_else(|| "~/.kube/config".to_owned()),
        };
        let secrets = Secrets::default();
        let invalid = |reason| Error::Kubeconfig { file: files(), reason };
        let unusable = |error, secrets: &Secrets| invalid(secrets.mask(&kubeconfig_reason(&error)));
        let options =
            KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        let mut config = if kubeconfig.is_some() || context.is_some() || has_kubeconfig() {
            let mut file = match kubeconfig {
                Some(path) => Kubeconfig::read_from(path),
                None => Kubeconfig::read(),
            }
            .map_err(|error| unusable(error, &secrets))?;
            // What `kubectl config unset` leaves.
            file.current_context = file.current_context.filter(|name| !name.is_empty());
            check_context(&file, context, files)?;
            credentials::resolve(&mut file, context, &secrets).map_err(invalid)?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|error| unusable(error, &secrets))?
        } else {
            Config::incluster().map_err(|_| Error::NoConfiguration)?
        };
        config.connect_timeout = Some(CONNECT_TIMEOUT);
        config.read_timeout = Some(READ_TIMEOUT);
        // A proxy may be that of the environment.
        if let Some(proxy) = &config.proxy_url {
            secrets.add_address(&Address::new(proxy.to_string()));
        }
        let server = Address::new(config.cluster_url.to_string());
        let namespace = config.default_namespace.clone();
        let configuration = |reason| Error::Configuration { server: server.clone(), reason };
        let credentials = Credentials::take(&mut config, secrets).await.map_err(configuration)?;
        // The user is in the credentials.
        if let Ok(url) = server.without_secrets().parse() {
            config.cluster_url = url;
        }
        let client = Client::try_from(config)
            .map_err(|error| configuration(credentials.secrets.mask(&configuration_reason(&error))))?;
        Ok(Self { client, server, namespace, credentials: Arc::new(credentials) })
    }

    /// Returns a connection through `client`.
    #[cfg(test)]
    pub(crate) fn through(client: Client) -> Self {
        let (server, namespace) = (Address::new("http://test"), "default".into());
        Self { client, server, namespace, credentials: Arc::new(Credentials::none()) }
    }

    /// Returns the namespace of the configuration's context.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the version of the API server, such as `1.34.1`.
    ///
    /// # Errors
    /// The API server does not respond.
    pub async fn version(&self) -> Result<String, Error> {
        let info = self.get_path("/version", "read the version of the API server").await?;
        Ok(string(&info, "/gitVersion").trim_start_matches('v').to_owned())
    }

    /// Returns a document of the API server, such as the resources of an API.
    ///
    /// # Errors
    /// It does not exist, or the API server does not respond.
    pub async fn get_path(&self, path: &str, action: &str) -> Result<Value, Error> {
        let request =
            http_get(path).map_err(|reason| Error::Response { action: action.to_owned(), reason })?;
        self.send(request, action).await
    }

    /// Returns an object; `None` if it or its kind does not exist.
    ///
    /// # Errors
    /// The API server does not respond, or rejects the request.
    pub async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Result<Option<Value>, Error> {
        let action = format!("read {} `{name}`", kind.kind);
        let request = Request::new(kind.path(Some(namespace))).get(name, &GetParams::default());
        match self.send_request(request, &action).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the objects of a kind; of all namespaces without one. A kind that does not exist has no objects.
    ///
    /// # Errors
    /// The API server does not respond, or rejects the request; or there are more than 4000 objects.
    pub async fn list(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        select: &Select<'_>,
    ) -> Result<Vec<Value>, Error> {
        self.pages(kind, namespace, select, Form::Whole).await?.complete()
    }

    /// Returns the metadata of all objects of a kind.
    ///
    /// # Errors
    /// The API server does not respond, or rejects the request; or there are more than 16000 objects.
    pub async fn list_metadata(&self, kind: Kind) -> Result<Vec<Value>, Error> {
        self.pages(kind, None, &Select::default(), Form::Metadata).await?.complete()
    }

    /// Reads the objects of a list, up to the limit.
    async fn pages(
        &self,
        kind: Kind,
        namespace: Option<&str>,
        select: &Select<'_>,
        form: Form,
    ) -> Result<Listed, Error> {
        let action = format!("list {}", kind.plural);
        let mut items = Vec::new();
        let mut token = None::<String>;
        for _ in 0..MAX_PAGES {
            let mut parameters = ListParams::default();
            if !select.labels.is_empty() {
                parameters = parameters.labels(select.labels);
            }
            if !select.fields.is_empty() {
                parameters = parameters.fields(select.fields);
            }
            if let Some(token) = &token {
                parameters = parameters.continue_token(token);
            }
            let request = Request::new(kind.path(namespace));
            let request = match form {
                Form::Whole => request.list(&parameters.limit(PAGE)),
                Form::Metadata => request.list_metadata(&parameters.limit(METADATA_PAGE)),
            };
            let mut page = match self.send_request(request, &action).await {
                Err(error) if error.is_not_found() => return Ok(Listed { items, rest: None }),
                other => other?,
            };
            items.extend(take_items(&mut page));
            token = continue_token(&page);
            if token.is_none() {
                return Ok(Listed { items, rest: None });
            }
        }
        let reason = format!("only the first {} objects were read, and there are more", items.len());
        Ok(Listed { items, rest: Some(Error::Response { action, reason }) })
    }

    /// Returns the metadata of the first objects of the collection at `path`, and how many objects there are.
    ///
    /// # Errors
    /// The API server does not respond, or rejects the request.
    pub(crate) async fn first_metadata(&self, path: &str, limit: u32, action: &str) -> Result<First, Error> {
        let request = Request::new(path).list_metadata(&ListParams::default().limit(limit));
        let mut page = self.send_request(request, action).await?;
        let items = take_items(&mut page);
        let more = match page.pointer("/metadata/remainingItemCount").and_then(Value::as_u64) {
            Some(remaining) => usize::try_from(remaining).ok(),
            None => continue_token(&page).is_none().then_some(0),
        };
        Ok(First { number: more.map(|more| items.len() + more), items })
    }

    /// Reads lists of several kinds at the same time. What may not be read, and what exceeds the limit of a list, is noted in the
    /// snapshot.
    ///
    /// # Errors
    /// The API server does not respond.
    pub async fn snapshot(&self, reads: &[(Kind, Option<&str>, Select<'_>)]) -> Result<Snapshot, Error> {
        let mut lists = stream::iter(reads)
            .map(|(kind, namespace, select)| async move {
                (*kind, self.pages(*kind, *namespace, select, Form::Whole).await)
            })
            .buffered(PARALLEL);
        let mut snapshot = Snapshot::default();
        while let Some((kind, list)) = lists.next().await {
            let missing = match list {
                Ok(Listed { items, rest }) => {
                    snapshot.extend(kind, items);
                    rest
                }
                Err(error @ Error::Unreachable { .. }) => return Err(error),
                Err(error) => Some(error),
            };
            if let Some(error) = missing {
                snapshot.unreadable.insert(kind.kind, error.to_string());
            }
        }
        snapshot.deduplicate();
        Ok(snapshot)
    }

    /// Applies an object on the server side, taking fields over from others.
    ///
    /// # Errors
    /// The API server rejects it, or does not respond.
    pub async fn apply(&self, kind: Kind, object: &Value, write: Write) -> Result<Applied, Error> {
        let name = name_of(object);
        let action = format!("create {} `{name}`", kind.kind);
        let mut parameters = PatchParams::apply(MANAGER).force();
        if write == Write::DryRun {
            parameters = parameters.dry_run();
        }
        let request = Request::new(kind.path(Some(namespace_of(object)))).patch(
            name,
            &parameters,
            &Patch::Apply(object),
        );
        let request =
            request.map_err(|error| Error::Response { action: action.clone(), reason: chain(&error) })?;
        let (status, text) = self.send_for_text(request, &action).await?;
        Ok(Applied { object: parse(&text, &action)?, is_new: status == StatusCode::CREATED })
    }

    /// Changes an object with a merge patch.
    ///
    /// # Errors
    /// The API server rejects it, or does not respond.
    pub async fn merge(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, Error> {
        let action = format!("change {} `{name}`", kind.kind);
        let parameters = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let request = Request::new(kind.path(Some(namespace))).patch(name, &parameters, &Patch::Merge(patch));
        self.send_request(request, &action).await
    }

    /// Deletes an object; returns whether it existed.
    ///
    /// # Errors
    /// The API server rejects the request, or does not respond.
    pub async fn delete(&self, kind: Kind, namespace: &str, name: &str) -> Result<bool, Error> {
        let action = format!("delete {} `{name}`", kind.kind);
        self.delete_at(&kind.path(Some(namespace)), name, &action).await
    }

    /// Creates an object of any kind in the collection at `path`, and returns it as stored or, in a dry run, as it would be stored. An
    /// object that exists is an error.
    ///
    /// # Errors
    /// The API server rejects the object, or does not respond.
    pub(crate) async fn create_at(
        &self,
        path: &str,
        object: &Value,
        action: &str,
        write: Write,
    ) -> Result<Value, Error> {
        let parameters = PostParams { field_manager: Some(MANAGER.into()), dry_run: write == Write::DryRun };
        let request = Request::new(path).create(&parameters, object.to_string().into_bytes());
        self.send_request(request, action).await
    }

    /// Deletes the object `name` of the collection at `path`; returns whether it existed.
    ///
    /// # Errors
    /// The API server rejects the request, or does not respond.
    pub(crate) async fn delete_at(&self, path: &str, name: &str, action: &str) -> Result<bool, Error> {
        let request = Request::new(path).delete(name, &DeleteParams::background());
        match self.send_request(request, action).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the last lines of a container's log: of its previous run if it is not running.
    ///
    /// # Errors
    /// There is no log, or the API server does not respond.
    pub async fn logs(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        lines: u16,
    ) -> Result<String, Error> {
        let path = format!(
            "{}/{pod}/log?container={container}&tailLines={lines}&limitBytes=16384",
            super::kinds::POD.path(Some(namespace))
        );
        let action = format!("read the log of pod `{pod}`");
        let mut last = Error::Response { action: action.clone(), reason: "there is no log".into() };
        for previous in ["", "&previous=true"] {
            let request = http_get(&format!("{path}{previous}"))
                .map_err(|reason| Error::Response { action: action.clone(), reason })?;
            match self.send_for_text(request, &action).await {
                Ok((_, text)) if !text.trim().is_empty() => return Ok(text),
                Ok(_) => {}
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Returns the log of a container, at most its first `limit` bytes.
    ///
    /// # Errors
    /// The container has not run, or the API server does not respond.
    pub async fn log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        limit: usize,
    ) -> Result<String, Error> {
        let path = super::kinds::POD.path(Some(namespace));
        let path = format!("{path}/{pod}/log?container={container}&limitBytes={limit}");
        let action = format!("read the log of pod `{pod}`");
        let request = http_get(&path).map_err(|reason| Error::Response { action: action.clone(), reason })?;
        self.send_for_text(request, &action).await.map(|(_, text)| text)
    }

    async fn send_request(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
        action: &str,
    ) -> Result<Value, Error> {
        let request =
            request.map_err(|error| Error::Response { action: action.to_owned(), reason: chain(&error) })?;
        self.send(request, action).await
    }

    async fn send(&self, request: http::Request<Vec<u8>>, action: &str) -> Result<Value, Error> {
        let (_, text) = self.send_for_text(request, action).await?;
        parse(&text, action)
    }

    /// Sends a request and returns the status and the text of the response, which has limits in bytes and time.
    async fn send_for_text(
        &self,
        mut request: http::Request<Vec<u8>>,
        action: &str,
    ) -> Result<(StatusCode, String), Error> {
        let secrets = &self.credentials.secrets;
        let unreachable = |reason: String| Error::Unreachable {
            server: self.server.clone(),
            reason: secrets.mask(&reason),
        };
        let header = self.credentials.header().await;
        let header = header.map_err(|reason| Error::Configuration { server: self.server.clone(), reason })?;
        if let Some(header) = header {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        let name = format!("{} {}", request.method(), secrets.mask(&request.uri().to_string()));
        let begin = Instant::now();
        let exchange = async {
            let response = self
                .client
                .send(request.map(Body::from))
                .await
                .map_err(|error| unreachable(transport_cause(&error)))?;
            let status = response.status();
            debug!("{name}: {status} after {} ms", begin.elapsed().as_millis());
            let body = Limited::new(response.into_body(), MAX_RESPONSE).collect().await;
            let body = body.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
                Some(_) => Error::Response {
                    action: action.to_owned(),
                    reason: format!("the response exceeds the limit of {MAX_RESPONSE} bytes"),
                },
                None => unreachable(transport_cause(error.as_ref())),
            })?;
            Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
        };
        let (status, text) = tokio::time::timeout(REQUEST_TIMEOUT, exchange).await.map_err(|_| {
            unreachable(format!("no response within {} seconds", REQUEST_TIMEOUT.as_secs()))
        })??;
        if status.is_success() {
            Ok((status, text))
        } else {
            Err(rejected(status.as_u16(), &secrets.mask(&text), action))
        }
    }
}

/// Which parts of the objects of a list are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Whole,
    Metadata,
}

/// The objects of a list that were read.
struct Listed {
    items: Vec<Value>,
    /// That there are more.
    rest: Option<Error>,
}

impl Listed {
    /// Returns the objects, if these are all.
    fn complete(self) -> Result<Vec<Value>, Error> {
        self.rest.map_or(Ok(self.items), Err)
    }
}

/// The first objects of a collection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct First {
    /// The objects, with their metadata alone.
    pub items: Vec<Value>,
    /// The number of all objects; `None` if it is unknown.
    pub number: Option<usize>,
}

/// Takes the objects out of a list.
fn take_items(page: &mut Value) -> Vec<Value> {
    match page.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Returns the token for the rest of a list.
fn continue_token(page: &Value) -> Option<String> {
    Some(string(page, "/metadata/continue").to_owned()).filter(|token| !token.is_empty())
}

/// Parses a response.
fn parse(text: &str, action: &str) -> Result<Value, Error> {
    kube_yaml::json::from_slice_within(text.as_bytes(), MAX_RESPONSE_VALUES)
        .map_err(|error| Error::Response { action: action.to_owned(), reason: chain(&error) })
}

/// Returns the error that a response with this status and text stands for.
fn rejected(code: u16, text: &str, action: &str) -> Error {
    let status: Value = kube_yaml::json::from_str(text).unwrap_or_default();
    let message = ["/message", "/reason"].into_iter().map(|field| string(&status, field));
    let message = message.chain([text.trim()]).find(|message| !message.is_empty());
    let message = message.map_or_else(
        || format!("HTTP status {code}"),
        |message| shortened(message, MAX_MESSAGE).into_owned(),
    );
    Error::Rejected { action: action.to_owned(), message, code }
}

/// What a list is limited to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Select<'s> {
    /// Label selector.
    pub labels: &'s str,
    /// Field selector.
    pub fields: &'s str,
}

/// Returns whether a kubeconfig exists where kube looks for one.
fn has_kubeconfig() -> bool {
    if std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty()) {
        return true;
    }
    std::env::var_os("HOME").is_some_and(|home| PathBuf::from(home).join(".kube/config").exists())
}

/// Fails if a kubeconfig does not have the context that is to be used.
fn check_context(
    kubeconfig: &Kubeconfig,
    context: Option<&str>,
    file: impl FnOnce() -> String,
) -> Result<(), Error> {
    // Without any, there is an error of its own.
    let Some(wanted) = context.or(kubeconfig.current_context.as_deref()) else { return Ok(()) };
    let known = kubeconfig.contexts.iter().map(|context| context.name.as_str());
    if known.clone().any(|name| name == wanted) {
        return Ok(());
    }
    let known = suggest::or_known(wanted, "its contexts are", known);
    Err(Error::Context { file: file(), context: excerpt(wanted).into_owned(), known })
}

/// Returns why a kubeconfig cannot be used. The parser's own message quotes the lines around an error, which may have tokens.
fn kubeconfig_reason(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(place) => {
                format!("not a valid kubeconfig at line {}, column {}", place.line(), place.column())
            }
            None => "not a valid kubeconfig".to_owned(),
        },
        KubeconfigError::ReadConfig(error, _) => error.to_string(),
        other => chain(other),
    }
}

fn http_get(path: &str) -> Result<http::Request<Vec<u8>>, String> {
    http::Request::get(path).body(Vec::new()).map_err(|error| error.to_string())
}

/// Returns why a configuration cannot be used.
fn configuration_reason(error: &kube::Error) -> String {
    match error {
        kube::Error::ProxyProtocolDisabled { proxy_url, .. }
        | kube::Error::ProxyProtocolUnsupported { proxy_url } => {
            format!(
                "the proxy {proxy_url} cannot be used: proxies are not supported; unset proxy-url and HTTPS_PROXY"
            )
        }
        other => chain(other),
    }
}

/// Returns an error with its causes, without the name of kube's own wrapper.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let text = with_causes(error);
    text.strip_prefix("ServiceError: ").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::StreamBody;
    use hyper::body::{Bytes, Frame};
    use serde_json::json;

    use super::*;
    use crate::kinds::POD;

    /// A cluster that responds with the same parts for ever, each after a time.
    fn endless(part: Vec<u8>, after: Duration) -> Cluster {
        let part = Bytes::from(part);
        let service = tower::service_fn(move |_: http::Request<Body>| {
            let parts = stream::repeat(part.clone()).then(move |part| async move {
                tokio::time::sleep(after).await;
                Ok::<_, Infallible>(Frame::data(part))
            });
            async { Ok::<_, Infallible>(http::Response::new(StreamBody::new(parts.boxed()))) }
        });
        Cluster::through(Client::new(service, "default"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_never_ends_is_an_error() {
        let cluster = endless(vec![b' '; 1 << 20], Duration::ZERO);
        let error = cluster.get(POD, "default", "a").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed to read Pod `a`: the response exceeds the limit of 67108864 bytes"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_drips_is_an_error() {
        let error = endless(vec![b' '], Duration::from_secs(5)).get(POD, "default", "a").await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the API server http://test does not respond: no response within 60 seconds"
        );
    }

    /// A cluster with more objects of every kind than are read.
    fn overfull() -> Cluster {
        let service = tower::service_fn(|_: http::Request<Body>| {
            let page = json!({"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "a"}}]});
            async move { Ok::<_, Infallible>(http::Response::new(Body::from(page.to_string().into_bytes()))) }
        });
        Cluster::through(Client::new(service, "default"))
    }

    #[tokio::test]
    async fn a_list_that_is_not_complete_is_an_error_or_noted() {
        let expected = "failed to list pods: only the first 16 objects were read, and there are more";
        let cluster = overfull();
        assert_eq!(cluster.list(POD, None, &Select::default()).await.unwrap_err().to_string(), expected);
        assert_eq!(cluster.list_metadata(POD).await.unwrap_err().to_string(), expected);
        let snapshot = cluster.snapshot(&[(POD, None, Select::default())]).await.unwrap();
        assert_eq!(snapshot.objects(POD).len(), 1);
        assert_eq!(snapshot.unread(&[POD]), Some(expected));
    }

    #[tokio::test]
    async fn the_number_of_objects_is_what_the_api_server_says() {
        for (metadata, expected) in [
            (json!({}), Some(1)),
            (json!({"continue": "more", "remainingItemCount": 41}), Some(42)),
            (json!({"continue": "more"}), None),
        ] {
            let page = json!({"metadata": metadata, "items": [{}]}).to_string();
            let service = tower::service_fn(move |request: http::Request<Body>| {
                assert_eq!(request.uri().query(), Some("&limit=1"));
                assert!(request.headers()["accept"].to_str().unwrap().contains("PartialObjectMetadataList"));
                let page = page.clone();
                async { Ok::<_, Infallible>(http::Response::new(Body::from(page.into_bytes()))) }
            });
            let cluster = Cluster::through(Client::new(service, "default"));
            assert_eq!(cluster.first_metadata("/apis/a/v1/b", 1, "list").await.unwrap().number, expected);
        }
    }

    #[test]
    fn response_of_too_many_values_is_an_error() {
        let text = format!("[{}0]", "0,".repeat(MAX_RESPONSE_VALUES));
        let error = parse(&text, "list pods").unwrap_err().to_string();
        assert_eq!(error, "failed to list pods: more than 1500000 values");
    }

    #[test]
    fn a_rejection_has_the_servers_message() {
        let rejection = |text: &str| rejected(403, text, "read Pod `a`").to_string();
        assert_eq!(rejection(r#"{"message": "forbidden"}"#), "failed to read Pod `a`: forbidden");
        assert_eq!(rejection(r#"{"message": "", "reason": "Denied"}"#), "failed to read Pod `a`: Denied");
        assert_eq!(rejection("<html>"), "failed to read Pod `a`: <html>");
        assert_eq!(rejection(""), "failed to read Pod `a`: HTTP status 403");
    }
}

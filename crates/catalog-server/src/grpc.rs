//! The services of the registry over gRPC: `api.Registry`, `api.ExperimentalRegistry`, health checking and reflection.
//!
//! Source: `pkg/server/server.go` and `cmd/opm/serve/serve.go` of operator-registry; `server.go` of grpc-go for unknown
//! methods.

use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Buf as _, BufMut as _, Bytes};
use futures::future::BoxFuture;
use futures::{Stream, StreamExt as _, stream};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use limited_http::RequestBody;
use prost::Message;
use tokio::task::spawn_blocking;
use tonic::body::Body;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::server::{Grpc, ServerStreamingService, StreamingService, UnaryService};
use tonic::{Status, Streaming};

use super::proto::{HealthCheckResponse, Names, PackageName, ReflectionRequest, SERVING};
use super::query::{Api, Catalog, QueryError, quoted};
use super::reflection::Reflection;
use super::state::CatalogState;

/// The maximum size of a request's message in bytes: requests hold a few names.
const MAX_REQUEST: usize = 32 << 10;

/// How many bytes of messages are collected before they are sent.
const BUFFER: usize = 8 << 10;

/// The header without which experimental methods return nothing.
const ACKNOWLEDGE: &str = "x-acknowledge-experimental";

type Reply<T> = Result<T, Status>;
type Messages = Pin<Box<dyn Stream<Item = Reply<Bytes>> + Send>>;

impl From<QueryError> for Status {
    /// Go's errors have no code: `opm` returns `UNKNOWN` for everything that is not found.
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::NotFound(message) => Self::unknown(message),
            QueryError::Index(error) => Self::internal(error.to_string()),
        }
    }
}

/// Passes messages through as bytes: what is sent was encoded before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Reply<()> {
        out.reserve(item.len());
        out.put(item);
        Ok(())
    }

    // Each call of a client that does not read holds a buffer.
    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(BUFFER, 2 * BUFFER)
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, input: &mut DecodeBuf<'_>) -> Reply<Option<Bytes>> {
        Ok(Some(input.copy_to_bytes(input.remaining())))
    }
}

fn decoded<M: Message + Default>(message: Bytes) -> Reply<M> {
    M::decode(message).map_err(|error| Status::internal(format!("failed to decode the request: {error}")))
}

fn encoded(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

/// Reads of the index may wait for the disk, and decompress data, so they do not run on the threads that serve connections.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> Reply<T> + Send + 'static) -> Reply<T> {
    spawn_blocking(read).await.unwrap_or_else(|error| Err(Status::internal(error.to_string())))
}

type Read<T> = Arc<dyn Fn(Bytes) -> Reply<T> + Send + Sync>;

/// A method with one message in and one out.
struct Unary(Read<Bytes>);

impl UnaryService<Bytes> for Unary {
    type Response = Bytes;
    type Future = BoxFuture<'static, Reply<tonic::Response<Bytes>>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let (read, message) = (Arc::clone(&self.0), request.into_inner());
        Box::pin(async move { blocking(move || read(message)).await.map(tonic::Response::new) })
    }
}

/// A method with one message in and a stream of messages out.
struct Listing(Read<Messages>);

impl ServerStreamingService<Bytes> for Listing {
    type Response = Bytes;
    type ResponseStream = Messages;
    type Future = BoxFuture<'static, Reply<tonic::Response<Messages>>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let (read, message) = (Arc::clone(&self.0), request.into_inner());
        Box::pin(async move { blocking(move || read(message)).await.map(tonic::Response::new) })
    }
}

/// A method that answers each message with one.
struct Conversation(Box<dyn FnMut(Streaming<Bytes>) -> Messages + Send>);

impl StreamingService<Bytes> for Conversation {
    type Response = Bytes;
    type ResponseStream = Messages;
    type Future = Ready<Reply<tonic::Response<Messages>>>;

    fn call(&mut self, request: tonic::Request<Streaming<Bytes>>) -> Self::Future {
        ready(Ok(tonic::Response::new((self.0)(request.into_inner()))))
    }
}

fn all<T>(items: Vec<T>, encode: impl Fn(T) -> Bytes + Send + 'static) -> Messages
where
    T: Send + 'static,
{
    Box::pin(stream::iter(items.into_iter().map(move |item| Ok(encode(item)))))
}

/// The methods that are counted by name.
const METHODS: &[&str] = &[
    "ListPackages",
    "ListBundles",
    "GetPackage",
    "GetBundle",
    "GetBundleForChannel",
    "GetBundleThatReplaces",
    "GetDefaultBundleThatProvides",
    "GetChannelEntriesThatReplace",
    "GetChannelEntriesThatProvide",
    "GetLatestChannelEntriesThatProvide",
    "ExperimentalListPackageCustomSchemas",
    "Check",
    "ServerReflectionInfo",
];

/// Answers a request and counts it.
pub(crate) async fn answer(state: &CatalogState, request: Request<RequestBody>) -> Response<Body> {
    let called = request.uri().path().rsplit('/').next().unwrap_or_default();
    let method = METHODS.iter().copied().find(|method| *method == called).unwrap_or("other");
    // A client that does not read its answers delays other reads of the catalog until its connection is closed, but not health checks.
    let slot = if request.uri().path().starts_with("/api.") {
        Arc::clone(state.answers()).acquire_owned().await.ok()
    } else {
        None
    };
    let response = respond(state.snapshot().catalog, request).await;
    let response = response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _held_until_the_answer_is_sent = &slot;
            frame
        }))
    });
    // Where the whole response is a status, it is in the headers; a stream that fails later was begun with success.
    let code = response.headers().get("grpc-status").and_then(|code| code.to_str().ok()?.parse().ok());
    state.metrics().grpc(method, code.unwrap_or(0));
    response
}

async fn respond(catalog: Arc<Catalog>, request: Request<RequestBody>) -> Response<Body> {
    let is_grpc = request.headers().get(http::header::CONTENT_TYPE).is_some_and(|value| {
        let rest = value.to_str().ok().and_then(|value| value.strip_prefix("application/grpc"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
    });
    if !is_grpc || request.method() != http::Method::POST {
        return not_grpc(&request);
    }
    let path = request.uri().path();
    let path = path.strip_prefix('/').unwrap_or(path).to_owned();
    let Some((service, method)) = path.rsplit_once('/') else {
        let message = format!("malformed method name: {}", quoted(request.uri().path()));
        return Status::unimplemented(message).into_http();
    };
    let mut grpc = Grpc::new(RawCodec).max_decoding_message_size(MAX_REQUEST);
    match service {
        "api.Registry" => registry(&mut grpc, method, catalog, request).await,
        "api.ExperimentalRegistry" => match method {
            "ExperimentalListPackageCustomSchemas" => {
                let headers = request.headers().clone();
                let list = move |message: Bytes| custom(&catalog, &headers, message);
                grpc.server_streaming(Listing(Arc::new(list)), request).await
            }
            _ => unknown(service, method),
        },
        "grpc.health.v1.Health" => match method {
            "Check" => {
                // Where nothing can be answered yet, nothing listens.
                let check = |_: Bytes| Ok(encoded(&HealthCheckResponse { status: SERVING }));
                grpc.unary(Unary(Arc::new(check)), request).await
            }
            "Watch" | "List" => Status::unimplemented(format!("method {method} not implemented")).into_http(),
            _ => unknown(service, method),
        },
        "grpc.reflection.v1.ServerReflection" | "grpc.reflection.v1alpha.ServerReflection" => match method {
            "ServerReflectionInfo" => grpc.streaming(Conversation(Box::new(reflect)), request).await,
            _ => unknown(service, method),
        },
        _ => Status::unimplemented(format!("unknown service {service}")).into_http(),
    }
}

async fn registry(
    grpc: &mut Grpc<RawCodec>,
    method: &str,
    catalog: Arc<Catalog>,
    request: Request<RequestBody>,
) -> Response<Body> {
    match method {
        "ListPackages" => {
            let list = move |_: Bytes| {
                let names = catalog.packages().map(|name| name.map(str::to_owned));
                let names = names.collect::<Result<Vec<_>, _>>()?;
                Ok(all(names, |name| encoded(&PackageName { name })))
            };
            grpc.server_streaming(Listing(Arc::new(list)), request).await
        }
        "ListBundles" => {
            let list = move |_: Bytes| {
                let catalog = Arc::clone(&catalog);
                // Each is read when the client has room for it.
                let bundles = stream::iter(0..catalog.listed_bundles()).then(move |number| {
                    let catalog = Arc::clone(&catalog);
                    blocking(move || Ok(catalog.listed_bundle(number).map(Bytes::from)?))
                });
                Ok(Box::pin(bundles) as Messages)
            };
            grpc.server_streaming(Listing(Arc::new(list)), request).await
        }
        "GetChannelEntriesThatReplace"
        | "GetChannelEntriesThatProvide"
        | "GetLatestChannelEntriesThatProvide" => {
            let method = method.to_owned();
            let list = move |message: Bytes| {
                let names: Names = decoded(message)?;
                let entries = match method.as_str() {
                    "GetChannelEntriesThatReplace" => catalog.entries_that_replace(&names.first)?,
                    "GetChannelEntriesThatProvide" => catalog.entries_that_provide(api(&names))?,
                    _ => catalog.latest_entries_that_provide(api(&names))?,
                };
                Ok(all(entries, |entry| encoded(&entry)))
            };
            grpc.server_streaming(Listing(Arc::new(list)), request).await
        }
        "GetPackage"
        | "GetBundle"
        | "GetBundleForChannel"
        | "GetBundleThatReplaces"
        | "GetDefaultBundleThatProvides" => {
            let method = method.to_owned();
            let get = move |message: Bytes| {
                let names: Names = decoded(message)?;
                let Names { first, second, third, .. } = &names;
                Ok(match method.as_str() {
                    "GetPackage" => encoded(&catalog.package(first)?),
                    "GetBundle" => catalog.bundle(first, second, third)?.into(),
                    "GetBundleForChannel" => catalog.channel_head(first, second)?.into(),
                    "GetBundleThatReplaces" => catalog.bundle_that_replaces(first, second, third)?.into(),
                    _ => catalog.default_bundle_that_provides(api(&names))?.into(),
                })
            };
            grpc.unary(Unary(Arc::new(get)), request).await
        }
        _ => unknown("api.Registry", method),
    }
}

fn api(names: &Names) -> Api<'_> {
    Api { group: &names.first, version: &names.second, kind: &names.third }
}

fn unknown(service: &str, method: &str) -> Response<Body> {
    Status::unimplemented(format!("unknown method {method} for service {service}")).into_http()
}

/// The answer to what HTTP/2 carries, but gRPC does not.
fn not_grpc(request: &Request<RequestBody>) -> Response<Body> {
    let content_type = request.headers().get(http::header::CONTENT_TYPE);
    let content_type =
        content_type.map(|value| String::from_utf8_lossy(value.as_bytes())).unwrap_or_default();
    let (status, message) = if request.method() == http::Method::POST {
        let message = format!("invalid gRPC request content-type {}", quoted(&content_type));
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    } else {
        (StatusCode::METHOD_NOT_ALLOWED, "gRPC requests use the method POST".to_owned())
    };
    let mut response = Status::invalid_argument(message).into_http();
    *response.status_mut() = status;
    response
}

/// The documents of other schemas: nothing without the header with which clients accept that the method may change.
fn custom(catalog: &Arc<Catalog>, headers: &HeaderMap, message: Bytes) -> Reply<Messages> {
    if headers.get(ACKNOWLEDGE).is_none_or(|value| value != "true") {
        return Ok(Box::pin(stream::empty()));
    }
    let Names { first: schema, second: package, .. } = decoded(message)?;
    if schema.is_empty() {
        return Err(Status::invalid_argument("schema is required"));
    }
    for (what, value) in [("schema", &schema), ("packageName", &package)] {
        let is_valid = value.starts_with(|first: char| first.is_ascii_alphanumeric())
            && value.chars().all(|char| char.is_ascii_alphanumeric() || "._-".contains(char));
        if !is_valid && !value.is_empty() {
            let message = format!(
                "invalid custom schema query: invalid {what} {}: must match ^[a-zA-Z0-9][a-zA-Z0-9._-]*$",
                quoted(value)
            );
            return Err(Status::invalid_argument(message));
        }
    }
    let found = catalog.custom(&schema, &package)?;
    let catalog = Arc::clone(catalog);
    let messages = stream::iter(found).then(move |number| {
        let catalog = Arc::clone(&catalog);
        blocking(move || Ok(catalog.custom_message(number).map(Bytes::from)?))
    });
    Ok(Box::pin(messages))
}

fn reflect(requests: Streaming<Bytes>) -> Messages {
    let mut reflection = Reflection::default();
    Box::pin(requests.map(move |request| {
        let request: ReflectionRequest = decoded(request?)?;
        Ok(encoded(&reflection.answer(request)))
    }))
}

//! One connection, driven by hyper until it ends or a limit is exceeded.

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::Arc;

use hyper::body::{Body, Incoming};
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
#[cfg(feature = "http2")]
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::TokioIo;
#[cfg(feature = "http2")]
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::activity::{Activity, CLOSING_TIMEOUT, InFlight};
use crate::body::{RequestBody, ResponseBody};
use crate::error::{ConnectionError, Timeout};
use crate::limits::Limits;
use crate::stream::TrackedStream;

/// The maximum number of header lines in a request.
const MAX_HEADERS: usize = 100;

/// The smallest buffer for the head of a request that hyper has.
const MIN_HEAD_BYTES: usize = 8 << 10;

/// The size of HTTP/2's preface and of the head of the first frame in bytes.
#[cfg(feature = "http2")]
const HTTP2_SETUP: usize = 24 + 9;

/// The maximum number of bytes that one HTTP/2 connection, and each request on it, may send before a handler reads them. It is
/// the protocol's default.
#[cfg(feature = "http2")]
const HTTP2_WINDOW: u32 = (1 << 16) - 1;

/// How often an HTTP/2 client is asked whether it is still there, and how long it may take to reply.
#[cfg(feature = "http2")]
const HTTP2_PING: std::time::Duration = std::time::Duration::from_mins(1);
#[cfg(feature = "http2")]
const HTTP2_PING_REPLY: std::time::Duration = std::time::Duration::from_secs(20);

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    #[cfg(feature = "http2")]
    Http2,
}

/// What all connections of a server share.
#[derive(Debug)]
pub(crate) struct Shared<H> {
    pub(crate) handler: H,
    pub(crate) limits: Limits,
    pub(crate) protocol: Protocol,
    /// The requests that may begin.
    pub(crate) requests: Arc<Semaphore>,
}

impl<H> Shared<H> {
    pub(crate) fn new(handler: H, limits: Limits, protocol: Protocol) -> Self {
        let requests = Arc::new(Semaphore::new(limits.requests.min(Semaphore::MAX_PERMITS)));
        Self { handler, limits, protocol, requests }
    }

    /// Serves one connection until it ends. If `stop` becomes true, it accepts no further request.
    pub(crate) async fn serve<S, F, B>(
        self: Arc<Self>,
        stream: S,
        stop: watch::Receiver<bool>,
    ) -> Result<(), ConnectionError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        H: Fn(Request<RequestBody>) -> F + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let limits = &self.limits;
        let setup = match self.protocol {
            Protocol::Http1 => None,
            #[cfg(feature = "http2")]
            Protocol::Http2 => Some(HTTP2_SETUP),
        };
        let activity = Activity::new(setup);
        let stream = TokioIo::new(TrackedStream::new(stream, Arc::clone(&activity)));
        let service = {
            let (activity, shared) = (Arc::clone(&activity), Arc::clone(&self));
            service_fn(move |request: Request<Incoming>| {
                let (in_flight, shared) = (activity.begin(), Arc::clone(&shared));
                async move { Ok::<_, Infallible>(shared.respond(in_flight, request).await) }
            })
        };
        match self.protocol {
            Protocol::Http1 => {
                let connection = http1::Builder::new()
                    // The limits are its own.
                    .header_read_timeout(None)
                    .max_headers(MAX_HEADERS)
                    .max_buf_size((limits.head_bytes as usize).max(MIN_HEAD_BYTES))
                    .serve_connection(stream, service);
                let close = |connection: Pin<&mut http1::Connection<_, _>>| {
                    // hyper would wait for a first request.
                    let is_unused = activity.is_unused();
                    connection.graceful_shutdown();
                    is_unused
                };
                drive(pin!(connection), close, &activity, limits, stop).await
            }
            #[cfg(feature = "http2")]
            Protocol::Http2 => {
                let connection = http2::Builder::new(TokioExecutor::new())
                    .timer(TokioTimer::new())
                    .max_concurrent_streams(limits.requests_per_connection)
                    .max_header_list_size(limits.head_bytes)
                    .initial_stream_window_size(HTTP2_WINDOW)
                    .initial_connection_window_size(HTTP2_WINDOW)
                    .max_send_buf_size(HTTP2_WINDOW as usize)
                    .keep_alive_interval(HTTP2_PING)
                    .keep_alive_timeout(HTTP2_PING_REPLY)
                    .serve_connection(stream, service);
                let close = |connection: Pin<&mut http2::Connection<_, _, _>>| {
                    connection.graceful_shutdown();
                    false
                };
                drive(pin!(connection), close, &activity, limits, stop).await
            }
        }
    }

    /// Returns the response of the handler, or of the server if a limit is exceeded.
    async fn respond<F, B>(
        &self,
        mut in_flight: InFlight,
        request: Request<Incoming>,
    ) -> Response<ResponseBody<B>>
    where
        H: Fn(Request<RequestBody>) -> F,
        F: Future<Output = Response<B>>,
        B: Body,
    {
        let version = request.version();
        match timeout(self.limits.header_timeout, Arc::clone(&self.requests).acquire_owned()).await {
            Ok(Ok(permit)) => in_flight.permit = Some(permit),
            _ => return without_body(StatusCode::SERVICE_UNAVAILABLE, version, in_flight),
        }
        let response = (self.handler)(request.map(|body| RequestBody::new(body, &self.limits)));
        let response = match self.limits.response_timeout {
            None => response.await,
            Some(limit) => match timeout(limit, response).await {
                Ok(response) => response,
                Err(_) => return without_body(StatusCode::REQUEST_TIMEOUT, version, in_flight),
            },
        };
        response.map(|body| ResponseBody::new(Some(body), in_flight))
    }
}

/// Returns a response after which an HTTP/1 connection is closed: the rest of the request is not waited for.
fn without_body<B: Body>(
    status: StatusCode,
    version: Version,
    in_flight: InFlight,
) -> Response<ResponseBody<B>> {
    let mut response = Response::new(ResponseBody::new(None, in_flight));
    *response.status_mut() = status;
    if version <= Version::HTTP_11 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Runs a connection until it ends or exceeds a limit. `close` tells it to accept no further request, and returns whether it
/// can be dropped.
async fn drive<C: Future<Output = hyper::Result<()>>>(
    mut connection: Pin<&mut C>,
    close: impl Fn(Pin<&mut C>) -> bool,
    activity: &Activity,
    limits: &Limits,
    mut stop: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    // No limit that begins later is exceeded sooner than this, so it is enough to look once in this time.
    let mut interval = limits.header_timeout.min(limits.idle_timeout).min(limits.write_timeout);
    let started = Instant::now();
    let mut closing = None;
    loop {
        let now = Instant::now();
        let deadline = activity.deadline(limits, closing);
        if let Some((_, timeout)) = deadline.filter(|(deadline, _)| *deadline <= now) {
            return match timeout {
                Timeout::Idle if closing.is_some() => Ok(()),
                timeout => Err(ConnectionError::Timeout(timeout)),
            };
        }
        let next = deadline.map_or(now + interval, |(deadline, _)| deadline.min(now + interval));
        let aged = async {
            match limits.max_age {
                Some(age) => sleep_until(started + age).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            result = connection.as_mut() => return match result {
                // A client may hang up as soon as it hears that the connection closes.
                Err(_) if closing.is_some() && activity.is_unused() => Ok(()),
                result => result.map_err(ConnectionError::Http),
            },
            // A server that is gone stops, too.
            _ = stop.wait_for(|stop| *stop), if closing.is_none() => {}
            () = aged, if closing.is_none() => {}
            () = sleep_until(next) => continue,
        }
        if close(connection.as_mut()) {
            return Ok(());
        }
        closing = Some(Instant::now());
        interval = interval.min(CLOSING_TIMEOUT);
    }
}

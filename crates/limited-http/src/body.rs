//! Bodies of requests, which must arrive in time, and of responses, which report when the client stops reading them.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::activity::InFlight;
use crate::limits::Limits;

/// The maximum size of a frame of a response in bytes. Larger ones are divided: hyper copies whole frames to its buffer for the
/// connection, which a client that reads nothing would occupy. Over HTTP/2, the client's progress is noticed by them.
const MAX_FRAME: usize = 16 << 10;

/// The body of a request. Reading it fails if the bytes arrive too slowly.
#[derive(Debug)]
pub struct RequestBody {
    incoming: Incoming,
    timeout: Duration,
    rate: u32,
    bytes: u64,
    /// How long the handler has waited for bytes, without the present time.
    waited: Duration,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    sleep: Pin<Box<Sleep>>,
}

/// Why the body of a request is not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestBodyError {
    /// The bytes arrive too slowly.
    #[error("the request body arrives too slowly")]
    TooSlow,
    /// The client broke the protocol, or the connection broke.
    #[error("the request body is incomplete")]
    Incomplete(#[source] hyper::Error),
}

impl RequestBody {
    pub(crate) fn new(incoming: Incoming, limits: &Limits) -> Self {
        Self {
            incoming,
            timeout: limits.body_timeout,
            rate: limits.body_rate,
            bytes: 0,
            waited: Duration::ZERO,
            waiting: None,
        }
    }

    /// Returns how long the handler may wait for the next bytes.
    fn patience(&self) -> Duration {
        if self.rate == 0 {
            return self.timeout;
        }
        let earned = Duration::from_millis(self.bytes.saturating_mul(1000) / u64::from(self.rate));
        self.timeout.min((self.timeout.saturating_add(earned)).saturating_sub(self.waited))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = RequestBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestBodyError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.incoming).poll_frame(context) {
            if let Some(Waiting { since, .. }) = this.waiting.take() {
                this.waited += since.elapsed();
            }
            if let Some(Ok(frame)) = &frame {
                this.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(RequestBodyError::Incomplete)));
        }
        let patience = this.patience();
        let waiting = this.waiting.get_or_insert_with(|| {
            let since = Instant::now();
            Waiting { since, sleep: Box::pin(sleep_until(since + patience)) }
        });
        ready!(waiting.sleep.as_mut().poll(context));
        Poll::Ready(Some(Err(RequestBodyError::TooSlow)))
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// The body of a response as hyper sends it. Only [`Server`](crate::Server) makes one.
pub struct ResponseBody<B: Body> {
    /// `None` for a response of the server itself, without a body.
    body: Option<Pin<Box<B>>>,
    /// The rest of a frame of which a part was returned.
    rest: Option<B::Data>,
    in_flight: InFlight,
}

impl<B: Body> ResponseBody<B> {
    pub(crate) fn new(body: Option<B>, in_flight: InFlight) -> Self {
        Self { body: body.map(Box::pin), rest: None, in_flight }
    }

    /// Returns the next frame, of at most [`MAX_FRAME`] bytes.
    fn divide(&mut self, mut data: B::Data) -> Frame<Bytes> {
        let frame = data.copy_to_bytes(data.remaining().min(MAX_FRAME));
        self.rest = Some(data).filter(Buf::has_remaining);
        if self.in_flight.is_multiplexed() {
            self.in_flight.unread(true);
        }
        Frame::data(frame)
    }
}

impl<B: Body> std::fmt::Debug for ResponseBody<B> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ResponseBody").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

// The body is pinned on its own, and its data are never pinned.
impl<B: Body> Unpin for ResponseBody<B> {}

impl<B: Body> Body for ResponseBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        if let Some(data) = this.rest.take() {
            return Poll::Ready(Some(Ok(this.divide(data))));
        }
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        this.in_flight.unread(false);
        let frame = ready!(body.as_mut().poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            Ok(match frame?.into_data() {
                Ok(data) => this.divide(data),
                Err(frame) => match frame.into_trailers() {
                    Ok(trailers) => Frame::trailers(trailers),
                    // A frame is one of the two.
                    Err(_) => Frame::data(Bytes::new()),
                },
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none() && self.body.as_ref().is_none_or(|body| Body::is_end_stream(&**body))
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint =
            self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), |body| Body::size_hint(&**body));
        let rest = self.rest.as_ref().map_or(0, |rest| rest.remaining() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(hint.lower().saturating_add(rest));
        hint
    }
}

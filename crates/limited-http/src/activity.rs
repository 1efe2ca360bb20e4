//! What a connection does at the moment and since when. Streams and bodies report to it; the task of the connection asks it
//! which limit is exceeded.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::error::Timeout;
use crate::limits::Limits;

/// How long a connection without requests may stay open once it accepts no further ones.
pub(crate) const CLOSING_TIMEOUT: Duration = Duration::from_secs(1);

/// The activity of one connection.
#[derive(Debug)]
pub(crate) struct Activity {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The number of bytes until an HTTP/2 connection is set up; `None` for HTTP/1.
    setup: Option<usize>,
    /// Whether no byte has arrived.
    is_silent: bool,
    /// When the first byte of a request's head, or of the setup, arrived; `None` before, and when it is complete.
    head: Option<Instant>,
    /// The number of requests in progress.
    requests: usize,
    /// When the number of requests became 0, or the connection began.
    idle: Instant,
    /// When the stream accepted no further bytes.
    blocked: Option<Instant>,
    /// When the client stopped reading the response to a request of HTTP/2; those that wait for their handler are not included.
    /// An HTTP/1 client that does not read blocks the stream.
    unread: BTreeMap<u64, Instant>,
    next_request: u64,
}

impl Activity {
    /// Returns the activity of a new connection. HTTP/2 is set up when the client has sent a number of bytes.
    pub(crate) fn new(setup: Option<usize>) -> Arc<Self> {
        let state = State {
            setup,
            is_silent: true,
            head: None,
            requests: 0,
            idle: Instant::now(),
            blocked: None,
            unread: BTreeMap::new(),
            next_request: 0,
        };
        Arc::new(Self { state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes have arrived.
    pub(crate) fn received(&self, bytes: usize) {
        let mut state = self.state();
        state.is_silent = false;
        match state.setup {
            // Bytes of HTTP/1 are those of a request, if none is in progress.
            None if state.requests == 0 => _ = state.head.get_or_insert_with(Instant::now),
            Some(left) if left > 0 => {
                let left = left.saturating_sub(bytes);
                state.setup = Some(left);
                if left > 0 {
                    state.head.get_or_insert_with(Instant::now);
                } else {
                    state.head = None;
                    state.idle = Instant::now();
                }
            }
            // Those of HTTP/2 may be anything, for example replies to pings.
            None | Some(_) => {}
        }
    }

    /// The stream accepts no bytes, or does again.
    pub(crate) fn blocked(&self, is_blocked: bool) {
        let mut state = self.state();
        state.blocked = is_blocked.then(|| state.blocked.unwrap_or_else(Instant::now));
        if !is_blocked && state.requests == 0 {
            state.idle = Instant::now();
        }
    }

    /// The head of a request is complete.
    pub(crate) fn begin(self: &Arc<Self>) -> InFlight {
        let mut state = self.state();
        state.requests += 1;
        state.head = None;
        let number = state.next_request;
        state.next_request += 1;
        let is_multiplexed = state.setup.is_some();
        InFlight { activity: Arc::clone(self), number, is_multiplexed, permit: None }
    }

    /// Returns whether the connection is between two requests, of which no byte of the next one has arrived.
    pub(crate) fn is_unused(&self) -> bool {
        let state = self.state();
        state.requests == 0 && state.head.is_none() && state.blocked.is_none()
    }

    /// Returns the limit that is exceeded first if nothing happens, and when. `closing` is when the connection was told to
    /// accept no further requests.
    pub(crate) fn deadline(&self, limits: &Limits, closing: Option<Instant>) -> Option<(Instant, Timeout)> {
        let state = self.state();
        let stalled = state.unread.values().chain(&state.blocked).min();
        let write = stalled.map(|&since| (since + limits.write_timeout, Timeout::Write));
        if state.requests > 0 || state.blocked.is_some() {
            return write;
        }
        if let Some(head) = state.head {
            return Some((head + limits.header_timeout, Timeout::Header));
        }
        let patience = if state.is_silent { limits.first_byte_timeout } else { limits.idle_timeout };
        let idle = state.idle + patience;
        let closing = closing.map(|closing| closing.max(state.idle) + CLOSING_TIMEOUT);
        Some((closing.map_or(idle, |closing| closing.min(idle)), Timeout::Idle))
    }
}

/// A request in progress, until its response is dropped.
#[derive(Debug)]
pub(crate) struct InFlight {
    activity: Arc<Activity>,
    number: u64,
    is_multiplexed: bool,
    /// Its part of [`Limits::requests`].
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

impl InFlight {
    /// Returns whether the client may read the response and others of the same connection independently.
    pub(crate) fn is_multiplexed(&self) -> bool {
        self.is_multiplexed
    }

    /// A part of the response waits for the client to read it, or the client has read it.
    pub(crate) fn unread(&self, is_unread: bool) {
        let mut state = self.activity.state();
        if is_unread {
            state.unread.insert(self.number, Instant::now());
        } else {
            state.unread.remove(&self.number);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        state.unread.remove(&self.number);
        state.requests -= 1;
        if state.requests == 0 {
            state.idle = Instant::now();
        }
    }
}

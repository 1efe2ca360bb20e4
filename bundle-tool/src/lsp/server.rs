//! The life of a server: messages come from one thread, validations are done on another one, and the caller's keeps the
//! state and writes.

use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use super::item::{Failure, Validated};
use super::message::{Code, Message, RpcError, response};
use super::session::{Done, Job, Session};
use super::transport::{self, Frame, MAX_MESSAGE, TransportError};
use olm_model::disk::format::Root;
use olm_model::disk::overlay::Overlay;

/// Validates a bundle or a catalog with the texts of open documents.
pub type Validate = Box<dyn Fn(&Root, &Overlay) -> Result<Validated, Failure> + Send>;

/// How many messages are read ahead.
const READ_AHEAD: usize = 8;

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client asked for it: `shutdown`, then `exit` or the end of the stream.
    Orderly,
    /// The client exited or closed a stream without `shutdown`.
    Abrupt,
}

/// Input of the main loop: a client message, the end of the input, or a finished job.
enum Event {
    Message(Result<Message, (Value, RpcError)>),
    /// A message that was skipped: the error, and how it begins.
    Skipped(RpcError, Vec<u8>),
    Closed(Result<(), TransportError>),
    Done(Done),
}

/// Phase of the protocol: before `initialize`, running, or after `shutdown`.
enum Phase {
    Started,
    Running(Box<Session>),
    ShutDown,
}

/// Serves one client until it exits or closes its stream.
///
/// # Errors
/// The input cannot be read or is not the protocol's, the output cannot be written, or a thread cannot be started.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: &mut impl Write,
    validate: Validate,
) -> Result<End, TransportError> {
    let (events, received) = mpsc::sync_channel(READ_AHEAD);
    let (jobs, todo) = mpsc::channel::<Job>();
    let done = events.clone();
    spawn("lsp-reader", move || read(input, &events))?;
    spawn("lsp-worker", move || {
        for job in todo {
            if done.send(Event::Done(job.run(&*validate))).is_err() {
                return;
            }
        }
    })?;
    let mut phase = Phase::Started;
    let mut is_busy = false;
    loop {
        let due = match &mut phase {
            Phase::Running(session) if !is_busy => {
                if let Some(job) = session.next_job(Instant::now()) {
                    is_busy = jobs.send(job).is_ok();
                }
                session.next_due().filter(|_| !is_busy)
            }
            _ => None,
        };
        if let Phase::Running(session) = &mut phase
            && !written(output, session.outgoing.drain(..))?
        {
            return Ok(End::Abrupt);
        }
        match next(&received, due) {
            None => {}
            Some(Event::Done(result)) => {
                is_busy = false;
                if let Phase::Running(session) = &mut phase {
                    session.done(result);
                }
            }
            Some(Event::Closed(result)) => {
                result?;
                return Ok(if matches!(phase, Phase::ShutDown) { End::Orderly } else { End::Abrupt });
            }
            Some(Event::Skipped(error, head)) => {
                if let Phase::Running(session) = &mut phase {
                    session.skip(&head);
                }
                if !written(output, [response(&Value::Null, Err(error))].into_iter())? {
                    return Ok(End::Abrupt);
                }
            }
            Some(Event::Message(message)) => match handle(message, &mut phase) {
                Handled::Exit(end) => return Ok(end),
                Handled::Answer(answer) => {
                    if !written(output, answer.into_iter())? {
                        return Ok(End::Abrupt);
                    }
                }
            },
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), TransportError> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map(drop).map_err(TransportError::Thread)
}

/// Reads messages until the stream ends or nobody waits for them.
fn read(mut input: impl BufRead, events: &SyncSender<Event>) {
    loop {
        let event = match transport::read(&mut input) {
            Ok(Frame::Body(body)) => Event::Message(Message::parse(&body)),
            Ok(Frame::TooLarge(size, head)) => {
                let message = format!("the message of {size} bytes exceeds the limit of {MAX_MESSAGE} bytes");
                Event::Skipped(RpcError::new(Code::InvalidRequest, message), head)
            }
            Ok(Frame::End) => Event::Closed(Ok(())),
            Err(error) => Event::Closed(Err(error)),
        };
        let is_last = matches!(event, Event::Closed(_));
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Waits for the next event, or returns `None` when something is due first.
fn next(events: &Receiver<Event>, due: Option<Instant>) -> Option<Event> {
    let Some(due) = due else { return Some(events.recv().unwrap_or(Event::Closed(Ok(())))) };
    match events.recv_timeout(due.saturating_duration_since(Instant::now())) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => Some(Event::Closed(Ok(()))),
    }
}

enum Handled {
    Answer(Vec<Value>),
    Exit(End),
}

fn handle(message: Result<Message, (Value, RpcError)>, phase: &mut Phase) -> Handled {
    let error = |id: &Value, code, message: &str| {
        Handled::Answer(vec![response(id, Err(RpcError::new(code, message)))])
    };
    match (message, &mut *phase) {
        (Err((id, error)), _) => Handled::Answer(vec![response(&id, Err(error))]),
        (Ok(Message::Notification { method, .. }), phase) if method == "exit" => {
            Handled::Exit(if matches!(phase, Phase::ShutDown) { End::Orderly } else { End::Abrupt })
        }
        (Ok(Message::Request { id, method, params }), Phase::Started) if method == "initialize" => {
            let (session, result) = Session::begin(&params);
            *phase = Phase::Running(Box::new(session));
            Handled::Answer(vec![response(&id, Ok(result))])
        }
        (Ok(Message::Request { id, .. }), Phase::Started) => {
            error(&id, Code::ServerNotInitialized, "expected the request `initialize` first")
        }
        (Ok(Message::Request { id, method, .. }), Phase::Running(_)) if method == "initialize" => {
            error(&id, Code::InvalidRequest, "the server is already initialized")
        }
        (Ok(Message::Request { id, method, .. }), Phase::Running(session)) if method == "shutdown" => {
            session.end();
            let mut answers = std::mem::take(&mut session.outgoing);
            answers.push(response(&id, Ok(Value::Null)));
            *phase = Phase::ShutDown;
            Handled::Answer(answers)
        }
        (Ok(Message::Request { id, method, params }), Phase::Running(session)) => {
            session.request(id, &method, params);
            Handled::Answer(Vec::new())
        }
        (Ok(Message::Request { id, .. }), Phase::ShutDown) => {
            error(&id, Code::InvalidRequest, "the server is shut down: expected `exit`")
        }
        (Ok(Message::Notification { method, params }), Phase::Running(session)) => {
            session.notification(&method, params);
            Handled::Answer(Vec::new())
        }
        (Ok(Message::Notification { .. } | Message::Response), _) => Handled::Answer(Vec::new()),
    }
}

/// Writes messages; returns whether the client reads them.
fn written(output: &mut impl Write, messages: impl Iterator<Item = Value>) -> Result<bool, TransportError> {
    for message in messages {
        match transport::write(output, &message) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
            result => result.map_err(TransportError::Write)?,
        }
    }
    Ok(true)
}

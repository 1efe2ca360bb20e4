//! Messages on a stream: a header with the length, and a body in JSON.
//!
//! The crate `lsp-server` would allocate whatever length a header announces, and end the session at a message that is too large
//! or not valid; here such a message is skipped and answered with an error.

use std::io::{self, BufRead, Read as _, Write};

/// The maximum size of a message in bytes. A client sends the whole text of a document with each change.
pub const MAX_MESSAGE: u64 = 80 << 20;

/// How many bytes are kept of a message that is too large: enough for the document that it is about.
const HEAD: u64 = 16 << 10;

/// The maximum size of all lines of a header in bytes.
const MAX_HEADER: u64 = 4 << 10;

/// Why no more messages can be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The stream cannot be read.
    #[error("failed to read a message")]
    Read(#[source] io::Error),
    /// The stream cannot be written.
    #[error("failed to write a message")]
    Write(#[source] io::Error),
    /// The system has no thread left.
    #[error("failed to start a thread")]
    Thread(#[source] io::Error),
    /// What begins is no message, so that it is unknown where the next one does.
    #[error("invalid header `{0}`: expected `Content-Length: N`, as an editor sends it")]
    Header(String),
    /// The header does not say how long the body is.
    #[error("missing header `Content-Length`")]
    MissingLength,
    /// The header does not end.
    #[error("the header of a message exceeds the limit of {MAX_HEADER} bytes")]
    LongHeader,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// The body of a message.
    Body(Vec<u8>),
    /// A message that is too large and was skipped: its size, and how it begins.
    TooLarge(u64, Vec<u8>),
    /// The end of the stream.
    End,
}

/// Reads one message. A body that ends early is the end of the stream.
pub(crate) fn read(stream: &mut impl BufRead) -> Result<Frame, TransportError> {
    let mut length = None;
    let mut left = MAX_HEADER;
    loop {
        let mut line = Vec::new();
        let read = stream.by_ref().take(left).read_until(b'\n', &mut line).map_err(TransportError::Read)?;
        if read == 0 && left > 0 {
            return Ok(Frame::End);
        }
        left -= read as u64;
        let Some(line) = line.strip_suffix(b"\n") else {
            return if left == 0 { Err(TransportError::LongHeader) } else { Ok(Frame::End) };
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            break;
        }
        let text = String::from_utf8_lossy(line);
        let invalid = || TransportError::Header(text.to_string());
        let (name, value) = text.split_once(':').ok_or_else(invalid)?;
        if name.eq_ignore_ascii_case("Content-Length") {
            length = Some(value.trim().parse::<u64>().map_err(|_| invalid())?);
        }
    }
    let length = length.ok_or(TransportError::MissingLength)?;
    let mut body = stream.by_ref().take(length);
    if length > MAX_MESSAGE {
        let mut head = Vec::new();
        body.by_ref().take(HEAD).read_to_end(&mut head).map_err(TransportError::Read)?;
        io::copy(&mut body, &mut io::sink()).map_err(TransportError::Read)?;
        return Ok(Frame::TooLarge(length, head));
    }
    // The memory that is taken grows with what is there, not with what is announced.
    let mut bytes = Vec::new();
    body.read_to_end(&mut bytes).map_err(TransportError::Read)?;
    Ok(if bytes.len() as u64 == length { Frame::Body(bytes) } else { Frame::End })
}

/// Writes one message.
pub(crate) fn write(stream: &mut impl Write, message: &serde_json::Value) -> io::Result<()> {
    let body = message.to_string();
    write!(stream, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(mut text: &[u8]) -> Vec<String> {
        let mut frames = Vec::new();
        loop {
            match read(&mut text) {
                Ok(Frame::Body(body)) => frames.push(String::from_utf8(body).unwrap()),
                Ok(Frame::TooLarge(length, head)) => {
                    frames.push(format!("too large: {length} ({} kept)", head.len()));
                }
                Ok(Frame::End) => return frames,
                Err(error) => {
                    frames.push(error.to_string());
                    return frames;
                }
            }
        }
    }

    #[test]
    fn messages_are_read_until_the_stream_ends() {
        let text =
            "Content-Length: 2\r\n\r\n{}content-length:1\nContent-Type: x\n\n1Content-Length: 5\r\n\r\n{}";
        assert_eq!(frames(text.as_bytes()), ["{}", "1"]);
        assert_eq!(frames(b""), Vec::<String>::new());
        assert_eq!(frames(b"Content-Le"), Vec::<String>::new());
        let expected = "expected `Content-Length: N`, as an editor sends it";
        assert_eq!(frames(b"hello\n"), [format!("invalid header `hello`: {expected}")]);
        assert_eq!(frames(b"\r\n\r\n"), ["missing header `Content-Length`"]);
        assert_eq!(
            frames(b"Content-Length: -1\r\n\r\n"),
            [format!("invalid header `Content-Length: -1`: {expected}")]
        );
    }

    #[test]
    fn headers_and_bodies_have_limits() {
        let text = format!("Content-Length: {}\r\n\r\n{{}}", u64::MAX);
        assert_eq!(frames(text.as_bytes()), [format!("too large: {} (2 kept)", u64::MAX)]);
        let text = format!("Content-Length: {MAX_MESSAGE}\r\n\r\n{{}}");
        assert_eq!(frames(text.as_bytes()), Vec::<String>::new());
        let long = "the header of a message exceeds the limit of 4096 bytes";
        assert_eq!(frames("a".repeat(5000).as_bytes()), [long]);
        assert_eq!(frames("a: b\r\n".repeat(1000).as_bytes()), [long]);
    }
}

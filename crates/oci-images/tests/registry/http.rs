//! HTTP over a plain socket, so that a test decides what is sent.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn body_text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Returns the code of the first error in the body.
    pub(crate) fn code(&self) -> String {
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        body["errors"][0]["code"].as_str().unwrap().to_owned()
    }
}

/// Sends a request. `headers` are whole lines; a `host` line replaces the usual one.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &[u8],
) -> Response {
    let mut lines = vec![format!("{method} {path} HTTP/1.1")];
    if !headers.iter().any(|header| header.starts_with("host:")) {
        lines.push(format!("host: {address}"));
    }
    lines.push("connection: close".to_owned());
    lines.push(format!("content-length: {}", body.len()));
    lines.extend(headers.iter().map(|header| (*header).to_owned()));
    let mut bytes = (lines.join("\r\n") + "\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    let head = method == "HEAD";
    tokio::task::spawn_blocking(move || exchange(address, &bytes, head)).await.unwrap()
}

/// Sends `bytes` as they are and returns everything that the server sends until it closes the connection.
pub(crate) async fn send_raw(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.to_vec();
    tokio::task::spawn_blocking(move || {
        let mut stream = connect(address);
        stream.write_all(&bytes).unwrap();
        read_to_close(stream)
    })
    .await
    .unwrap()
}

/// Opens a connection that does not wait for ever.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(crate::LONG)).unwrap();
    stream
}

/// Reads until the server closes the connection, be it with or without unread bytes of the request.
pub(crate) fn read_to_close(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
    bytes
}

fn exchange(address: SocketAddr, request: &[u8], head: bool) -> Response {
    let mut stream = connect(address);
    // A server that rejects a request need not read all of it.
    let _ = stream.write_all(request);
    let answer = read_to_close(stream);
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head_text = String::from_utf8(answer[..end].to_vec()).unwrap();
    let mut lines = head_text.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .map(|line| line.split_once(':').unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut body = answer[end + 4..].to_vec();
    if headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked") {
        body = unchunk(&body);
    } else if let (Some(length), false) = (headers.get("content-length"), head) {
        assert_eq!(length.parse::<usize>().unwrap(), body.len(), "content-length is wrong");
    }
    Response { status, headers, body }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
}

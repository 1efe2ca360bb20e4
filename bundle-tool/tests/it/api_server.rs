//! A mock API server over HTTP, for commands that use a cluster.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A server that responds to `METHOD /path` (without the query) as a function says: a status and a body. With status 0, it closes
/// the connection instead. The method of a dry run of `PATCH` is `DRY-RUN`.
pub(crate) struct ApiServer {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ApiServer {
    /// Starts a server on loopback; it ends with the test's process.
    pub(crate) fn start(
        respond: impl Fn(&str, &str) -> (u16, serde_json::Value) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, respond) = (requests.clone(), Arc::new(respond));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, respond) = (seen.clone(), respond.clone());
                std::thread::spawn(move || answer(stream, &seen, &*respond));
            }
        });
        Self { address, requests }
    }

    /// Writes a kubeconfig.
    pub(crate) fn kubeconfig(&self, path: &Path) {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
             clusters: [{{name: a, cluster: {{server: \"http://{}\"}}}}]\nusers: [{{name: a, user: {{}}}}]\n",
            self.address
        );
        std::fs::write(path, text).unwrap();
    }

    /// Returns the requests so far: `GET /path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Answers one request, and closes the connection.
fn answer(
    stream: TcpStream,
    seen: &Mutex<Vec<String>>,
    respond: &dyn Fn(&str, &str) -> (u16, serde_json::Value),
) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    let mut length = 0;
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut parts = first.split_whitespace();
    let (method, target) = (parts.next().unwrap(), parts.next().unwrap());
    let path = target.split('?').next().unwrap();
    let is_dry_run = method == "PATCH" && target.contains("dryRun=All");
    let request = format!("{} {path}", if is_dry_run { "DRY-RUN" } else { method });
    seen.lock().unwrap().push(request.clone());
    let (status, value) = respond(&request, &String::from_utf8_lossy(&body));
    if status == 0 {
        return;
    }
    let text = value.to_string();
    let mut stream = reader.into_inner();
    // The client may be gone.
    let _ = write!(
        stream,
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
}

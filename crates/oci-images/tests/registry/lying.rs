//! A registry that lies: one image, and one way to serve it wrongly.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use futures::StreamExt;
use oci_images::layout::{Image, sha256};

/// What is wrong with the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Nothing.
    None,
    /// Half of a blob is sent, with the length of all of it.
    BrokenOff,
    /// Half of a blob is sent, with the length of that half.
    Shortened,
    /// A blob has the right length and the wrong bytes.
    Changed,
    /// A blob never ends.
    Endless,
    /// A manifest requested by digest is another one.
    OtherManifest,
    /// After a push the tag names something else.
    OtherTag,
    /// Every request but those to `/v2/` is answered with this status the first time.
    First(u16),
    /// Every request but those to `/v2/` is answered with this status.
    Always(u16),
    /// The first upload breaks off without an answer.
    ResetOnce,
    /// Everything requires the user `user` with the password `secret`.
    Basic,
    /// Everything requires a token, which `user` with the password `secret` gets.
    Bearer,
    /// The token contains characters that a header must not contain.
    BadToken,
}

/// The requests: method and path.
type Log = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Liar {
    lie: Lie,
    address: SocketAddr,
    /// Blobs and manifests by their digests, manifests by their tags too.
    content: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    count: Arc<AtomicUsize>,
    log: Log,
}

/// Serves `image`, if any, under every name and the tag `v1`, until the tests end.
pub(crate) async fn serve(lie: Lie, image: Option<&Image>) -> (SocketAddr, Log) {
    let mut content = BTreeMap::new();
    if let Some(image) = image {
        for blob in image.blobs().chain([image.manifest()]) {
            let mut bytes = Vec::new();
            blob.open().unwrap().read_to_end(&mut bytes).unwrap();
            content.insert(blob.digest().to_string(), bytes);
        }
        content.insert("v1".into(), content[image.digest().as_ref()].clone());
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let log = Log::default();
    let content = Arc::new(Mutex::new(content));
    let liar = Liar { lie, address, content, count: Arc::default(), log: Arc::clone(&log) };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handle).with_state(liar)).await });
    (address, log)
}

async fn handle(State(liar): State<Liar>, request: Request) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let query = request.uri().query().unwrap_or_default().to_owned();
    let line = format!("{method} {path}?{query}");
    let first = !liar.log.lock().unwrap().contains(&line);
    liar.log.lock().unwrap().push(line);
    let authorization =
        request.headers().get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    // The base64 of user:secret.
    let basic = authorization.as_deref() == Some("Basic dXNlcjpzZWNyZXQ=");
    match liar.lie {
        Lie::Basic if !basic => return challenge("Basic realm=\"test\""),
        Lie::Bearer | Lie::BadToken if path == "/token" => {
            if !basic {
                return status(401);
            }
            assert!(query.contains("scope=repository%3Aa%3Apull"), "{query}");
            let token = if liar.lie == Lie::BadToken { "to\\nken" } else { "token" };
            return Response::new(Body::from(format!("{{\"token\":\"{token}\"}}")));
        }
        Lie::Bearer | Lie::BadToken if authorization.as_deref() != Some("Bearer token") => {
            return challenge(&format!("Bearer realm=\"http://{}/token\",service=\"test\"", liar.address));
        }
        Lie::First(code) if path != "/v2/" && first => return status(code),
        Lie::Always(code) if path != "/v2/" => return status(code),
        _ => {}
    }
    if path == "/v2/" {
        return status(200);
    }
    if path.contains("/referrers/") {
        return status(404);
    }
    let last = path.rsplit('/').next().unwrap().to_owned();
    match (method, path.contains("/manifests/")) {
        (Method::GET | Method::HEAD, true) => liar.manifest(&last),
        (Method::PUT, true) => {
            let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap().to_vec();
            let mut content = liar.content.lock().unwrap();
            content.insert(sha256(&bytes).to_string(), bytes.clone());
            content.insert(last, if liar.lie == Lie::OtherTag { b"{}".to_vec() } else { bytes });
            with_location(201, &path)
        }
        (Method::GET | Method::HEAD, false) => liar.blob(&last),
        (Method::POST, _) => with_location(202, "/v2/a/blobs/uploads/one"),
        (Method::PUT, false) => {
            if liar.lie == Lie::ResetOnce && liar.count.fetch_add(1, Ordering::SeqCst) == 0 {
                let broken = futures::stream::iter([Err::<Bytes, _>(std::io::Error::other("reset"))]);
                return Response::new(Body::from_stream(broken));
            }
            let bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap().to_vec();
            let digest = query.split("digest=").nth(1).unwrap().replace("%3A", ":");
            assert_eq!(digest, sha256(&bytes).to_string(), "the client sent other bytes");
            liar.content.lock().unwrap().insert(digest, bytes);
            with_location(201, &path)
        }
        _ => status(405),
    }
}

impl Liar {
    fn manifest(&self, reference: &str) -> Response {
        let Some(mut bytes) = self.content.lock().unwrap().get(reference).cloned() else {
            return status(404);
        };
        if self.lie == Lie::OtherManifest && reference.starts_with("sha256:") {
            bytes.push(b'\n');
        }
        let digest = sha256(&bytes);
        let mut response = Response::new(Body::from(bytes));
        let headers = response.headers_mut();
        headers.insert("docker-content-digest", digest.as_ref().parse().unwrap());
        headers.insert(header::CONTENT_TYPE, "application/vnd.oci.image.manifest.v1+json".parse().unwrap());
        response
    }

    fn blob(&self, digest: &str) -> Response {
        let Some(mut bytes) = self.content.lock().unwrap().get(digest).cloned() else { return status(404) };
        let whole = bytes.len();
        match self.lie {
            Lie::BrokenOff => {
                bytes.truncate(whole / 2);
                let chunks = [Ok(Bytes::from(bytes)), Err(std::io::Error::other("gone"))];
                let mut response = Response::new(Body::from_stream(futures::stream::iter(chunks)));
                response.headers_mut().insert(header::CONTENT_LENGTH, whole.to_string().parse().unwrap());
                response
            }
            Lie::Shortened => {
                bytes.truncate(whole / 2);
                Response::new(Body::from(bytes))
            }
            Lie::Changed => {
                bytes[whole / 2] ^= 1;
                Response::new(Body::from(bytes))
            }
            Lie::Endless => {
                let chunks = futures::stream::repeat(Bytes::from(bytes)).map(Ok::<_, std::io::Error>);
                Response::new(Body::from_stream(chunks))
            }
            _ => Response::new(Body::from(bytes)),
        }
    }
}

fn status(code: u16) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

fn challenge(text: &str) -> Response {
    let mut response = status(401);
    response.headers_mut().insert(header::WWW_AUTHENTICATE, text.parse().unwrap());
    response
}

fn with_location(code: u16, path: &str) -> Response {
    let mut response = status(code);
    response.headers_mut().insert(header::LOCATION, path.parse().unwrap());
    response
}

//! The client against a hostile registry: endless, stalled, greedy for credentials.

use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oci_images::layout::{Contents, Image, sha256};
use oci_images::registry::{
    Backoff, Error, IdleTimeout, Options, Progress, Pushed, Repository, Resolver, Timeout, pull,
};

use crate::raw::{self, Log, Reply, Request, close, endless, endless_head, reply, stall};
use crate::{LONG, anonymous, image, options, reference};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Memory that the client may hold of one response, buffers of the system included.
const BUFFERED: u64 = 24 << 20;
const NO_PAUSE: Duration = Duration::ZERO;

pub(crate) fn bundle() -> Image {
    static BUNDLE: OnceLock<Image> = OnceLock::new();
    let files = [("manifests/a.yaml", "kind: A"), ("metadata/annotations.yaml", "annotations: {}")];
    BUNDLE.get_or_init(|| image(&[&files])).clone()
}

/// The answers of a registry that has [`bundle`] as `a:v1` and accepts every push.
pub(crate) fn good(request: &Request) -> Reply {
    let bundle = bundle();
    let path = request.path.split('?').next().unwrap();
    let last = path.rsplit('/').next().unwrap();
    let manifest = bundle.manifest().document().unwrap();
    let digest = sha256(&manifest).to_string();
    match (request.method.as_str(), path) {
        ("HEAD", path) if path.contains("/blobs/") => reply(404, &[], b""),
        ("POST", _) => reply(202, &[("location", "/v2/a/blobs/uploads/1")], b""),
        ("PUT", _) => reply(201, &[], b""),
        (_, "/v2/") => reply(200, &[], b"{}"),
        ("HEAD", _) => {
            close(format!("HTTP/1.1 200 OK\r\ndocker-content-digest: {digest}\r\n\r\n").as_bytes())
        }
        (_, path) if path.contains("/manifests/") => {
            reply(200, &[("content-type", MANIFEST), ("docker-content-digest", &digest)], &manifest)
        }
        _ => match bundle.blobs().find(|blob| blob.digest().as_ref() == last) {
            None => reply(404, &[], b""),
            Some(blob) => {
                let mut bytes = Vec::new();
                blob.open().unwrap().read_to_end(&mut bytes).unwrap();
                reply(200, &[], &bytes)
            }
        },
    }
}

/// A registry that answers requests for paths with `part` otherwise.
async fn except(
    part: &'static str,
    other: impl Fn(SocketAddr, &Request) -> Reply + Send + Sync + 'static,
) -> (SocketAddr, Log) {
    raw::serve(
        None,
        move |address, request| {
            if request.path.contains(part) { other(address, request) } else { good(request) }
        },
    )
    .await
}

fn impatient() -> Options {
    let mut options = options();
    options.idle_timeout = IdleTimeout(Duration::from_secs(3));
    options
}

/// `user` with the password `hunter2` at `address`.
fn credentials(address: SocketAddr) -> (tempfile::TempDir, Resolver) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("auth.json");
    fs::write(&file, format!(r#"{{"auths":{{"{address}":{{"username":"user","password":"hunter2"}}}}}}"#))
        .unwrap();
    let value = file.into_os_string();
    let resolver =
        Resolver::from_variables(move |name| (name == "REGISTRY_AUTH_FILE").then(|| value.clone()));
    (directory, resolver)
}

/// The base64 of `user:hunter2`.
const BASIC: &str = "Basic dXNlcjpodW50ZXIy";

pub(crate) async fn try_pull(
    address: SocketAddr,
    options: &Options,
    resolver: &Resolver,
) -> Result<Contents, Error> {
    let (name, progress) = (reference(address, "a:v1"), Progress::hidden());
    let pulled = pull(&name, options, resolver, &progress);
    tokio::time::timeout(LONG, pulled).await.expect("the pull does not end")
}

pub(crate) async fn try_push(
    address: SocketAddr,
    options: &Options,
    resolver: &Resolver,
) -> Result<Pushed, Error> {
    let push = async {
        let repository = Repository::for_writing(&reference(address, "a:v1"), options, resolver).await?;
        repository.push(&bundle(), None, &Progress::hidden()).await
    };
    tokio::time::timeout(LONG, push).await.expect("the push does not end")
}

/// Requires `authorization` for everything but the token server.
pub(crate) fn challenge(request: &Request, authorization: &str, challenge: &str) -> Option<Reply> {
    let is_open =
        request.path.starts_with("/token") || request.header("authorization") == Some(authorization);
    (!is_open).then(|| reply(401, &[("www-authenticate", challenge)], b""))
}

fn bearer(address: SocketAddr) -> String {
    format!("Bearer realm=\"http://{address}/token\",service=\"x\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_these_tests_are_valid() {
    let (address, _) = except("nothing", |_, _| unreachable!()).await;
    try_pull(address, &options(), &anonymous()).await.unwrap();
    assert_eq!(try_push(address, &options(), &anonymous()).await.unwrap().sent, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_never_end_are_cut_off_at_their_limits() {
    let part = vec![b'x'; 64 << 10];
    let manifest = part.clone();
    let (address, log) = except("/manifests/", move |_, _| endless(200, &[], &manifest, NO_PAUSE)).await;
    let error = try_pull(address, &options(), &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit, .. } if limit == 4 << 20), "{error}");
    assert!(error.to_string().contains("/manifests/v1"), "{error}");
    assert!(log.sent() < BUFFERED, "{} bytes were read", log.sent());

    for status in [400, 401, 403, 404, 405] {
        let body = part.clone();
        let (address, log) = except("/manifests/", move |_, _| endless(status, &[], &body, NO_PAUSE)).await;
        try_pull(address, &options(), &anonymous()).await.unwrap_err();
        assert!(log.sent() < BUFFERED, "{status}: {} bytes were read", log.sent());
    }
    for digest in bundle().blobs().map(|blob| blob.digest().to_string()) {
        let body = part.clone();
        let (address, log) = except("/blobs/", move |_, request| {
            if request.path.contains(&digest) { endless(200, &[], &body, NO_PAUSE) } else { good(request) }
        })
        .await;
        let error = try_pull(address, &options(), &anonymous()).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
        assert!(log.sent() < BUFFERED, "{} bytes were read", log.sent());
    }
    let (address, log) = raw::serve(None, move |address, request| {
        if request.path.starts_with("/token") {
            return endless(200, &[], b"{\"token\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", NO_PAUSE);
        }
        challenge(request, "Bearer token", &bearer(address)).unwrap_or_else(|| good(request))
    })
    .await;
    let error = try_pull(address, &options(), &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Token { .. }), "{error}");
    assert!(error.to_string().contains("65536 bytes"), "{error}");
    assert!(log.sent() < BUFFERED, "{} bytes were read", log.sent());
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_never_end_are_cut_off() {
    let (address, log) = except("/manifests/", |_, _| endless_head(&[b'x'; 4096], NO_PAUSE)).await;
    let error = try_pull(address, &options(), &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    assert!(log.sent() < BUFFERED, "{} bytes were read", log.sent());
}

#[tokio::test(flavor = "multi_thread")]
async fn registry_that_stalls_or_drips_is_given_up() {
    let drip = Duration::from_millis(20);
    let headers = "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n";
    let replies: [(&str, Reply); 5] = [
        ("nothing", stall(b"")),
        ("half a head", stall(b"HTTP/1.1 200 OK\r\n")),
        ("no body", stall(headers.as_bytes())),
        ("a dripping body", endless(200, &[], b" ", drip)),
        ("a dripping head", endless_head(b"x", drip)),
    ];
    let cases = replies.into_iter().flat_map(|(name, answer)| {
        ["/v2/", "/manifests/", "/blobs/"].map(|part| (name, answer.clone(), part))
    });
    let all = cases.map(|(name, answer, part)| async move {
        let (address, log) = except(part, move |_, _| answer.clone()).await;
        let error = try_pull(address, &impatient(), &anonymous()).await.unwrap_err();
        assert!(matches!(error, Error::Stalled { .. }), "{name} {part}: {error}");
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("within 3 s"), "{name}: {text}");
        assert!(text.contains("idle timeout"), "{name}: {text}");
        // The body of the first request is not read.
        if !(part == "/v2/" && name.contains("body")) {
            assert_eq!(log.count(part), 2, "{name} {part}: retried once");
        }
    });
    futures::future::join_all(all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn token_server_that_stalls_is_given_up() {
    let (address, log) = raw::serve(None, move |address, request| match request.path.as_str() {
        path if path.starts_with("/token") => stall(b""),
        _ => challenge(request, "Bearer token", &bearer(address)).unwrap_or_else(|| good(request)),
    })
    .await;
    let error = try_pull(address, &impatient(), &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Stalled { .. }), "{error}");
    assert!(error.to_string().contains("/token"), "{error}");
    assert_eq!(log.count("/token"), 2, "retried once, by one of the layers of retries");
}

#[tokio::test(flavor = "multi_thread")]
async fn upload_that_is_never_answered_is_given_up() {
    let all = ["/uploads/", "/manifests/"].map(|part| async move {
        let (address, _) = except(part, |_, request| match request.method.as_str() {
            "POST" => good(request),
            _ => stall(b""),
        })
        .await;
        let error = try_push(address, &impatient(), &anonymous()).await.unwrap_err();
        assert!(matches!(error, Error::Stalled { .. }), "{error}");
    });
    futures::future::join_all(all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deadline_ends_everything() {
    let (address, _) = except("/manifests/", |_, _| stall(b"")).await;
    let mut options = options();
    options.timeout = Timeout::After(Duration::from_millis(1500));
    let error = try_pull(address, &options, &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Expired { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("`GET http://") && text.contains("1.5 s") && text.contains("set a longer timeout"),
        "{text}"
    );

    // A registry that is always overloaded and asks for patience.
    let (address, _) = except("/manifests/", |_, _| reply(429, &[("retry-after", "999999999")], b"")).await;
    let mut options = Options::default();
    options.plain_http = true;
    options.backoff = Backoff::new(5, Duration::from_secs(1));
    // Less than the pause of 10 s that is left of what the registry asks for, so that nothing is waited for.
    options.timeout = Timeout::After(Duration::from_secs(9));
    let error = try_pull(address, &options, &anonymous()).await.unwrap_err();
    assert!(error.to_string().contains("status 429"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redirect_loops_and_endless_challenges_end() {
    for status in [301, 302, 303, 307, 308] {
        let (address, log) =
            except("/manifests/", move |_, request| reply(status, &[("location", &request.path)], b"")).await;
        let error = try_pull(address, &options(), &anonymous()).await.unwrap_err();
        assert!(error.to_string().contains("more than 10 redirects"), "{error}");
        assert_eq!(log.count("/manifests/"), 11);
    }
    for scheme in ["Basic realm=\"x\"".to_owned(), String::new(), "Negotiate".to_owned()] {
        let (address, log) =
            raw::serve(None, move |_, _| reply(401, &[("www-authenticate", &scheme)], b"")).await;
        let (_directory, resolver) = credentials(address);
        let error = try_pull(address, &options(), &resolver).await.unwrap_err();
        assert!(matches!(error, Error::Denied { .. }), "{error}");
        assert!(log.requests().len() < 5, "{} requests", log.requests().len());
    }
    let (address, log) = raw::serve(None, move |address, request| {
        if request.path.starts_with("/token") {
            return reply(200, &[], br#"{"token":"useless"}"#);
        }
        reply(401, &[("www-authenticate", &bearer(address))], b"")
    })
    .await;
    let error = try_pull(address, &options(), &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    assert!(log.requests().len() < 10, "{} requests", log.requests().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_are_followed_to_a_limited_depth() {
    // Each index lists the one that was served before it; `v1` is the last.
    let mut indexes = vec![bundle().manifest().document().unwrap()];
    for _ in 0..10 {
        let inner = indexes.last().unwrap();
        let (digest, size) = (sha256(inner), inner.len());
        let descriptor = format!(
            r#"{{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"{digest}","size":{size}}}"#
        );
        indexes.push(format!(r#"{{"schemaVersion":2,"manifests":[{descriptor}]}}"#).into_bytes());
    }
    for (depth, succeeds) in [(0, true), (3, true), (4, false), (10, false)] {
        let served = indexes[..=depth].to_vec();
        let (address, log) = except("/manifests/", move |_, request| {
            let asked = |index: &&Vec<u8>| request.path.ends_with(sha256(index).as_ref());
            reply(200, &[], served.iter().find(asked).unwrap_or(&served[served.len() - 1]))
        })
        .await;
        let result = try_pull(address, &options(), &anonymous()).await;
        assert_eq!(result.is_ok(), succeeds, "{depth}: {result:?}");
        assert!(log.count("/manifests/") <= 4, "{depth}");
        if let Err(error) = result {
            assert!(error.to_string().contains("nested deeper than 4 levels"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blob_is_present_only_with_a_matching_200() {
    let layer = bundle().layers()[0].clone();
    let (digest, size) = (layer.digest().to_string(), layer.size());
    let answers: [(&str, &[u8], usize); 12] = [
        ("200", b"HTTP/1.1 200 OK\r\n", 0),
        ("200 with length", b"", 0),
        ("200 with another length", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n", 1),
        ("200 with another digest", b"HTTP/1.1 200 OK\r\ndocker-content-digest: sha256:00\r\n", 1),
        ("201", b"HTTP/1.1 201 Created\r\n", 1),
        ("204", b"HTTP/1.1 204 No Content\r\n", 1),
        ("206", b"HTTP/1.1 206 Partial Content\r\n", 1),
        ("301", b"HTTP/1.1 301 Moved\r\n", 1),
        ("302", b"HTTP/1.1 302 Found\r\n", 1),
        ("400", b"HTTP/1.1 400 Bad Request\r\n", 1),
        ("404", b"HTTP/1.1 404 Not Found\r\n", 1),
        ("999", b"HTTP/1.1 999 Odd\r\n", 1),
    ];
    for (name, head, sent) in answers {
        let head = if name == "200 with length" {
            format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\ndocker-content-digest: {digest}\r\n")
                .into_bytes()
        } else {
            head.to_vec()
        };
        let digest = digest.clone();
        let (address, log) = raw::serve(None, move |_, request| {
            if request.method == "HEAD" && request.path.contains(&digest) {
                return close(&[head.as_slice(), b"connection: close\r\n\r\n"].concat());
            }
            good(request)
        })
        .await;
        try_push(address, &options(), &anonymous()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let encoded = layer.digest().to_string().replace(':', "%3A");
        let uploads = log.count(&format!("digest={encoded}"));
        assert_eq!(uploads, sent, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_never_left() {
    let (plain, plain_log) = raw::serve(None, |_, request| {
        if request.path.starts_with("/token") { reply(200, &[], br#"{"token":"t"}"#) } else { good(request) }
    })
    .await;
    let (acceptor, certificate) = raw::tls();
    let mut trusting = Options::default();
    trusting.ca_files = vec![certificate.path().to_owned()];
    trusting.backoff = Backoff::new(1, NO_PAUSE);
    for case in ["valid", "realm", "manifest", "blob", "upload"] {
        let (address, log) = raw::serve(Some(acceptor.clone()), move |_, request| {
            let there = format!("http://{plain}{}", request.path);
            let detour = [("location", there.as_str())];
            let realm = format!("Bearer realm=\"http://{plain}/token\"");
            let is_case = |name: &str, part: &str| case == name && request.path.contains(part);
            if is_case("realm", "/v2/") {
                reply(401, &[("www-authenticate", &realm)], b"")
            } else if request.header("authorization").is_none() {
                reply(401, &[("www-authenticate", "Basic realm=\"x\"")], b"")
            } else if is_case("manifest", "/manifests/") || is_case("blob", "/blobs/") {
                reply(307, &detour, b"")
            } else if is_case("upload", "/uploads/") && request.method == "POST" {
                reply(202, &detour, b"")
            } else {
                good(request)
            }
        })
        .await;
        let (_directory, resolver) = credentials(address);
        let result = match case {
            "upload" => try_push(address, &trusting, &resolver).await.map(drop),
            _ => try_pull(address, &trusting, &resolver).await.map(drop),
        };
        if case == "valid" {
            result.unwrap();
            assert!(log.requests().iter().any(|request| request.header("authorization") == Some(BASIC)));
            continue;
        }
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Target { .. }), "{case}: {error}");
        assert!(error.to_string().contains("it would downgrade from HTTPS to HTTP"), "{case}: {error}");
        assert_eq!(plain_log.connections(), 0, "{case}: the plain server was reached");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_never_go_to_another_host() {
    // The same registry behind another port; a push there succeeds.
    let (other, other_log) = raw::serve(None, |_, request| good(request)).await;
    for case in ["manifest", "blob", "upload", "and back"] {
        let (address, log) = raw::serve(None, move |own, request| {
            if let Some(answer) =
                challenge(request, BASIC, "Basic realm=\"x\"").filter(|_| request.path != "/back")
            {
                return answer;
            }
            let there = format!("http://{other}{}", request.path);
            let detour = [("location", there.as_str())];
            match case {
                "manifest" if request.path.contains("/manifests/") => reply(307, &detour, b""),
                "blob" if request.path.contains("/blobs/") => reply(302, &detour, b""),
                "upload" if request.method == "POST" => reply(202, &detour, b""),
                "and back" if request.path.contains("/manifests/") => {
                    reply(307, &[("location", &format!("http://localhost:{}/back", own.port()))], b"")
                }
                _ => good(request),
            }
        })
        .await;
        let (_directory, resolver) = credentials(address);
        let result = match case {
            "upload" => try_push(address, &options(), &resolver).await.map(drop),
            _ => try_pull(address, &options(), &resolver).await.map(drop),
        };
        if case == "and back" {
            result.unwrap_err();
            let back = log.requests().into_iter().find(|request| request.path == "/back").unwrap();
            assert_eq!(back.header("authorization"), None, "another name is another host");
        } else {
            result.unwrap_or_else(|error| panic!("{case}: {error}"));
        }
    }
    assert!(!other_log.requests().is_empty());
    for request in other_log.requests() {
        assert_eq!(request.header("authorization"), None, "{}", request.head);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn renewed_tokens_are_checked_too() {
    for (token, expected) in
        [("a\\nb", "characters"), ("a\\u0000b", "characters"), ("a\\u007fb", "characters"), ("", "no token")]
    {
        let (address, _) = raw::serve(None, move |address, request| {
            if request.path.starts_with("/token") {
                // What is given without credentials for the ping expires at once.
                let token = if request.path.contains("first") { "first" } else { token };
                return reply(200, &[], format!("{{\"token\":\"{token}\"}}").as_bytes());
            }
            let first = if request.path == "/v2/" { "?first" } else { "" };
            reply(
                401,
                &[("www-authenticate", &format!("Bearer realm=\"http://{address}/token{first}\""))],
                b"",
            )
        })
        .await;
        let error = try_pull(address, &options(), &anonymous()).await.unwrap_err();
        assert!(matches!(error, Error::Token { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_token_is_renewed() {
    let given = Arc::new(AtomicUsize::new(0));
    let (address, log) = raw::serve(None, move |address, request| {
        if request.path.starts_with("/token") {
            let number = given.fetch_add(1, Ordering::SeqCst);
            return reply(200, &[], format!("{{\"token\":\"t{number}\"}}").as_bytes());
        }
        let is_blob = request.path.contains("/blobs/");
        let valid = if is_blob { "Bearer t1" } else { "Bearer t0" };
        challenge(request, valid, &bearer(address)).unwrap_or_else(|| good(request))
    })
    .await;
    try_pull(address, &options(), &anonymous()).await.unwrap();
    assert_eq!(log.count("/token"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn overloaded_token_server_is_retried() {
    for (status, fails) in [(429, 1), (500, 1), (503, 2), (503, 99)] {
        let failed = Arc::new(AtomicUsize::new(0));
        let (address, log) = raw::serve(None, move |address, request| {
            if request.path.starts_with("/token") {
                if failed.fetch_add(1, Ordering::SeqCst) < fails {
                    return reply(status, &[("retry-after", "0")], b"overloaded");
                }
                return reply(200, &[], br#"{"token":"token"}"#);
            }
            challenge(request, "Bearer token", &bearer(address)).unwrap_or_else(|| good(request))
        })
        .await;
        let result = try_pull(address, &options(), &anonymous()).await;
        if fails < 10 {
            result.unwrap_or_else(|error| panic!("{status}: {error}"));
            continue;
        }
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Token { .. }), "{error}");
        assert!(error.to_string().contains("status 503: overloaded"), "{error}");
        assert_eq!(log.count("/token"), 4, "as often as any other request");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn identity_tokens_are_exchanged() {
    let (address, log) = raw::serve(None, move |address, request| {
        if request.path.starts_with("/token") {
            let body = String::from_utf8(request.body.clone()).unwrap();
            let expected = "grant_type=refresh_token&refresh_token=hunter2%2B&client_id=oci-images&service=x&scope=repository%3Aa%3Apull";
            assert_eq!((request.method.as_str(), body.as_str()), ("POST", expected));
            return reply(200, &[], br#"{"access_token":"token"}"#);
        }
        challenge(request, "Bearer token", &bearer(address)).unwrap_or_else(|| good(request))
    })
    .await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("auth.json");
    fs::write(&file, format!(r#"{{"auths":{{"{address}":{{"identitytoken":"hunter2+"}}}}}}"#)).unwrap();
    let value = file.into_os_string();
    let resolver =
        Resolver::from_variables(move |name| (name == "REGISTRY_AUTH_FILE").then(|| value.clone()));
    try_pull(address, &options(), &resolver).await.unwrap();
    assert_eq!(log.count("/token"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn echoed_secrets_are_masked() {
    let echoes = [
        "you are user:hunter2 with dXNlcjpodW50ZXIy and token-hunter",
        r#"{"errors":[{"code":"hunter2","message":"dXNlcjpodW50ZXIy token-hunter"}]}"#,
        "\"token-hunter hunter2\"",
    ];
    for echo in echoes {
        for part in ["/v2/", "/token", "/manifests/", "/blobs/", "/uploads/"] {
            for status in [200, 400, 401, 403, 500] {
                let (address, _) = raw::serve(None, move |address, request| {
                    if request.path.contains(part) && (part != "/v2/" || request.path == "/v2/") {
                        let realm = format!("{} realm=\"{echo}\"", echo.replace([' ', '"'], "-"));
                        let headers = [
                            ("docker-content-digest", echo),
                            ("location", echo),
                            ("www-authenticate", &realm),
                        ];
                        return reply(status, &headers, echo.as_bytes());
                    }
                    if request.path.starts_with("/token") {
                        return reply(200, &[], br#"{"token":"token-hunter"}"#);
                    }
                    challenge(request, "Bearer token-hunter", &bearer(address))
                        .unwrap_or_else(|| good(request))
                })
                .await;
                let (_directory, resolver) = credentials(address);
                let results = [
                    try_pull(address, &options(), &resolver).await.map(drop),
                    try_push(address, &options(), &resolver).await.map(drop),
                ];
                for error in results.into_iter().filter_map(Result::err) {
                    let text = format!("{error} {error:?}");
                    let mut secrets = vec!["hunter2", "dXNlcjpodW50ZXIy"];
                    // Before it is given, a token is not a secret.
                    secrets.extend((!matches!(part, "/v2/" | "/token")).then_some("token-hunter"));
                    for secret in secrets {
                        assert!(!text.contains(secret), "{part} {status}: {text}");
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_from_registry_cannot_forge_output() {
    let body = format!(
        "{{\"errors\":[{{\"code\":\"X\",\"message\":\"a\\u001b[31m\\nerror: b\\u202e{}\"}}]}}",
        "y".repeat(5000)
    );
    let (address, _) = except("/manifests/", move |_, _| reply(400, &[], body.as_bytes())).await;
    let text = try_pull(address, &options(), &anonymous()).await.unwrap_err().to_string();
    assert!(text.contains(r"a\u{1b}[31m error: b\u{202e}yyy"), "{text}");
    assert!(!text.contains(['\n', '\u{1b}', '\u{202e}']) && text.len() < 600, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn download_that_breaks_is_resumed() {
    let large =
        image(&[&[("manifests/a.yaml", &noise(3 << 20)), ("metadata/annotations.yaml", "annotations: {}")]]);
    let layer = large.layers()[0].clone();
    let served = large.clone();
    let (address, log) = raw::serve(None, move |_, request| {
        let path = request.path.as_str();
        if path.contains("/manifests/") {
            return reply(200, &[], &served.manifest().document().unwrap());
        }
        let Some(blob) = served.blobs().find(|blob| path.ends_with(blob.digest().as_ref())) else {
            return reply(200, &[], b"");
        };
        let mut bytes = Vec::new();
        blob.open().unwrap().read_to_end(&mut bytes).unwrap();
        let from: usize = request
            .header("range")
            .map_or(0, |range| range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap());
        let rest = &bytes[from..];
        let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
        if rest.len() <= 512 << 10 {
            let status = if from > 0 { 206 } else { 200 };
            return reply(status, &[("content-range", &range)], rest);
        }
        let status = if from > 0 { "206 Partial Content" } else { "200 OK" };
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-range: {range}\r\ncontent-length: {}\r\n\r\n", rest.len());
        close(&[head.as_bytes(), &rest[..512 << 10]].concat())
    })
    .await;
    let contents = try_pull(address, &options(), &anonymous()).await;
    let requests = log.count(layer.digest().as_ref());
    assert!(requests > 1, "nothing broke");
    // Four attempts would not do without counting again where there is progress.
    assert_eq!(contents.unwrap().files["manifests/a.yaml"].len(), 3 << 20, "{requests} requests");
}

/// Text of `size` bytes that does not compress well.
fn noise(size: usize) -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + u8::try_from(state % 94).unwrap())
    };
    std::iter::repeat_with(&mut next).take(size).collect()
}

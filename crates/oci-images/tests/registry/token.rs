//! A registry whose clients need tokens, from a token server that gives rights by user and scope: Docker's token
//! specification, in front of the registry of this crate.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use oci_images::layout::Contents;
use oci_images::location::{Copier, ImageLocation};
use oci_images::registry::{Credentials, Error, Progress, Repository, Resolver, pull};

use crate::hostile::bundle;
use crate::{Running, options, reference};

const SERVICE: &str = "registry.test";

/// A repository and what may be done with it.
type Right = (String, &'static str);

#[derive(Clone)]
struct Gate {
    address: SocketAddr,
    registry: SocketAddr,
    client: reqwest::Client,
    /// The rights of each token.
    tokens: Arc<Mutex<BTreeMap<String, BTreeSet<Right>>>>,
    /// The status for a request of rights that its user does not have; without, the token lacks them.
    refusal: Option<StatusCode>,
    /// The scopes that were asked for.
    scopes: Arc<Mutex<Vec<String>>>,
}

impl Gate {
    async fn start(registry: &Running) -> Self {
        Self::start_with(registry, None).await
    }

    async fn start_with(registry: &Running, refusal: Option<StatusCode>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // Another test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let gate = Self {
            address,
            registry: registry.address,
            client: reqwest::Client::builder().tls_certs_only([]).no_proxy().build().unwrap(),
            tokens: Arc::default(),
            refusal,
            scopes: Arc::default(),
        };
        let router = Router::new().fallback(handle).with_state(gate.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        gate
    }

    /// Returns the scopes that were asked for since the last call.
    fn asked(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.scopes.lock().unwrap()).into_iter().collect()
    }

    /// Gives a token with those of the requested rights that a user has: alice all below `org`, bob all below `team`, everybody to
    /// read `public`.
    fn give(&self, user: Option<&str>, values: &[(String, String)]) -> Response {
        let service = values.iter().find(|(name, _)| name == "service");
        assert_eq!(service.map(|(_, service)| service.as_str()), Some(SERVICE));
        let scopes =
            values.iter().filter(|(name, _)| name == "scope").flat_map(|(_, scope)| scope.split(' '));
        let mut rights = BTreeSet::new();
        for scope in scopes {
            self.scopes.lock().unwrap().push(scope.to_owned());
            let [kind, name, actions] = scope.split(':').collect::<Vec<_>>().try_into().unwrap();
            assert_eq!(kind, "repository");
            for action in ["pull", "push"] {
                let is_allowed = (user == Some("alice") && name.starts_with("org/"))
                    || (user == Some("bob") && name.starts_with("team/"))
                    || (action == "pull" && name.starts_with("public/"));
                if actions.split(',').any(|asked| asked == action) {
                    if is_allowed {
                        rights.insert((name.to_owned(), action));
                    } else if let Some(status) = self.refusal {
                        return Response::builder().status(status).body(Body::empty()).unwrap();
                    }
                }
            }
        }
        let mut tokens = self.tokens.lock().unwrap();
        let token = format!("token-{}", tokens.len());
        tokens.insert(token.clone(), rights);
        Response::new(Body::from(format!("{{\"token\":\"{token}\",\"expires_in\":300}}")))
    }

    /// Returns the right that a request lacks.
    fn lacks(&self, request: &Request) -> Option<Right> {
        let path = request.uri().path().strip_prefix("/v2/").unwrap();
        let end = ["/blobs/", "/manifests/", "/referrers/"].iter().find_map(|part| path.find(part));
        let name = &path[..end.unwrap_or(0)];
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_state = path.contains("/blobs/uploads/");
        let mut needed = vec![(name.to_owned(), if is_read && !is_state { "pull" } else { "push" })];
        let mount = values(request.uri().query()).into_iter().find(|(name, _)| name == "from");
        needed.extend(mount.map(|(_, from)| (from, "pull")));
        let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        let tokens = self.tokens.lock().unwrap();
        match tokens.get(token) {
            // The version check needs a token, but no right.
            Some(_) if name.is_empty() => None,
            Some(rights) => needed.into_iter().find(|right| !rights.contains(right)),
            None => needed.pop(),
        }
    }
}

fn values(query: Option<&str>) -> Vec<(String, String)> {
    let url = reqwest::Url::parse(&format!("http://x/?{}", query.unwrap_or_default())).unwrap();
    url.query_pairs().into_owned().collect()
}

async fn handle(State(gate): State<Gate>, request: Request) -> Response {
    let status = |status| Response::builder().status(status).body(Body::empty()).unwrap();
    if request.uri().path() == "/token" {
        let authorization = request.headers().get(header::AUTHORIZATION).cloned();
        if request.method() == Method::POST {
            let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
            let values = values(Some(str::from_utf8(&body).unwrap()));
            let is_alice = values.iter().any(|(name, value)| name == "refresh_token" && value == "alice's");
            return if is_alice {
                gate.give(Some("alice"), &values)
            } else {
                status(StatusCode::UNAUTHORIZED)
            };
        }
        let values = values(request.uri().query());
        return match authorization.as_ref().map(|value| value.to_str().unwrap()) {
            None => gate.give(None, &values),
            // The base64 of alice:secret.
            Some("Basic YWxpY2U6c2VjcmV0") => gate.give(Some("alice"), &values),
            // The base64 of bob:secret.
            Some("Basic Ym9iOnNlY3JldA==") => gate.give(Some("bob"), &values),
            Some(_) => status(StatusCode::UNAUTHORIZED),
        };
    }
    if let Some((name, action)) = gate.lacks(&request) {
        let mut challenge = format!("Bearer realm=\"http://{}/token\",service=\"{SERVICE}\"", gate.address);
        if !name.is_empty() {
            challenge = format!("{challenge},scope=\"repository:{name}:{action}\"");
        }
        return Response::builder()
            .status(StatusCode::UNAUTHORIZED)
            .header(header::WWW_AUTHENTICATE, challenge)
            .body(Body::empty())
            .unwrap();
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 64 << 20).await.unwrap();
    let mut headers = parts.headers;
    headers.remove(header::HOST);
    headers.remove(header::AUTHORIZATION);
    let url = format!("http://{}{}", gate.registry, parts.uri);
    let answer = gate.client.request(parts.method, url).headers(headers).body(body).send().await.unwrap();
    let mut response = Response::builder().status(answer.status());
    *response.headers_mut().unwrap() = answer.headers().clone();
    response.body(Body::from_stream(answer.bytes_stream())).unwrap()
}

fn scopes<const N: usize>(scopes: [&str; N]) -> BTreeSet<String> {
    scopes.map(str::to_owned).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_requested_for_minimal_scopes() {
    let registry = Running::start().await;
    let gate = Gate::start(&registry).await;
    let host = gate.address.to_string();
    let basic = Resolver::default().with_credentials(&host, Credentials::basic("alice", "secret"));
    let token = Resolver::default().with_credentials(&host, Credentials::identity_token("alice's"));
    for (number, alice) in [basic, token].into_iter().enumerate() {
        let name = reference(gate.address, &format!("org/app-{number}:v1"));
        let repository = Repository::for_writing(&name, &options(), &alice).await.unwrap();
        let pushed = repository.push(&bundle(), None, &Progress::hidden()).await.unwrap();
        assert_eq!(pushed.sent, 2);
        assert_eq!(gate.asked(), scopes([&format!("repository:org/app-{number}:pull,push")]));

        let contents = pull(&name, &options(), &alice, &Progress::hidden()).await.unwrap();
        assert_eq!(contents, Contents::read(&bundle()).unwrap());
        assert_eq!(gate.asked(), scopes([&format!("repository:org/app-{number}:pull")]));

        // Within the registry, blobs are mounted with a token for both repositories.
        let copier = Copier { options: options(), resolver: alice.clone(), platform: None };
        let copy = async |from: &ImageLocation, to: &ImageLocation| {
            copier.copy(from, to, &Progress::hidden()).await.unwrap()
        };
        let other = ImageLocation::Registry(reference(gate.address, &format!("org/copy-{number}:v1")));
        let done = copy(&ImageLocation::Registry(name), &other).await;
        assert_eq!((done.mounted, done.sent), (2, 0));
        let (source, target) =
            (format!("repository:org/app-{number}:pull"), format!("repository:org/copy-{number}:pull,push"));
        assert_eq!(gate.asked(), scopes([&source, &target]));

        let directory = tempfile::tempdir().unwrap();
        let layout = ImageLocation::Directory(directory.path().join("layout"), None);
        assert_eq!(copy(&other, &layout).await.digest, done.digest);
        let back = ImageLocation::Registry(reference(gate.address, &format!("org/back-{number}:v1")));
        assert_eq!(copy(&layout, &back).await.sent, 2);
        gate.asked();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn token_without_the_right_is_denied() {
    let registry = Running::start().await;
    let gate = Gate::start(&registry).await;
    let push = async |name: &str, resolver: &Resolver| {
        let name = reference(gate.address, name);
        let repository = Repository::for_writing(&name, &options(), resolver).await?;
        repository.push(&bundle(), None, &Progress::hidden()).await
    };
    let read = async |name: &str, resolver: &Resolver| {
        pull(&reference(gate.address, name), &options(), resolver, &Progress::hidden()).await
    };
    let with = |credentials| Resolver::default().with_credentials(&gate.address.to_string(), credentials);
    let (alice, anonymous) = (with(Credentials::basic("alice", "secret")), Resolver::default());
    push("org/app:v1", &alice).await.unwrap();
    // Stored behind the gate, for everybody.
    let public = reference(registry.address, "public/app:v1");
    let repository = Repository::for_writing(&public, &options(), &anonymous).await.unwrap();
    repository.push(&bundle(), None, &Progress::hidden()).await.unwrap();
    read("public/app:v1", &anonymous).await.unwrap();

    let errors = [
        read("org/app:v1", &anonymous).await.unwrap_err(),
        push("public/app:v2", &anonymous).await.unwrap_err(),
        push("public/app:v2", &alice).await.unwrap_err(),
        read("org/app:v1", &with(Credentials::basic("alice", "hunter2"))).await.unwrap_err(),
        read("org/app:v1", &with(Credentials::identity_token("hunter2"))).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Denied { .. }), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_between_repositories_of_two_logins_uploads_what_cannot_be_mounted() {
    for refusal in
        [None, Some(StatusCode::UNAUTHORIZED), Some(StatusCode::FORBIDDEN), Some(StatusCode::BAD_REQUEST)]
    {
        let registry = Running::start().await;
        let gate = Gate::start_with(&registry, refusal).await;
        let name = reference(registry.address, "org/app:v1");
        let repository = Repository::for_writing(&name, &options(), &Resolver::default()).await.unwrap();
        repository.push(&bundle(), None, &Progress::hidden()).await.unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let host = gate.address;
        let logins = format!(
            r#"{{"auths":{{"{host}/org":{{"auth":"YWxpY2U6c2VjcmV0"}},"{host}/team":{{"auth":"Ym9iOnNlY3JldA=="}}}}}}"#
        );
        std::fs::write(file.path(), logins).unwrap();
        let path = file.path().as_os_str().to_owned();
        let resolver = Resolver::from_variables(|name| (name == "REGISTRY_AUTH_FILE").then(|| path.clone()));
        let two_logins = Copier { options: options(), resolver, platform: None };
        let [from, to] =
            ["org/app:v1", "team/app:v1"].map(|name| ImageLocation::Registry(reference(host, name)));
        let copied = two_logins.copy(&from, &to, &Progress::hidden()).await.unwrap();
        assert_eq!((copied.sent, copied.mounted), (2, 0), "{refusal:?}");
    }
}

//! The registry over TLS with a private authority and with passwords; logins, and garbage collection.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use oci_images::layout::{Artifact, Platform, Wanted};
use oci_images::registry::server::{
    Certificate, Error as ServerError, Options as ServerOptions, Server, collect_garbage,
};
use oci_images::registry::{
    ClientCertificate, Credentials, Error, Login, Options, Progress, Repository, Resolver, log_in,
};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::hostile::{challenge, good, try_pull, try_push};
use crate::http::send;
use crate::raw::{self, Log, Reply, Request, reply};
use crate::{LONG, Running, anonymous, image, options, reference};

/// A certificate for loopback, which is its own authority.
struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        std::fs::write(directory.path().join("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(directory.path().join("key.pem"), key.serialize_pem()).unwrap();
        // The cost is the lowest, for the speed of the tests.
        let users = format!("alice:{}\n", bcrypt::hash("secret", 4).unwrap());
        std::fs::write(directory.path().join("users"), users).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn certificate(&self) -> Certificate {
        Certificate { certificate: self.path("cert.pem"), key: self.path("key.pem") }
    }

    /// Starts a registry with TLS and users.
    async fn registry(&self) -> Running {
        let (certificate, users) = (self.certificate(), self.path("users"));
        Running::start_with(|options| {
            options.certificate = Some(certificate);
            options.users = Some(users);
        })
        .await
    }

    /// Options that trust the certificate.
    fn options(&self) -> Options {
        let mut options = options();
        options.plain_http = false;
        options.ca_files = vec![self.path("cert.pem")];
        options
    }

    /// The credentials of a user, in a file of their own.
    fn resolver(&self, registry: &str, password: &str) -> Resolver {
        let path = self.path("auth.json");
        let resolver = Resolver::from_variables(|name| {
            (name == "REGISTRY_AUTH_FILE").then(|| path.clone().into_os_string())
        });
        resolver.log_in(registry, "alice", password).unwrap();
        resolver
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn image_is_pushed_and_pulled_over_tls_with_a_password() {
    let files = Files::new();
    let registry = files.registry().await;
    let name = reference(registry.address, "a:v1");
    let address = registry.address.to_string();
    let image = image(&[&[("a", "1")]]);
    let alice = files.resolver(&address, "secret");
    let repository = Repository::for_writing(&name, &files.options(), &alice).await.unwrap();
    repository.push(&image, None, &Progress::hidden()).await.unwrap();
    let repository = Repository::for_reading(&name, &files.options(), &alice).await.unwrap();
    assert_eq!(repository.image(&Platform::default()).await.unwrap().digest(), image.digest());

    let error = Repository::for_reading(&name, &files.options(), &anonymous()).await.ok().unwrap();
    let error = error.artifact(&Wanted::All).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    let mallory = files.resolver(&address, "wrong");
    let denied = Repository::for_writing(&name, &files.options(), &mallory).await.unwrap();
    let error = denied.push(&image, None, &Progress::hidden()).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }) && !error.to_string().contains("wrong"), "{error}");

    let mut untrusting = options();
    untrusting.plain_http = false;
    let error = Repository::for_reading(&name, &untrusting, &alice).await.err().unwrap().to_string();
    assert!(error.contains("must be trusted"), "{error}");
    untrusting.skip_tls_verification = true;
    let repository = Repository::for_reading(&name, &untrusting, &files.resolver(&address, "secret")).await;
    assert!(repository.unwrap().image(&Platform::default()).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn login_is_tried() {
    let files = Files::new();
    let registry = files.registry().await;
    let address = registry.address.to_string();
    let login =
        async |password| log_in(&address, Credentials::basic("alice", password), &files.options()).await;
    assert_eq!(login("secret").await.unwrap(), Login::Accepted);
    let error = login("hunter2").await.unwrap_err();
    assert!(matches!(error, Error::Login { .. }), "{error}");
    let error = error.to_string();
    assert!(
        error.contains("the user name or the password is wrong") && !error.contains("hunter2"),
        "{error}"
    );
    let open = Running::start().await;
    let open = log_in(&open.address.to_string(), Credentials::basic("a", "b"), &options()).await;
    assert_eq!(open.unwrap(), Login::NotRequired);
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_and_users_are_checked_before_listening() {
    let files = Files::new();
    let bind = async |address: &str, change: &dyn Fn(&mut ServerOptions)| {
        let mut options = ServerOptions::new(address.parse().unwrap(), files.path("registry"));
        options.listen_anywhere = true;
        change(&mut options);
        Server::bind(options).await.map(drop)
    };
    let users = |options: &mut ServerOptions| options.users = Some(files.path("users"));
    assert!(matches!(bind("0.0.0.0:0", &users).await, Err(ServerError::NotEncrypted(_))));
    assert!(!files.path("registry").exists());
    let both = |options: &mut ServerOptions| {
        users(options);
        options.certificate = Some(files.certificate());
    };
    assert!(bind("0.0.0.0:0", &both).await.is_ok());
    let swapped = |options: &mut ServerOptions| {
        options.certificate =
            Some(Certificate { certificate: files.path("key.pem"), key: files.path("cert.pem") });
    };
    let error = bind("127.0.0.1:0", &swapped).await.unwrap_err().to_string();
    assert!(error.contains("key.pem") && error.contains("no PEM certificate"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn client_certificate_that_cannot_be_used_is_named() {
    let files = Files::new();
    let mut options = files.options();
    options.client_certificate =
        Some(ClientCertificate { certificate: files.path("cert.pem"), key: files.path("users") });
    let name = "127.0.0.1:1/a:v1".parse().unwrap();
    let error = Repository::for_reading(&name, &options, &anonymous()).await.err().unwrap().to_string();
    assert!(error.contains("cert.pem") && error.contains("private key"), "{error}");
}

/// Returns TLS with the certificate of `files`, which rejects every client certificate but `client`. Without `required`, clients
/// need none.
fn tls(files: &Files, client: &CertificateDer<'static>, required: bool) -> TlsAcceptor {
    let mut roots = RootCertStore::empty();
    roots.add(client.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    if !required {
        verifier = verifier.allow_unauthenticated();
    }
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            vec![CertificateDer::from_pem_file(files.path("cert.pem")).unwrap()],
            PrivateKeyDer::from_pem_file(files.path("key.pem")).unwrap(),
        )
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Serves a registry over TLS to clients whose certificate is `client`, in front of one without TLS.
async fn require_client_certificate(
    files: &Files,
    client: &CertificateDer<'static>,
) -> (Running, SocketAddr) {
    let registry = Running::start().await;
    let acceptor = tls(files, client, true);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, behind) = (listener.local_addr().unwrap(), registry.address);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut behind = TcpStream::connect(behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut behind).await;
            });
        }
    });
    (registry, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn registry_that_requires_a_client_certificate_accepts_ours() {
    let (files, client, other) = (Files::new(), Files::new(), Files::new());
    let trusted = CertificateDer::from_pem_file(client.path("cert.pem")).unwrap();
    let (_registry, address) = require_client_certificate(&files, &trusted).await;
    let image = image(&[&[("a", "1")]]);
    let transfer = async |options: &Options| {
        let name = reference(address, "a:v1");
        let repository = Repository::for_writing(&name, options, &anonymous()).await?;
        repository.push(&image, None, &Progress::hidden()).await?;
        let repository = Repository::for_reading(&name, options, &anonymous()).await?;
        let read = repository.image(&Platform::default()).await?;
        repository.with_layers(read, &Progress::hidden()).await.map(|read| read.digest().clone())
    };
    let with = |certificate: PathBuf, key: PathBuf| {
        let mut options = files.options();
        options.client_certificate = Some(ClientCertificate { certificate, key });
        options
    };
    let separate = with(client.path("cert.pem"), client.path("key.pem"));
    assert_eq!(transfer(&separate).await.unwrap(), *image.digest());

    // As `--client-cert` without `--client-key`, with the key before or after the certificate.
    let read = |name: &str| std::fs::read_to_string(client.path(name)).unwrap();
    for (at, text) in
        [read("key.pem") + &read("cert.pem"), read("cert.pem") + &read("key.pem")].iter().enumerate()
    {
        let both = client.path(&format!("both-{at}.pem"));
        std::fs::write(&both, text).unwrap();
        assert_eq!(transfer(&with(both.clone(), both)).await.unwrap(), *image.digest(), "{at}");
    }

    // As podman and docker name them.
    let directory = client.path(&address.to_string());
    std::fs::create_dir(&directory).unwrap();
    for (from, to) in [("cert.pem", "client.cert"), ("key.pem", "client.key")] {
        std::fs::copy(client.path(from), directory.join(to)).unwrap();
    }
    let mut options = files.options();
    options.certificate_directories = vec![client.directory.path().to_owned()];
    assert_eq!(transfer(&options).await.unwrap(), *image.digest());

    // The rejection arrives after the handshake of TLS 1.3, and is lost if the connection is found closed before it is read.
    let wrong = with(other.path("cert.pem"), other.path("key.pem"));
    for (options, reason) in [(files.options(), "certificate required"), (wrong, "ended the TLS handshake")] {
        let mut errors = Vec::new();
        let begin = Instant::now();
        while !errors.last().is_some_and(|error: &String| error.contains(reason)) {
            assert!(begin.elapsed() < LONG, "{errors:?}");
            errors.push(transfer(&options).await.unwrap_err().to_string());
        }
        assert!(errors.iter().all(|error| error.contains(&address.to_string())), "{errors:?}");
    }
}

/// Serves [`good`] for which `case` makes a detour to `other`: to download a blob, to upload one, or to get a token.
fn with_detour(case: &'static str, other: SocketAddr, request: &Request) -> Reply {
    let there = format!("https://{other}{}", request.path);
    let detour = [("location", there.as_str())];
    let realm = format!("Bearer realm=\"https://{other}/token\",service=\"x\"");
    match case {
        "token" => challenge(request, "Bearer t", &realm).unwrap_or_else(|| good(request)),
        "blob" if request.path.contains("/blobs/") => reply(307, &detour, b""),
        "upload" if request.method == "POST" => reply(202, &detour, b""),
        _ => good(request),
    }
}

/// Serves what the detours lead to.
async fn other_origin(tls: TlsAcceptor) -> (SocketAddr, Log) {
    raw::serve(Some(tls), |_, request| match request.path.as_str() {
        path if path.starts_with("/token") => reply(200, &[], br#"{"token":"t"}"#),
        _ => good(request),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn client_certificate_is_shown_to_the_registry_only() {
    let (files, client, unrelated) = (Files::new(), Files::new(), Files::new());
    let certificate = |files: &Files| CertificateDer::from_pem_file(files.path("cert.pem")).unwrap();
    let mut options = files.options();
    options.client_certificate =
        Some(ClientCertificate { certificate: client.path("cert.pem"), key: client.path("key.pem") });
    for case in ["blob", "upload", "token"] {
        // The client's certificate would break its handshakes.
        let (other, log) = other_origin(tls(&files, &certificate(&unrelated), false)).await;
        let acceptor = tls(&files, &certificate(&client), true);
        let (address, _) =
            raw::serve(Some(acceptor), move |_, request| with_detour(case, other, request)).await;
        let result = match case {
            "upload" => try_push(address, &options, &anonymous()).await.map(drop),
            _ => try_pull(address, &options, &anonymous()).await.map(drop),
        };
        result.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(!log.requests().is_empty(), "{case}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_certificate_is_accepted_from_the_registry_only() {
    for case in ["none", "blob", "upload", "token"] {
        let ((tls, _), (other_tls, other_certificate)) = (raw::tls(), raw::tls());
        let (other, log) = other_origin(other_tls).await;
        let (address, _) = raw::serve(Some(tls), move |_, request| with_detour(case, other, request)).await;
        let mut options = options();
        options.plain_http = false;
        options.skip_tls_verification = true;
        let transfer = async |options: &Options| match case {
            "upload" => try_push(address, options, &anonymous()).await.map(drop),
            _ => try_pull(address, options, &anonymous()).await.map(drop),
        };
        if case == "none" {
            transfer(&options).await.unwrap();
            continue;
        }
        let error = transfer(&options).await.unwrap_err().to_string();
        assert!(
            error.contains("signed by an unknown authority") && error.contains(&other.to_string()),
            "{case}: {error}"
        );
        assert!(log.requests().is_empty(), "{case}");
        options.ca_files = vec![other_certificate.path().to_owned()];
        transfer(&options).await.unwrap_or_else(|error| panic!("{case}: {error}"));
    }
}

fn contents(directory: &Path) -> usize {
    std::fs::read_dir(directory.join("blobs/sha256")).unwrap().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_what_nothing_refers_to() {
    let registry = Running::start().await;
    let address = registry.address;
    let (one, two) = (image(&[&[("a", "1")]]), image(&[&[("a", "2")]]));
    let platform = |name: &str| name.parse().unwrap();
    let index =
        Artifact::index(vec![(platform("linux/amd64"), Artifact::from(&one))], BTreeMap::new()).unwrap();
    let push = async |artifact: Artifact| {
        let name = reference(address, "org/app:v1");
        let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
        repository.push(artifact, None, &Progress::hidden()).await.unwrap();
    };
    push((&two).into()).await;
    push(index.clone()).await;
    let digest = oci_images::layout::sha256(b"orphan");
    let path = format!("/v2/org/app/blobs/uploads/?digest={digest}");
    assert_eq!(send(address, "POST", &path, &[], b"orphan").await.status, 201);

    assert!(matches!(
        collect_garbage(registry.directory.path(), true, false),
        Err(ServerError::InUse { .. })
    ));
    let directory = registry.stop().await;
    let all = contents(directory.path());
    // What a manifest refers to is unknown while it cannot be read: nothing is removed.
    let manifest = directory.path().join("blobs/sha256").join(two.digest().digest());
    let bytes = std::fs::read(&manifest).unwrap();
    std::fs::remove_file(&manifest).unwrap();
    std::fs::create_dir(&manifest).unwrap();
    let unreadable = collect_garbage(directory.path(), false, false);
    let Err(ServerError::Directory { source, .. }) = &unreadable else { panic!("{unreadable:?}") };
    assert!(source.to_string().contains("Is a directory"), "{source}");
    assert_eq!(contents(directory.path()), all);
    std::fs::remove_dir(&manifest).unwrap();
    std::fs::write(&manifest, bytes).unwrap();
    let dry = collect_garbage(directory.path(), true, true).unwrap();
    assert_eq!((dry.manifests, dry.contents, contents(directory.path())), (1, 4, all), "nothing is removed");
    let orphans = collect_garbage(directory.path(), false, false).unwrap();
    assert_eq!((orphans.manifests, orphans.contents, orphans.bytes), (0, 1, 6));
    let untagged = collect_garbage(directory.path(), true, false).unwrap();
    assert_eq!((untagged.manifests, untagged.contents), (1, 3), "its layer, its configuration and itself");
    assert_eq!(
        collect_garbage(directory.path(), true, false).unwrap(),
        oci_images::registry::server::Garbage::default()
    );

    let registry = Running::start_in(directory, |_| {}).await;
    let name = reference(registry.address, "org/app:v1");
    let repository = Repository::for_reading(&name, &options(), &anonymous()).await.unwrap();
    let read = repository.artifact(&Wanted::All).await.unwrap();
    assert_eq!(read.digest(), index.digest());
    repository.with_blobs(read, &Progress::hidden()).await.unwrap();
    let empty = tempfile::tempdir().unwrap();
    for directory in [Path::new("/nonexistent"), empty.path()] {
        let result = collect_garbage(directory, true, false);
        assert!(matches!(result, Err(ServerError::NoRegistry { .. })), "{result:?}");
    }
    assert_eq!(empty.path().read_dir().unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_tls_that_change_are_read_by_the_next_server_only() {
    let files = Files::new();
    let registry = files.registry().await;
    let address = registry.address.to_string();
    let alice = files.resolver(&address, "secret");
    let (name, options) = (reference(registry.address, "a:v1"), files.options());
    let trusted = files.path("trusted.pem");
    std::fs::copy(files.path("cert.pem"), &trusted).unwrap();
    let mut options = options;
    options.ca_files = vec![trusted];
    let connect = || Repository::for_writing(&name, &options, &alice);
    connect().await.unwrap();
    let other = Files::new();
    for file in ["cert.pem", "key.pem"] {
        std::fs::copy(other.path(file), files.path(file)).unwrap();
        connect().await.unwrap();
        std::fs::write(files.path(file), "-----BEGIN").unwrap();
        connect().await.unwrap();
        std::fs::remove_file(files.path(file)).unwrap();
        connect().await.unwrap();
    }
    let image = image(&[&[("a", "1")]]);
    connect().await.unwrap().push(&image, None, &Progress::hidden()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_never_collected_while_images_are_pushed() {
    let registry = Running::start().await;
    let directory = registry.directory.path().to_owned();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let collector = std::thread::spawn(move || {
        let mut tried = 0;
        loop {
            let result = collect_garbage(&directory, true, false);
            assert!(matches!(result, Err(ServerError::InUse { .. })), "{result:?}");
            tried += 1;
            if stopped.try_recv() != Err(std::sync::mpsc::TryRecvError::Empty) {
                return tried;
            }
        }
    });
    for number in 0..10 {
        let image = image(&[&[("a", &number.to_string())]]);
        let name = reference(registry.address, &format!("a:v{number}"));
        let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
        repository.push(&image, None, &Progress::hidden()).await.unwrap();
        let read = repository.artifact(&Wanted::All).await.unwrap();
        repository.with_blobs(read, &Progress::hidden()).await.unwrap();
    }
    drop(stop);
    assert!(collector.join().unwrap() > 0);
}

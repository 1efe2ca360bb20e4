//! The client against a registry that lies: nothing wrong is accepted, and every error names what and where.

use std::fs;
use std::net::SocketAddr;

use oci_images::layout::Image;
use oci_images::registry::{Error, Progress, Pushed, Repository, Resolver, pull};

use crate::lying::{Lie, serve};
use crate::{LONG, anonymous, image, options, reference};

fn bundle() -> Image {
    image(&[&[("manifests/a.yaml", "kind: A"), ("metadata/annotations.yaml", "annotations: {}")]])
}

async fn try_pull(address: SocketAddr, name: &str, resolver: &Resolver) -> Result<(), Error> {
    let reference = reference(address, name);
    let (options, progress) = (options(), Progress::hidden());
    let pulled = pull(&reference, &options, resolver, &progress);
    tokio::time::timeout(LONG, pulled).await.expect("the command does not end").map(|_| ())
}

async fn try_push(address: SocketAddr, resolver: &Resolver) -> Result<Pushed, Error> {
    let push = async {
        let repository = Repository::for_writing(&reference(address, "a:v1"), &options(), resolver).await?;
        repository.push(&bundle(), None, &Progress::hidden()).await
    };
    tokio::time::timeout(LONG, push).await.expect("the command does not end")
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_blobs_are_rejected() {
    for lie in [Lie::Shortened, Lie::Changed, Lie::Endless] {
        let (address, _) = serve(lie, Some(&bundle())).await;
        let error = try_pull(address, "a:v1", &anonymous()).await.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{lie:?}: {error}");
        assert!(error.to_string().contains("sha256:"), "{lie:?}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfer_that_keeps_breaking_fails_after_all_attempts() {
    let (address, log) = serve(Lie::BrokenOff, Some(&bundle())).await;
    let error = try_pull(address, "a:v1", &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    let blobs = log.lock().unwrap().iter().filter(|line| line.contains("/blobs/")).count();
    assert_eq!(blobs, 4, "the configuration is requested as often as allowed");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_manifest_is_rejected() {
    let bundle = bundle();
    let (address, _) = serve(Lie::OtherManifest, Some(&bundle)).await;
    let error = try_pull(address, &format!("a@{}", bundle.digest()), &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tag_is_verified_after_a_push() {
    let (address, _) = serve(Lie::OtherTag, None).await;
    let error = try_push(address, &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    assert!(error.to_string().contains(bundle().digest().as_ref()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_errors_are_retried() {
    for lie in [Lie::None, Lie::First(500), Lie::First(503), Lie::First(429), Lie::ResetOnce] {
        let (address, _) = serve(lie, None).await;
        let pushed = try_push(address, &anonymous()).await.unwrap_or_else(|error| panic!("{lie:?}: {error}"));
        assert_eq!(pushed.sent, 2, "{lie:?}");
        let (address, _) = serve(lie, Some(&bundle())).await;
        try_pull(address, "a:v1", &anonymous()).await.unwrap_or_else(|error| panic!("{lie:?}: {error}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permanent_errors_are_reported() {
    for (code, attempts) in [(500, 4), (400, 1)] {
        let (address, log) = serve(Lie::Always(code), Some(&bundle())).await;
        let error = try_pull(address, "a:v1", &anonymous()).await.unwrap_err();
        assert!(error.to_string().contains(&format!("status {code}")), "{error}");
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        let manifests = log.lock().unwrap().iter().filter(|line| line.contains("/manifests/")).count();
        assert_eq!(manifests, attempts, "{code}");
    }
    let (address, _) = serve(Lie::Always(403), None).await;
    let error = try_push(address, &anonymous()).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error}");
    assert!(error.to_string().contains("no credentials found"), "{error}");
}

/// A file with credentials of `user` at `address`.
fn credentials(address: SocketAddr, password: &str) -> (tempfile::TempDir, Resolver) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("auth.json");
    let text = format!(r#"{{"auths":{{"{address}/a":{{"username":"user","password":"{password}"}}}}}}"#);
    fs::write(&file, text).unwrap();
    let value = file.into_os_string();
    let resolver =
        Resolver::from_variables(move |name| (name == "REGISTRY_AUTH_FILE").then(|| value.clone()));
    (directory, resolver)
}

#[tokio::test(flavor = "multi_thread")]
async fn basic_and_token_logins() {
    for lie in [Lie::Basic, Lie::Bearer] {
        let (address, _) = serve(lie, Some(&bundle())).await;
        let (_directory, right) = credentials(address, "secret");
        try_pull(address, "a:v1", &right).await.unwrap_or_else(|error| panic!("{lie:?}: {error}"));
        let (address, _) = serve(lie, None).await;
        let (_directory, right) = credentials(address, "secret");
        try_push(address, &right).await.unwrap_or_else(|error| panic!("{lie:?}: {error}"));

        let (_directory, wrong) = credentials(address, "hunter2");
        for (resolver, who) in [(&wrong, "auth.json"), (&anonymous(), "no credentials found")] {
            let error = try_pull(address, "a:v1", resolver).await.unwrap_err();
            assert!(matches!(error, Error::Denied { .. }), "{lie:?}: {error}");
            let text = format!("{error} {error:?}");
            assert!(text.contains(who) && text.contains(&address.to_string()), "{lie:?}: {text}");
            assert!(!text.contains("hunter2"), "{text} contains a secret");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn token_that_no_header_can_carry_is_rejected() {
    let (address, _) = serve(Lie::BadToken, Some(&bundle())).await;
    let (_directory, resolver) = credentials(address, "secret");
    let error = try_pull(address, "a:v1", &resolver).await.unwrap_err();
    assert!(matches!(error, Error::Token { .. }), "{error}");
    assert!(!error.to_string().contains("ken\n"), "{error}");
}

//! Signatures in a registry.

use std::path::PathBuf;

use oci_images::registry::{Progress, Repository, SigningKey, VerifyingKey};

use crate::{Running, anonymous, image, options, reference};

fn keys(directory: &tempfile::TempDir, name: &str) -> (SigningKey, VerifyingKey) {
    let pair = rcgen::KeyPair::generate().unwrap();
    let path = |suffix: &str| -> PathBuf { directory.path().join(format!("{name}.{suffix}")) };
    std::fs::write(path("key"), pair.serialize_pem()).unwrap();
    std::fs::write(path("pub"), pair.public_key_pem()).unwrap();
    (SigningKey::read(&path("key"), "").unwrap(), VerifyingKey::read(&path("pub")).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_signed_once_by_each_key() {
    let directory = tempfile::tempdir().unwrap();
    let registry = Running::start().await;
    let image = image(&[&[("a", "1")]]);
    let name = reference(registry.address, "org/app:v1");
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    repository.push(&image, None, &Progress::hidden()).await.unwrap();
    let ((alice, alice_public), (bob, bob_public)) = (keys(&directory, "alice"), keys(&directory, "bob"));
    assert!(repository.verify(image.digest(), &alice_public).await.unwrap().is_empty());

    let tag = repository.sign(image.digest(), &alice).await.unwrap();
    assert_eq!(tag, format!("{}.sig", image.digest().as_ref().replace(':', "-")));
    let first = repository.find(&tag).await.unwrap();
    repository.sign(image.digest(), &alice).await.unwrap();
    assert_eq!(repository.find(&tag).await.unwrap(), first, "it is signed already");
    assert!(repository.verify(image.digest(), &bob_public).await.unwrap().is_empty());

    repository.sign(image.digest(), &bob).await.unwrap();
    for key in [&alice_public, &bob_public] {
        let verified = repository.verify(image.digest(), key).await.unwrap();
        assert_eq!(verified.len(), 1);
        assert_eq!(verified[0].reference, format!("{}/org/app", registry.address));
        assert!(verified[0].payload.contains(r#""type":"cosign container image signature""#));
    }
    // A signature of another image does not sign this one.
    let other = crate::image(&[&[("a", "2")]]);
    repository.at("other").push(&other, None, &Progress::hidden()).await.unwrap();
    let signatures = repository.at(&tag).artifact().await.unwrap();
    let signatures = repository.with_blobs(signatures, &Progress::hidden()).await.unwrap();
    let stolen = format!("{}.sig", other.digest().as_ref().replace(':', "-"));
    repository.at(&stolen).push(signatures, None, &Progress::hidden()).await.unwrap();
    assert!(repository.verify(other.digest(), &alice_public).await.unwrap().is_empty());
}

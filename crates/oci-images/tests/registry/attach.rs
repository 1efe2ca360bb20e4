//! Documents that are attached to an image.

use std::collections::BTreeMap;

use oci_images::layout::Wanted;
use oci_images::registry::{Attachment, Progress, Repository};

use crate::lying::{self, Lie};
use crate::{Running, anonymous, image, options, reference};

fn attachment(text: &str) -> Attachment {
    Attachment {
        media_type: "application/spdx+json".to_owned(),
        bytes: text.into(),
        annotations: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
    }
}

/// Attaches two documents, one of them twice, and returns what refers to the image then.
async fn attach_to_an_image(registry: std::net::SocketAddr) -> Vec<String> {
    let image = image(&[&[("a", "1")]]);
    let name = reference(registry, "org/app:v1");
    let repository = Repository::for_writing(&name, &options(), &anonymous()).await.unwrap();
    repository.push(&image, None, &Progress::hidden()).await.unwrap();
    let subject = image.manifest().descriptor();
    let one = repository.attach(subject, attachment("{}")).await.unwrap();
    assert_eq!(repository.attach(subject, attachment("{}")).await.unwrap(), one, "it is the same document");
    let two = repository.attach(subject, attachment("[]")).await.unwrap();
    let mut referrers = repository.referrers(image.digest()).await.unwrap();
    for referrer in &referrers {
        assert_eq!(referrer.artifact_type, "application/spdx+json");
        assert_eq!(referrer.annotations["a"], "b");
    }
    referrers.sort_by_key(|referrer| referrer.digest != *one.as_ref());
    let found: Vec<String> = referrers.into_iter().map(|referrer| referrer.digest).collect();
    assert_eq!(found, [one.to_string(), two.to_string()]);
    let attached = repository.at(two.as_ref()).artifact(&Wanted::All).await.unwrap();
    let attached = repository.with_blobs(attached, &Progress::hidden()).await.unwrap();
    assert_eq!(attached.blobs()[0].document().unwrap(), b"[]");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn registry_lists_what_is_attached() {
    attach_to_an_image(Running::start().await.address).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tag_lists_what_is_attached_where_the_registry_does_not() {
    let (address, log) = lying::serve(Lie::None, None).await;
    let attached = attach_to_an_image(address).await;
    assert_eq!(attached.len(), 2);
    let log = log.lock().unwrap();
    assert!(log.iter().any(|line| line.starts_with("PUT /v2/org/app/manifests/sha256-")), "{log:?}");
}

//! Where the webhook server's certificate comes from, and keeping it fresh.
//!
//! A folder that OLM or cert-manager mounts is read again when its files change. Without one the manager makes a
//! certificate of its own, keeps it in a Secret that all replicas follow, renews it when two thirds of its life are
//! over, and writes its authority into the webhook configurations.

use super::issue::{self, Pair};
use super::tls::Certificate;
use crate::metrics::Metrics;
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// The Secret of the certificate that the manager makes.
pub(crate) const SECRET: &str = "memcached-operator-webhook-server-cert";
const RENEW_AFTER: &str = "cache.example.com/renew-after";
const NOT_AFTER: &str = "cache.example.com/not-after";
/// Between two looks at mounted files; the kubelet itself takes up to a minute to change them.
const LOOK: Duration = Duration::from_secs(10);

/// Follows mounted files, for ever.
pub(super) async fn follow_files(folder: PathBuf, certificate: Certificate, ready: watch::Sender<bool>) {
    let mut known = None;
    loop {
        let read = |name: &str| std::fs::read(folder.join(name));
        match (read("tls.crt"), read("tls.key")) {
            (Ok(chain), Ok(key)) => {
                if known.as_ref() != Some(&(chain.clone(), key.clone())) {
                    match certificate.set(&chain, &key) {
                        Ok(()) => {
                            tracing::info!(folder = %folder.display(), "took a certificate from mounted files");
                            ready.send_replace(true);
                        }
                        // Files may be looked at between two of them being replaced.
                        Err(error) => {
                            tracing::warn!(error = format!("{error:#}"), "mounted certificate is unusable");
                        }
                    }
                    known = Some((chain, key));
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                tracing::warn!(%error, folder = %folder.display(), "the mounted certificate cannot be read");
            }
        }
        sleep(LOOK).await;
    }
}

/// What is kept in the Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    authority: Pair,
    serving: Pair,
    renew_after: Timestamp,
    not_after: Timestamp,
}

impl Stored {
    /// Reads a Secret; `None` when it is not one of ours in full.
    fn read(secret: &Secret) -> Option<Self> {
        let text = |key: &str| String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok();
        let time = |key: &str| secret.annotations().get(key)?.parse().ok();
        Some(Self {
            authority: Pair { certificate: text("ca.crt")?, key: text("ca.key")? },
            serving: Pair { certificate: text("tls.crt")?, key: text("tls.key")? },
            renew_after: time(RENEW_AFTER)?,
            not_after: time(NOT_AFTER)?,
        })
    }

    fn secret(&self, version: Option<String>) -> Secret {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        Secret {
            metadata: ObjectMeta {
                name: Some(SECRET.to_owned()),
                resource_version: version,
                annotations: Some(
                    [(RENEW_AFTER, self.renew_after), (NOT_AFTER, self.not_after)]
                        .map(|(key, time)| (key.to_owned(), time.to_string()))
                        .into(),
                ),
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/tls".to_owned()),
            data: Some(
                [
                    ("ca.crt", &self.authority.certificate),
                    ("ca.key", &self.authority.key),
                    ("tls.crt", &self.serving.certificate),
                    ("tls.key", &self.serving.key),
                ]
                .map(|(key, text)| (key.to_owned(), bytes(text)))
                .into(),
            ),
            ..Secret::default()
        }
    }

    /// A new serving certificate, by the authority of the former one where there is one.
    fn renewed(
        former: Option<&Self>,
        names: &[String],
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<Self, rcgen::Error> {
        let authority = match former {
            Some(former) => former.authority.clone(),
            None => issue::authority(now)?,
        };
        Ok(Self {
            serving: issue::serving(&authority, names, now, lifetime)?,
            authority,
            renew_after: now + lifetime * 2 / 3,
            not_after: now + lifetime,
        })
    }
}

/// Keeps the manager's own certificate.
pub(super) struct Keeper {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) names: Vec<String>,
    pub(super) lifetime: SignedDuration,
    /// Name of both webhook configurations, without `mutating-` and `validating-`.
    pub(super) configurations: [String; 2],
    pub(super) certificate: Certificate,
    pub(super) metrics: Arc<Metrics>,
}

/// Why a certificate could not be kept; it is tried again.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error("failed to make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    #[error("failed to write {what}: {source}")]
    Write { what: &'static str, source: kube::Error },
    #[error("the stored certificate is unusable: {0:#}")]
    Use(anyhow::Error),
}

impl Keeper {
    /// Serves with the certificate of the Secret, for ever.
    pub(super) async fn run(self, ready: watch::Sender<bool>) {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        let config = watcher::Config::default().fields(&format!("metadata.name={SECRET}"));
        let mut events = watcher(secrets.clone(), config).boxed();
        let mut secret: Option<Secret> = None;
        let mut listed = false;
        loop {
            let due = secret.as_ref().and_then(Stored::read).map(|stored| stored.renew_after);
            let wait = due.map_or(Duration::MAX, |due| {
                Duration::try_from(due.duration_since(Timestamp::now())).unwrap_or_default()
            });
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(Event::Init)) => { listed = false; secret = None; continue }
                    Some(Ok(Event::InitApply(found))) => { secret = Some(found); continue }
                    Some(Ok(Event::InitDone)) => listed = true,
                    Some(Ok(Event::Apply(found))) => secret = Some(found),
                    Some(Ok(Event::Delete(_))) => secret = None,
                    Some(Err(error)) => {
                        tracing::warn!(%error, "the watch of the webhook's Secret broke off, it will begin again");
                        sleep(Duration::from_secs(1)).await;
                        continue;
                    }
                    None => return,
                },
                () = sleep(wait.min(Duration::from_hours(1))) => {}
            }
            if !listed {
                continue;
            }
            match self.settle(&secrets, secret.as_ref()).await {
                Ok(written) => {
                    if let Some(written) = written {
                        secret = Some(written);
                    }
                    ready.send_replace(true);
                }
                Err(error) => {
                    tracing::warn!(%error, "the webhook's certificate is not in order, will try again");
                    sleep(Duration::from_secs(2)).await;
                    events = watcher(
                        secrets.clone(),
                        watcher::Config::default().fields(&format!("metadata.name={SECRET}")),
                    )
                    .boxed();
                }
            }
        }
    }

    /// Brings certificate, Secret and webhook configurations in order; returns the Secret where it was written.
    async fn settle(
        &self,
        secrets: &Api<Secret>,
        secret: Option<&Secret>,
    ) -> Result<Option<Secret>, KeepError> {
        let now = Timestamp::now();
        let stored = secret.and_then(Stored::read);
        let (stored, write) = match stored {
            Some(stored) if stored.renew_after > now => (stored, false),
            former => (Stored::renewed(former.as_ref(), &self.names, now, self.lifetime)?, true),
        };
        // Trust goes first: whoever serves with a new certificate is believed already.
        self.trust(&stored.authority.certificate).await?;
        let mut written = None;
        if write {
            let object = stored.secret(secret.and_then(ResourceExt::resource_version));
            let answer = match secret {
                Some(_) => secrets.replace(SECRET, &PostParams::default(), &object).await,
                None => secrets.create(&PostParams::default(), &object).await,
            };
            match answer {
                Ok(answer) => written = Some(answer),
                // Another replica was faster: what it wrote is on its way to us.
                Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                    return Ok(None);
                }
                Err(source) => return Err(KeepError::Write { what: "the webhook's Secret", source }),
            }
            tracing::info!(not_after = %stored.not_after, "made a certificate for the webhooks");
        }
        let Pair { certificate, key } = &stored.serving;
        self.certificate.set(certificate.as_bytes(), key.as_bytes()).map_err(KeepError::Use)?;
        self.metrics.certificate(stored.not_after.as_second());
        Ok(written)
    }

    async fn trust(&self, authority: &str) -> Result<(), KeepError> {
        let [mutating, validating] = &self.configurations;
        let bundle = ByteString(authority.as_bytes().to_vec());
        let mutating_done =
            inject::<MutatingWebhookConfiguration>(&self.client, mutating, &bundle, |found| {
                let webhooks = found.webhooks.iter().flatten();
                webhooks
                    .map(|webhook| (webhook.name.clone(), webhook.client_config.ca_bundle.clone()))
                    .collect()
            });
        mutating_done
            .await
            .map_err(|source| KeepError::Write { what: "the mutating webhook configuration", source })?;
        let validating_done =
            inject::<ValidatingWebhookConfiguration>(&self.client, validating, &bundle, |found| {
                let webhooks = found.webhooks.iter().flatten();
                webhooks
                    .map(|webhook| (webhook.name.clone(), webhook.client_config.ca_bundle.clone()))
                    .collect()
            });
        validating_done
            .await
            .map_err(|source| KeepError::Write { what: "the validating webhook configuration", source })
    }
}

/// Writes the authority into every webhook of a configuration that does not have it yet.
async fn inject<K>(
    client: &Client,
    name: &str,
    bundle: &ByteString,
    webhooks: impl Fn(&K) -> Vec<(String, Option<ByteString>)>,
) -> kube::Result<()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    let api: Api<K> = Api::all(client.clone());
    let Some(found) = api.get_opt(name).await? else {
        tracing::info!(name, kind = %K::kind(&()), "there is no such webhook configuration to write the authority into");
        return Ok(());
    };
    let webhooks = webhooks(&found);
    if webhooks.iter().all(|(_, known)| known.as_ref() == Some(bundle)) {
        return Ok(());
    }
    let webhooks: Vec<_> = webhooks
        .into_iter()
        .map(|(name, _)| json!({ "name": name, "clientConfig": { "caBundle": bundle } }))
        .collect();
    let body = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": { "name": name },
        "webhooks": webhooks,
    });
    let params = PatchParams::apply("memcached-operator-webhook-ca").force();
    api.patch_metadata(name, &params, &Patch::Apply(body)).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_back_and_a_renewal_keeps_the_authority() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let names = ["svc.ns.svc".to_owned()];
        let first = Stored::renewed(None, &names, now, SignedDuration::from_hours(3)).unwrap();
        assert_eq!(first.renew_after, now + SignedDuration::from_hours(2));
        assert_eq!(Stored::read(&first.secret(None)), Some(first.clone()));
        let second =
            Stored::renewed(Some(&first), &names, first.renew_after, SignedDuration::from_hours(3)).unwrap();
        assert_eq!(first.authority, second.authority);
        assert_ne!(first.serving, second.serving);
    }

    #[test]
    fn a_secret_of_somebody_else_is_made_anew() {
        assert_eq!(Stored::read(&Secret::default()), None);
    }
}

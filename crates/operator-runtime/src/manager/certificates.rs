//! Where the webhook server's certificate comes from, and how it is renewed.
//!
//! Files that OLM or cert-manager mounts are read again when they change. Without them the manager issues a certificate
//! itself, stores it in a Secret that all replicas follow, renews it after two thirds of its lifetime, and writes its
//! certificate authority into the webhook configurations and the CRDs that are converted. A manager outside of the cluster
//! keeps its certificate in memory, and only what refers to its URL trusts it.

use super::pki::{self, PemPair};
use super::tls::Certificate;
use crate::backoff::WatchBackoff;
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::webhook_url::WebhookUrl;
use futures::stream::select_all;
use futures::{Stream, StreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Time between two looks at mounted files; the kubelet itself takes up to a minute to change them.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Time until a failed attempt to renew or store the certificate is repeated.
const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// The certificate is verified at least this often.
const MAX_CHECK_INTERVAL: Duration = Duration::from_hours(1);

/// Serves with the certificate of mounted files; never returns.
pub async fn follow_files(directory: PathBuf, certificate: Certificate, ready: watch::Sender<bool>) {
    let mut known = None;
    loop {
        let read = |name: &str| std::fs::read(directory.join(name));
        match (read("tls.crt"), read("tls.key")) {
            (Ok(chain), Ok(key)) => {
                if known.as_ref() != Some(&(chain.clone(), key.clone())) {
                    match certificate.set(&chain, &key) {
                        Ok(()) => {
                            tracing::info!(directory = %directory.display(), "loaded the mounted certificate");
                            ready.send_replace(true);
                        }
                        // The files may be read while they are being replaced.
                        Err(error) => {
                            let error = format!("{:#}", anyhow::Error::new(error));
                            tracing::warn!(error, "invalid mounted certificate");
                        }
                    }
                    known = Some((chain, key));
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                tracing::warn!(%error, directory = %directory.display(), "failed to read the mounted certificate");
            }
        }
        sleep(FILE_CHECK_INTERVAL).await;
    }
}

/// The annotation with the time after which the certificate is renewed.
fn renew_after(identity: &Identity) -> String {
    format!("{}/renew-after", identity.group)
}

/// The annotation with the time at which the certificate expires.
fn not_after(identity: &Identity) -> String {
    format!("{}/not-after", identity.group)
}

/// What the Secret contains.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StoredCertificate {
    authority: PemPair,
    serving: PemPair,
    renew_after: Timestamp,
    not_after: Timestamp,
}

impl StoredCertificate {
    /// Parses a Secret; returns `None` if a key or an annotation is missing.
    fn parse(identity: &Identity, secret: &Secret) -> Option<Self> {
        let text = |key: &str| String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok();
        let time = |key: &str| secret.annotations().get(key)?.parse().ok();
        Some(Self {
            authority: PemPair { certificate: text("ca.crt")?, key: text("ca.key")? },
            serving: PemPair { certificate: text("tls.crt")?, key: text("tls.key")? },
            renew_after: time(&renew_after(identity))?,
            not_after: time(&not_after(identity))?,
        })
    }

    /// The Secret to write in place of `former`, whose type cannot be changed.
    fn secret(&self, identity: &Identity, former: Option<&Secret>) -> Secret {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        Secret {
            metadata: ObjectMeta {
                name: Some(identity.secret()),
                resource_version: former.and_then(ResourceExt::resource_version),
                annotations: Some(
                    [(renew_after(identity), self.renew_after), (not_after(identity), self.not_after)]
                        .map(|(key, time)| (key, time.to_string()))
                        .into(),
                ),
                ..ObjectMeta::default()
            },
            type_: former.map_or_else(|| Some("kubernetes.io/tls".to_owned()), |former| former.type_.clone()),
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

    /// Checks that the API server accepts the certificate now and until it is renewed, and that its key belongs to it.
    fn verify(&self, names: &[String], now: Timestamp) -> anyhow::Result<()> {
        let PemPair { certificate, key } = &self.serving;
        Certificate::default().set(certificate.as_bytes(), key.as_bytes())?;
        pki::verify(&self.authority.certificate, certificate, names, now)?;
        pki::verify(&self.authority.certificate, certificate, names, self.renew_after.max(now))
    }

    /// Issues a new serving certificate, by the authority of the former one if that is still usable.
    fn renewed(
        identity: &Identity,
        former: Option<&Self>,
        names: &[String],
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> anyhow::Result<Self> {
        let issued = |authority: PemPair| -> anyhow::Result<Self> {
            let renewed = Self {
                serving: pki::new_serving_certificate(identity, &authority, names, now, lifetime)?,
                authority,
                renew_after: now + lifetime * 2 / 3,
                not_after: now + lifetime,
            };
            renewed.verify(names, now)?;
            Ok(renewed)
        };
        if let Some(former) = former {
            match issued(former.authority.clone()) {
                Ok(renewed) => return Ok(renewed),
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::warn!(
                        error,
                        secret = identity.secret(),
                        "the stored certificate authority is unusable; replacing it"
                    );
                }
            }
        }
        issued(pki::new_authority(identity, now)?)
    }
}

/// An object that refers to the webhooks, and trusts a certificate authority.
#[derive(Clone, Debug)]
pub struct WebhookTarget {
    resource: ApiResource,
    name: String,
}

impl WebhookTarget {
    /// Returns the object of this name: `mutatingwebhookconfigurations`, `validatingwebhookconfigurations` or
    /// `customresourcedefinitions`.
    #[must_use]
    pub fn new(plural: &str, name: &str) -> Self {
        let resource = match plural {
            "mutatingwebhookconfigurations" => ApiResource::erase::<MutatingWebhookConfiguration>(&()),
            "validatingwebhookconfigurations" => ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
            _ => ApiResource::erase::<CustomResourceDefinition>(&()),
        };
        Self { resource, name: name.to_owned() }
    }

    /// Returns the part of the object that has to be applied for it to trust a certificate authority; `None` if it does
    /// already.
    fn missing(found: &DynamicObject, bundle: &Value) -> Option<Value> {
        if let Some(webhooks) = found.data["webhooks"].as_array() {
            if webhooks.iter().all(|webhook| webhook["clientConfig"]["caBundle"] == *bundle) {
                return None;
            }
            let injected =
                |webhook: &Value| json!({ "name": webhook["name"], "clientConfig": { "caBundle": bundle } });
            return Some(json!({ "webhooks": webhooks.iter().map(injected).collect::<Vec<_>>() }));
        }
        let client = &found.data["spec"]["conversion"]["webhook"]["clientConfig"];
        if !client.is_object() || client["caBundle"] == *bundle {
            return None;
        }
        // The conversion is one field to the API server's validation: without its strategy it is rejected.
        let webhook = json!({ "clientConfig": { "caBundle": bundle } });
        Some(json!({ "spec": { "conversion": { "strategy": "Webhook", "webhook": webhook } } }))
    }
}

/// The objects that the certificate manager follows.
#[derive(Default)]
struct FollowedObjects {
    secret: Option<Secret>,
    targets: Vec<Option<DynamicObject>>,
    /// Whether the watch of the Secret, and that of each target, has reported yet.
    listed: (bool, Vec<bool>),
}

impl FollowedObjects {
    fn new(targets: usize) -> Self {
        Self { secret: None, targets: vec![None; targets], listed: (false, vec![false; targets]) }
    }

    fn is_listed(&self) -> bool {
        self.listed.0 && self.listed.1.iter().all(|listed| *listed)
    }
}

/// Where the certificate is kept, and who refers to the webhooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateStorage {
    /// In a Secret of this namespace, for all managers behind the Service.
    Secret {
        /// The namespace.
        namespace: String,
    },
    /// In memory, for the one manager that serves at this URL.
    Memory {
        /// The URL.
        url: WebhookUrl,
    },
}

impl CertificateStorage {
    /// Returns whether an object refers to the webhooks that have this certificate.
    fn serves(&self, found: &DynamicObject) -> bool {
        let is_here = |client: &Value| match self {
            Self::Secret { .. } => client["url"].is_null(),
            Self::Memory { url } => {
                client["url"].as_str().is_some_and(|at| at.starts_with(&format!("{url}/")))
            }
        };
        match found.data["webhooks"].as_array() {
            Some(webhooks) => webhooks.iter().all(|webhook| is_here(&webhook["clientConfig"])),
            None => is_here(&found.data["spec"]["conversion"]["webhook"]["clientConfig"]),
        }
    }
}

/// Issues, renews and distributes the manager's own certificate.
pub struct CertificateManager {
    /// The client.
    pub client: Client,
    /// Names of the operator.
    pub identity: Identity,
    /// Where the certificate is kept.
    pub storage: CertificateStorage,
    /// Names under which the API server reaches the webhooks.
    pub names: Vec<String>,
    /// Lifetime of a certificate.
    pub lifetime: SignedDuration,
    /// The objects that have to trust the certificate.
    pub targets: Vec<WebhookTarget>,
    /// The certificate that the server uses.
    pub certificate: Certificate,
    /// The manager's metrics.
    pub metrics: Arc<Metrics>,
}

/// Why the certificate could not be renewed or distributed; it is retried.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("failed to issue a certificate: {0:#}")]
    Issue(anyhow::Error),
    #[error("failed to write {what}: {source}")]
    Write { what: String, source: kube::Error },
}

/// What one pass did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CertificateOutcome {
    /// The server uses a certificate that the API server trusts.
    Ready,
    /// Another replica stored a certificate first; the watch will report it.
    LostRace,
}

impl CertificateManager {
    /// Serves with the stored certificate, or with one that is kept in memory; never returns.
    pub async fn run(self, ready: watch::Sender<bool>) {
        let secrets = match &self.storage {
            CertificateStorage::Secret { namespace } => {
                let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
                follow(secrets, &self.identity.secret(), "Secret".to_owned()).left_stream()
            }
            // In memory there is no Secret to watch.
            CertificateStorage::Memory { .. } => stream::iter([None]).chain(stream::pending()).right_stream(),
        };
        let mut secrets = pin!(secrets);
        let mut targets =
            select_all(self.targets.iter().enumerate().map(|(index, WebhookTarget { resource, name })| {
                let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
                follow(api, name, resource.kind.clone()).map(move |found| (index, found)).boxed()
            }));
        let mut followed = FollowedObjects::new(self.targets.len());
        let mut retry = false;
        loop {
            let renewal =
                followed.secret.as_ref().and_then(|secret| StoredCertificate::parse(&self.identity, secret));
            let wait = renewal.filter(|_| !retry).map_or(RETRY_PERIOD, |stored| {
                Duration::try_from(stored.renew_after.duration_since(Timestamp::now())).unwrap_or_default()
            });
            tokio::select! {
                Some(found) = secrets.next() => (followed.secret, followed.listed.0) = (found, true),
                Some((index, found)) = targets.next() => {
                    (followed.targets[index], followed.listed.1[index]) = (found, true);
                }
                () = sleep(wait.min(MAX_CHECK_INTERVAL)) => {}
            }
            if !followed.is_listed() {
                continue;
            }
            match self.reconcile(&mut followed).await {
                Ok(CertificateOutcome::Ready) => {
                    retry = false;
                    ready.send_replace(true);
                }
                Ok(CertificateOutcome::LostRace) => retry = true,
                Err(error) => {
                    tracing::warn!(%error, "the webhook certificate is not ready; retrying");
                    retry = true;
                }
            }
        }
    }

    /// Brings certificate, Secret and webhook configurations into agreement.
    async fn reconcile(&self, followed: &mut FollowedObjects) -> Result<CertificateOutcome, Error> {
        let now = Timestamp::now();
        let secret = followed.secret.as_ref();
        let identity = &self.identity;
        let stored = secret.and_then(|secret| StoredCertificate::parse(identity, secret));
        if secret.is_some() && stored.is_none() {
            tracing::warn!(
                secret = identity.secret(),
                "the Secret does not contain a certificate; replacing it"
            );
        }
        let (current, renewed) = match stored {
            Some(stored) => match stored.verify(&self.names, now) {
                Ok(()) if stored.renew_after > now => (stored, false),
                Ok(()) => (self.renewed(Some(&stored), now)?, true),
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::warn!(
                        error,
                        secret = identity.secret(),
                        "the stored certificate is unusable; replacing it"
                    );
                    (self.renewed(Some(&stored), now)?, true)
                }
            },
            None => (self.renewed(None, now)?, true),
        };
        // Before the API server trusts an authority, its Secret is stored: of two replicas that issue one at the same time only
        // the faster one's is used. And before a replica serves with a certificate, the API server trusts its authority.
        if renewed && let Some(outcome) = self.store(followed, &current).await? {
            return Ok(outcome);
        }
        let bundle = json!(ByteString(current.authority.certificate.as_bytes().to_vec()));
        for (target, found) in self.targets.iter().zip(&mut followed.targets) {
            if let Some(written) = self.inject(target, found.as_ref(), &bundle).await? {
                *found = Some(written);
            }
        }
        let PemPair { certificate, key } = &current.serving;
        self.certificate
            .set(certificate.as_bytes(), key.as_bytes())
            .map_err(|error| Error::Issue(error.into()))?;
        self.metrics.certificate(current.not_after.as_second());
        Ok(CertificateOutcome::Ready)
    }

    fn renewed(
        &self,
        former: Option<&StoredCertificate>,
        now: Timestamp,
    ) -> Result<StoredCertificate, Error> {
        StoredCertificate::renewed(&self.identity, former, &self.names, now, self.lifetime)
            .map_err(Error::Issue)
    }

    /// Writes the Secret; returns an outcome if another replica was faster.
    async fn store(
        &self,
        followed: &mut FollowedObjects,
        current: &StoredCertificate,
    ) -> Result<Option<CertificateOutcome>, Error> {
        let former = followed.secret.as_ref();
        let secret = current.secret(&self.identity, former);
        let CertificateStorage::Secret { namespace } = &self.storage else {
            followed.secret = Some(secret);
            tracing::info!(not_after = %current.not_after, "issued a certificate for the webhooks");
            return Ok(None);
        };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let written = match former {
            Some(_) => secrets.replace(&self.identity.secret(), &PostParams::default(), &secret).await,
            None => secrets.create(&PostParams::default(), &secret).await,
        };
        match written {
            Ok(written) => followed.secret = Some(written),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                return Ok(Some(CertificateOutcome::LostRace));
            }
            Err(source) => return Err(Error::Write { what: "the webhook Secret".to_owned(), source }),
        }
        tracing::info!(not_after = %current.not_after, "issued a certificate for the webhooks");
        Ok(None)
    }

    /// Has an object trust the certificate authority; returns what was written.
    async fn inject(
        &self,
        target: &WebhookTarget,
        found: Option<&DynamicObject>,
        bundle: &Value,
    ) -> Result<Option<DynamicObject>, Error> {
        let (found, other) = match found {
            Some(found) if !self.storage.serves(found) => (None, Some(found)),
            found => (found, None),
        };
        if let (CertificateStorage::Memory { url }, Some(_)) = (&self.storage, other) {
            let (kind, name) = (&target.resource.kind, &target.name);
            tracing::warn!(%kind, %name, %url, "not called at --webhook-url; install the CRDs with the same --webhook-url");
        }
        let Some(mut body) = found.and_then(|found| WebhookTarget::missing(found, bundle)) else {
            return Ok(None);
        };
        let WebhookTarget { resource, name } = target;
        body["apiVersion"] = json!(resource.api_version);
        body["kind"] = json!(resource.kind);
        body["metadata"] = json!({ "name": name });
        // The field manager that owns the `caBundle`.
        let params = PatchParams::apply(&self.identity.prefixed("webhook-ca")).force();
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let written = api.patch(name, &params, &Patch::Apply(body)).await;
        let what = || format!("the CA bundle of the {} {name}", resource.kind);
        let written = written.map_err(|source| Error::Write { what: what(), source })?;
        tracing::info!(name, kind = resource.kind, "wrote the CA bundle");
        Ok(Some(written))
    }
}

/// Follows one object; yields `None` while it does not exist. A watch that fails is retried.
fn follow<K>(api: Api<K>, name: &str, kind: String) -> impl Stream<Item = Option<K>> + use<K>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    watch_object(api, name).backoff(WatchBackoff::default()).filter_map(move |event| {
        let found = event.inspect_err(|error| {
            tracing::warn!(%error, kind, "a watch failed; retrying");
        });
        std::future::ready(found.ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversion::CONVERT_PATH;
    use crate::manifests::webhooks;
    use crate::testing::sample::{IDENTITY, operator};
    use crate::testing::{Fault, MockApi};
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::WebhookClientConfig;
    use tokio::task::JoinHandle;

    const CONFIGURATIONS: [&str; 2] = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

    /// The Secret's name.
    const SECRET: &str = "test-operator-webhook-server-cert";
    /// The converted CRD.
    const CRD: &str = "clusters.example.com";

    fn configuration_names() -> [String; 2] {
        ["mutating", "validating"].map(|kind| IDENTITY.prefixed(&format!("{kind}-webhook-configuration")))
    }

    struct Scenario {
        api: MockApi,
        client: Client,
        certificate: Certificate,
        ready: watch::Receiver<bool>,
        sender: watch::Sender<bool>,
    }

    impl Scenario {
        fn new() -> Self {
            let (api, client) = MockApi::start();
            let (sender, ready) = watch::channel(false);
            let scenario = Self { api, client, certificate: Certificate::default(), ready, sender };
            scenario.configure();
            scenario
        }

        /// Creates the webhook configurations as `kubectl apply` does, without a CA bundle.
        fn configure(&self) {
            let (mutating, validating) = webhooks(&operator());
            for (resource, object) in CONFIGURATIONS.into_iter().zip([json!(mutating), json!(validating)]) {
                self.api.put(resource, object);
            }
            self.convert(None);
        }

        /// Has the CRD converted at a URL, or else at the Service.
        fn convert(&self, url: Option<&WebhookUrl>) {
            let url = url.map(|url| url.at(CONVERT_PATH));
            let webhook = WebhookClientConfig { url, ..WebhookClientConfig::default() };
            let crd = operator().crds[0].with_conversion(webhook).unwrap();
            self.api.put("customresourcedefinitions", serde_json::to_value(crd).unwrap());
        }

        fn manager(&self) -> CertificateManager {
            CertificateManager {
                client: self.client.clone(),
                identity: IDENTITY,
                storage: CertificateStorage::Secret { namespace: "default".into() },
                names: vec!["svc.ns.svc".into()],
                lifetime: SignedDuration::from_hours(3),
                targets: operator()
                    .configurations()
                    .iter()
                    .map(|(kind, name)| WebhookTarget::new(kind, name))
                    .collect(),
                certificate: self.certificate.clone(),
                metrics: Arc::new(Metrics::new(&IDENTITY)),
            }
        }

        fn start(&self) -> JoinHandle<()> {
            tokio::spawn(self.manager().run(self.sender.clone()))
        }

        async fn ready(&mut self) {
            let ready = self.ready.wait_for(|ready| *ready);
            tokio::time::timeout(Duration::from_mins(2), ready).await.expect("it becomes ready").unwrap();
            assert!(self.certificate.is_set());
        }

        fn stored(&self) -> Option<StoredCertificate> {
            StoredCertificate::parse(
                &IDENTITY,
                &serde_json::from_value(self.api.get("secrets", SECRET)?).ok()?,
            )
        }

        /// Returns an object that refers to the webhooks.
        async fn found(&self, target: &WebhookTarget) -> Option<DynamicObject> {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &target.resource);
            api.get_opt(&target.name).await.unwrap()
        }

        /// Whether both configurations have the CA bundle of the Secret.
        fn trusted(&self) -> bool {
            let Some(stored) = self.stored() else { return false };
            let bundle = serde_json::to_value(ByteString(stored.authority.certificate.into_bytes())).unwrap();
            let bundles = CONFIGURATIONS.into_iter().zip(configuration_names()).map(|(resource, name)| {
                let object = self.api.get(resource, &name).unwrap_or_default();
                object["webhooks"][0]["clientConfig"]["caBundle"].clone()
            });
            let crd = self.api.get("customresourcedefinitions", CRD).unwrap_or_default();
            let converted = crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"].clone();
            bundles.into_iter().chain([converted]).all(|found| found == bundle)
        }

        async fn until(&self, what: &str, condition: impl Fn(&Self) -> bool) {
            let waited = tokio::time::timeout(Duration::from_mins(2), async {
                while !condition(self) {
                    sleep(Duration::from_millis(5)).await;
                }
            });
            waited.await.unwrap_or_else(|_| panic!("{what}: {:#?}", self.api.calls()));
        }
    }

    #[test]
    fn manager_serves_only_what_refers_to_it() {
        let url: WebhookUrl = "https://192.0.2.1:9443".parse().unwrap();
        let crd = |client: Value| -> DynamicObject {
            let conversion = json!({ "webhook": { "clientConfig": client } });
            serde_json::from_value(json!({ "metadata": {}, "spec": { "conversion": conversion } })).unwrap()
        };
        let (at_url, at_service) =
            (crd(json!({ "url": "https://192.0.2.1:9443/convert" })), crd(json!({ "service": {} })));
        let secret = CertificateStorage::Secret { namespace: "ns".into() };
        let memory = CertificateStorage::Memory { url };
        let served = [&secret, &memory].map(|one| [one.serves(&at_url), one.serves(&at_service)]);
        assert_eq!(served, [[false, true], [true, false]]);
    }

    #[test]
    fn stored_certificate_is_parsed_again_and_a_renewal_keeps_the_authority() {
        let now = Timestamp::from_second(1_700_000_000).unwrap();
        let names = ["svc.ns.svc".to_owned()];
        let first =
            StoredCertificate::renewed(&IDENTITY, None, &names, now, SignedDuration::from_hours(3)).unwrap();
        assert_eq!(first.renew_after, now + SignedDuration::from_hours(2));
        assert_eq!(StoredCertificate::parse(&IDENTITY, &first.secret(&IDENTITY, None)), Some(first.clone()));
        let second = StoredCertificate::renewed(
            &IDENTITY,
            Some(&first),
            &names,
            first.renew_after,
            SignedDuration::from_hours(3),
        )
        .unwrap();
        assert_eq!(first.authority, second.authority);
        assert_ne!(first.serving, second.serving);
    }

    #[tokio::test]
    async fn new_certificate_is_stored_and_trusted() {
        let mut scenario = Scenario::new();
        let running = scenario.start();
        scenario.ready().await;
        assert!(scenario.trusted());
        running.abort();
    }

    #[tokio::test]
    async fn certificate_in_memory_is_trusted_by_what_refers_to_its_url() {
        let mut scenario = Scenario::new();
        let url: WebhookUrl = "https://192.0.2.1:9443".parse().unwrap();
        let storage = CertificateStorage::Memory { url: url.clone() };
        let manager =
            CertificateManager { storage, names: vec![url.host().to_owned()], ..scenario.manager() };
        let running = tokio::spawn(manager.run(scenario.sender.clone()));
        scenario.ready().await;
        assert_eq!(scenario.api.writes(), [""; 0], "another manager serves what refers to the Service");
        scenario.convert(Some(&url));
        let client = |scenario: &Scenario| {
            let crd = scenario.api.get("customresourcedefinitions", CRD).unwrap();
            crd["spec"]["conversion"]["webhook"]["clientConfig"].clone()
        };
        scenario.until("the CRD trusts it", |scenario| client(scenario)["caBundle"].is_string()).await;
        assert_eq!(client(&scenario)["url"], "https://192.0.2.1:9443/convert");
        assert!(scenario.stored().is_none());
        running.abort();
    }

    #[tokio::test]
    async fn garbage_in_the_secret_is_replaced() {
        type Break = fn(&mut Value);
        const GARBAGE: &str = "Z2FyYmFnZQ==";
        let breakages: [(&str, Break); 6] = [
            ("no data", |secret| secret["data"] = json!({})),
            ("a certificate that is not PEM", |secret| secret["data"]["tls.crt"] = json!(GARBAGE)),
            ("a key that is not PEM", |secret| secret["data"]["tls.key"] = json!(GARBAGE)),
            ("an authority that is not PEM", |secret| secret["data"]["ca.crt"] = json!(GARBAGE)),
            ("the key of the authority", |secret| {
                secret["data"]["tls.key"] = secret["data"]["ca.key"].clone();
            }),
            ("a renewal after the expiry", |secret| {
                secret["metadata"]["annotations"]["example.com/renew-after"] = json!("2200-01-01T00:00:00Z");
            }),
        ];
        for (what, breakage) in breakages {
            let mut scenario = Scenario::new();
            let running = scenario.start();
            scenario.ready().await;
            let before = scenario.stored().unwrap();
            scenario.api.change("secrets", SECRET, breakage);
            scenario
                .until(what, |scenario| {
                    let now = Timestamp::now();
                    let verified =
                        |stored: StoredCertificate| stored.verify(&["svc.ns.svc".to_owned()], now).is_ok();
                    scenario.stored().is_some_and(|stored| stored != before && verified(stored))
                        && scenario.trusted()
                })
                .await;
            running.abort();
        }
    }

    #[tokio::test]
    async fn authority_with_the_wrong_key_is_replaced() {
        let mut scenario = Scenario::new();
        let names = ["svc.ns.svc".to_owned()];
        let (now, lifetime) = (Timestamp::now(), SignedDuration::from_hours(3));
        let mut stored = StoredCertificate::renewed(&IDENTITY, None, &names, now, lifetime).unwrap();
        stored.authority.key = pki::new_authority(&IDENTITY, now).unwrap().key;
        stored.renew_after = now - SignedDuration::from_secs(1);
        scenario.api.put("secrets", serde_json::to_value(stored.secret(&IDENTITY, None)).unwrap());
        let running = scenario.start();
        scenario.ready().await;
        assert_ne!(scenario.stored().unwrap().authority.certificate, stored.authority.certificate);
        assert!(scenario.trusted());
        running.abort();
    }

    #[tokio::test]
    async fn lost_race_is_not_ready_before_the_other_replicas_certificate_is_loaded() {
        let scenario = Scenario::new();
        let lost = Fault::new("create", "secrets", 409, "AlreadyExists");
        scenario.api.fault(Fault { message: "another replica was faster", ..lost });
        let manager = scenario.manager();
        let mut followed = FollowedObjects::new(3);
        for (index, found) in followed.targets.iter_mut().enumerate() {
            *found = scenario.found(&manager.targets[index]).await;
        }
        assert_eq!(manager.reconcile(&mut followed).await.unwrap(), CertificateOutcome::LostRace);
        assert!(!scenario.certificate.is_set());
        assert_eq!(
            scenario.api.writes(),
            [""; 0],
            "nobody serves with the certificate authority that was lost"
        );

        // The same in full: two replicas start at once, and both serve with the certificate of the one that won.
        let mut scenario = Scenario::new();
        let other = CertificateManager { certificate: Certificate::default(), ..scenario.manager() };
        let certificate = other.certificate.clone();
        let (sender, mut other_ready) = watch::channel(false);
        let running = [scenario.start(), tokio::spawn(other.run(sender))];
        scenario.ready().await;
        other_ready.wait_for(|ready| *ready).await.unwrap();
        assert!(certificate.is_set());
        scenario.until("the stored authority is trusted", Scenario::trusted).await;
        let stored = scenario.stored().unwrap();
        for certificate in [&certificate, &scenario.certificate] {
            assert!(certificate.serves(stored.serving.certificate.as_bytes()));
        }
        for task in running {
            task.abort();
        }
    }

    #[tokio::test]
    async fn recreated_webhook_configuration_gets_its_ca_bundle_at_once() {
        let mut scenario = Scenario::new();
        let running = scenario.start();
        scenario.ready().await;
        for (resource, name) in CONFIGURATIONS.into_iter().zip(configuration_names()) {
            scenario.api.delete(resource, &name);
        }
        scenario.api.delete("customresourcedefinitions", CRD);
        scenario.configure();
        assert!(!scenario.trusted());
        scenario.until("the CA bundle is back", Scenario::trusted).await;
        running.abort();
    }
}

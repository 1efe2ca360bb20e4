//! An operator of something outside of the cluster: buckets of a cloud that limits calls, is away at times, and deletes slowly.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::{CustomResource, ResourceExt};
use operator_runtime::cli::NoArgs;
use operator_runtime::conditions::ConditionStatus::{False, True};
use operator_runtime::context::Context;
use operator_runtime::controller::{
    Child, Children, Cleanup, Error, External, Invalid, Observed, RateLimit, Reconciler, Status, Watches,
};
use operator_runtime::crd::Crd;
use operator_runtime::{Identity, Operator, generate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Names of the operator.
pub const IDENTITY: Identity = Identity {
    name: "bucket-operator",
    group: "storage.example.com",
    version: "1.0.0",
    about: "Creates buckets in a cloud",
    image: "example.com/bucket-operator",
};

/// Desired state of a Bucket.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "storage.example.com", version = "v1", kind = "Bucket", namespaced, status = "BucketStatus")]
pub struct BucketSpec {
    /// Where it is.
    pub region: String,
}

/// Observed state of a Bucket.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
pub struct BucketStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "operator_runtime::conditions::schema")]
    pub conditions: Vec<Condition>,
    /// Address of the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Status for BucketStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

/// Why the cloud refused a call.
#[derive(Debug)]
pub enum CloudError {
    /// There were too many calls; the next one may be made after this time, as in the header `Retry-After`.
    Busy(Duration),
    /// It is away.
    Away,
    /// There is no such region.
    UnknownRegion,
}

/// The API of the cloud. A real one is an HTTP client with a limit on the size of responses.
pub trait Cloud: Send + Sync + 'static {
    /// Creates a bucket, or finds it, and returns its address.
    fn ensure(&self, name: &str, region: &str) -> impl Future<Output = Result<String, CloudError>> + Send;
    /// Deletes a bucket; returns whether it is gone.
    fn delete(&self, name: &str) -> impl Future<Output = Result<bool, CloudError>> + Send;
}

impl From<CloudError> for Error {
    fn from(error: CloudError) -> Self {
        match error {
            CloudError::Busy(after) => Self::retry_after(after, "the cloud is busy"),
            CloudError::Away => Self::other("the cloud is away"),
            CloudError::UnknownRegion => Invalid::new("spec.region: is unknown to the cloud").into(),
        }
    }
}

/// The controller of Buckets.
pub struct Buckets<C> {
    key: Child<Secret>,
    cloud: Arc<C>,
    limit: RateLimit,
}

impl<C: Cloud> Buckets<C> {
    fn new(watches: &mut Watches<Bucket>, cloud: Arc<C>) -> Self {
        let limit = RateLimit::new(Duration::from_millis(100), 10);
        Self { key: watches.child(), cloud, limit }
    }
}

impl<C: Cloud> Reconciler for Buckets<C> {
    type Object = Bucket;
    type Status = BucketStatus;
    /// The address of the bucket.
    type External = String;
    const FINALIZER: Option<&'static str> = Some("storage.example.com/finalizer");
    const EXTERNAL_TIMEOUT: Duration = Duration::from_secs(20);

    async fn reconcile_external(
        &self,
        bucket: &Bucket,
        _: &Observed<Self>,
        _: &Context,
    ) -> Result<External<String>, Error> {
        self.limit.acquire().await;
        let url = self.cloud.ensure(&bucket.name_any(), &bucket.spec.region).await?;
        Ok(External::new(url).again_after(Duration::from_mins(5)))
    }

    /// A bucket has a key that is generated once.
    fn desired(&self, bucket: &Bucket, _: &Observed<Self>) -> Result<Children, Error> {
        let mut children = Children::new();
        let secret = Secret {
            metadata: ObjectMeta {
                name: Some(format!("{}-key", bucket.name_any())),
                ..ObjectMeta::default()
            },
            string_data: Some([("key".to_owned(), generate::password(40)?)].into()),
            ..Secret::default()
        };
        children.create_once(self.key, secret);
        Ok(children)
    }

    fn status(&self, _: &Bucket, observed: &Observed<Self>) -> BucketStatus {
        let mut status = observed.draft();
        if let Some(url) = observed.external() {
            status.url = Some(url.clone());
        }
        let (state, message) = match (observed.external(), &status.url) {
            (Some(_), _) => (True, "The bucket exists"),
            (None, Some(_)) => (True, "The bucket existed when the cloud was asked last"),
            (None, None) => (False, "The bucket does not exist yet"),
        };
        status.set("Available", state, "Bucket", message);
        status.degraded(observed.problem());
        status.finish()
    }

    async fn cleanup(&self, bucket: &Bucket, _: &Observed<Self>, _: &Context) -> Result<Cleanup, Error> {
        self.limit.acquire().await;
        if self.cloud.delete(&bucket.name_any()).await? {
            return Ok(Cleanup::Done);
        }
        Ok(Cleanup::waiting("The bucket is being emptied", Duration::from_secs(10)))
    }
}

/// Returns the operator.
pub fn operator(cloud: &Arc<impl Cloud>) -> Operator {
    let controller = |watches: &mut Watches<Bucket>| Buckets::new(watches, Arc::clone(cloud));
    Operator::new(IDENTITY).crd(Crd::new::<Bucket>()).controller(controller)
}

/// A cloud that has every bucket.
struct Everything;

impl Cloud for Everything {
    async fn ensure(&self, name: &str, region: &str) -> Result<String, CloudError> {
        Ok(format!("https://{region}.example.com/{name}"))
    }
    async fn delete(&self, _: &str) -> Result<bool, CloudError> {
        Ok(true)
    }
}

fn main() -> std::process::ExitCode {
    operator_runtime::main(&IDENTITY, |_: &NoArgs| operator(&Arc::new(Everything)))
}

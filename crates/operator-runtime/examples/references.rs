//! Kinds that refer to each other and to Secrets: a Record is in a Zone, which has credentials in any namespace.
//!
//! A Zone publishes a `ConfigMap` with all Records that have its label. A Record is available once its Zone is. Whatever
//! changes, and in whichever order objects appear, the other side is reconciled.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::core::{Expression, Selector};
use kube::{CustomResource, ResourceExt};
use operator_runtime::cli::NoArgs;
use operator_runtime::conditions::ConditionStatus::{False, True};
use operator_runtime::controller::{
    Child, Children, Error, Key, Observed, ReconcileProblem, Reconciler, Reference, References, Status,
    Watches,
};
use operator_runtime::crd::Crd;
use operator_runtime::views::{Conditions, ConfigMapData, SecretData};
use operator_runtime::{Identity, Operator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The label of Records: the name of their Zone.
pub const ZONE: &str = "dns.example.com/zone";

/// Names of the operator.
pub const IDENTITY: Identity = Identity {
    name: "dns-operator",
    group: "dns.example.com",
    version: "1.0.0",
    about: "Publishes zones of records",
    image: "example.com/dns-operator",
};

/// Desired state of a Zone.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "dns.example.com", version = "v1", kind = "Zone", namespaced, status = "DnsStatus")]
pub struct ZoneSpec {
    /// The Secret with the key `token`.
    pub credentials: SecretReference,
}

/// A Secret.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub struct SecretReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// Desired state of a Record.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "dns.example.com", version = "v1", kind = "Record", namespaced, status = "DnsStatus")]
pub struct RecordSpec {
    /// The address.
    pub address: String,
}

/// Observed state.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
pub struct DnsStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "operator_runtime::conditions::schema")]
    pub conditions: Vec<Condition>,
}

impl Status for DnsStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

/// What a Zone reads of a Record.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Address {
    spec: RecordSpec,
}

/// The controller of Zones.
pub struct Zones {
    published: Child<ConfigMap, ConfigMapData>,
    credentials: References<Secret, SecretData>,
    records: References<Record, Address>,
}

impl Zones {
    fn new(watches: &mut Watches<Zone>) -> Self {
        Self {
            published: watches.child(),
            credentials: watches.referenced(|zone| {
                let SecretReference { namespace, name } = &zone.spec.credentials;
                vec![Reference::named(name).in_namespace(namespace)]
            }),
            records: watches.referenced(|zone| {
                vec![Reference::labelled(Selector::from(Expression::Equal(ZONE.to_owned(), zone.name_any())))]
            }),
        }
    }
}

impl Reconciler for Zones {
    type Object = Zone;
    type Status = DnsStatus;
    type External = ();

    fn desired(&self, zone: &Zone, observed: &Observed<Self>) -> Result<Children, Error> {
        let mut children = Children::new();
        let token = observed.reference(self.credentials).and_then(|secret| secret.string("token"));
        // What is published stays while the credentials are missing.
        if token.is_some() || observed.child(self.published, &zone.name_any()).is_some() {
            let records = observed.references(self.records);
            let data = records.map(|(key, record)| (key.name.clone(), record.spec.address.clone())).collect();
            let published = ConfigMap {
                metadata: ObjectMeta { name: Some(zone.name_any()), ..ObjectMeta::default() },
                data: Some(data),
                ..ConfigMap::default()
            };
            children.add(self.published, published);
        }
        Ok(children)
    }

    fn status(&self, zone: &Zone, observed: &Observed<Self>) -> DnsStatus {
        let mut status = observed.draft();
        let SecretReference { namespace, name } = &zone.spec.credentials;
        let missing = match observed.reference(self.credentials) {
            None => Some(format!("the Secret {namespace}/{name} does not exist")),
            Some(secret) if secret.string("token").is_none() => {
                Some(format!("the Secret {namespace}/{name} has no key `token`"))
            }
            Some(_) => None,
        };
        let missing = missing.map(|message| ReconcileProblem::new("CredentialsMissing", message));
        let published = observed.child(self.published, &zone.name_any()).is_some();
        let available = published && missing.is_none();
        status.set(
            "Available",
            if available { True } else { False },
            "Published",
            "Whether the records are published",
        );
        status.degraded(observed.problem().or(missing.as_ref()));
        status.finish()
    }
}

/// The controller of Records.
pub struct Records {
    zone: References<Zone, Conditions>,
}

impl Records {
    fn new(watches: &mut Watches<Record>) -> Self {
        let zone = |record: &Record| record.labels().get(ZONE).map(Reference::named).into_iter().collect();
        Self { zone: watches.referenced(zone) }
    }
}

impl Reconciler for Records {
    type Object = Record;
    type Status = DnsStatus;
    type External = ();

    fn desired(&self, _: &Record, _: &Observed<Self>) -> Result<Children, Error> {
        Ok(Children::new())
    }

    fn status(&self, record: &Record, observed: &Observed<Self>) -> DnsStatus {
        let mut status = observed.draft();
        let (state, reason, message) = match record.labels().get(ZONE) {
            None => (False, "NoZone", format!("The label {ZONE} is not set")),
            Some(zone) => match observed.reference_to(self.zone, &Key::beside(record, zone)) {
                None => (False, "ZoneMissing", format!("The Zone {zone} does not exist")),
                Some(conditions) if !conditions.is_true("Available") => {
                    (False, "ZoneUnavailable", format!("The Zone {zone} is not available"))
                }
                Some(_) => (True, "Published", format!("The Zone {zone} contains the record")),
            },
        };
        status.set("Available", state, reason, message);
        status.degraded(observed.problem());
        status.finish()
    }
}

/// Returns the operator.
pub fn operator() -> Operator {
    Operator::new(IDENTITY)
        .crd(Crd::new::<Zone>())
        .controller(Zones::new)
        .crd(Crd::new::<Record>())
        .controller(Records::new)
}

fn main() -> std::process::ExitCode {
    operator_runtime::main(&IDENTITY, |_: &NoArgs| operator())
}

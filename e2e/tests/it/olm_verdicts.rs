//! CSVs installed with their CRDs: the phases that OLM sets match the findings of `bundle-tool validate`.
//!
//! Each case is the valid bundle of the rules' tests with one edit. OLM needs no catalog for this: it takes any CSV
//! in a namespace with an operator group.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use e2e::{Cluster, Namespace, TIMEOUT, wait_for};
use futures::future::try_join_all;
use kube::api::{Api, DynamicObject, PostParams};
use kube::{Client, ResourceExt as _};
use olm_model::read;
use olm_rules::Selection;
use serde_json::{Value, json};

const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const CRD: &str = "manifests/gizmos.gadgets.example.com.crd.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";

/// What OLM, or the API server before it, makes of a CSV.
#[derive(Debug, Clone, Copy)]
enum Outcome {
    /// The Deployments are created.
    Installs,
    /// The CSV fails for this reason.
    Fails(&'static str),
    /// The CSV waits for ever, for this reason.
    Waits(&'static str),
    /// The API server does not take the CSV; its answer holds this.
    Refused(&'static str),
}

struct Case {
    name: &'static str,
    /// The rule that finds it; nothing where the CSV is valid.
    rule: Option<&'static str>,
    outcome: Outcome,
    edit: fn(&mut Value, &mut Value),
}

const CASES: &[Case] = &[
    Case {
        name: "mode-twice",
        rule: Some("install-mode-duplicate"),
        outcome: Outcome::Fails("InvalidInstallModes"),
        edit: |csv, _| push(csv, "/spec/installModes", json!({"type": "AllNamespaces", "supported": true})),
    },
    Case {
        name: "mode-unknown",
        rule: Some("install-mode-none"),
        outcome: Outcome::Fails("UnsupportedOperatorGroup"),
        edit: |csv, _| set(csv, "/spec/installModes", json!([{"type": "SomeNamespaces", "supported": true}])),
    },
    Case {
        name: "strategy",
        rule: Some("install-strategy-unknown"),
        outcome: Outcome::Fails("InvalidInstallStrategy"),
        edit: |csv, _| set(csv, "/spec/install/strategy", json!("helm")),
    },
    Case {
        name: "kube-version",
        rule: Some("min-kube-version-unknown"),
        outcome: Outcome::Waits("RequirementsNotMet"),
        edit: |csv, _| set(csv, "/spec/minKubeVersion", json!("1.99.0")),
    },
    Case {
        name: "kube-version-bad",
        rule: Some("min-kube-version-invalid"),
        outcome: Outcome::Waits("RequirementsNotMet"),
        edit: |csv, _| set(csv, "/spec/minKubeVersion", json!("1.x")),
    },
    Case {
        name: "replaces-itself",
        rule: Some("csv-replaces-itself"),
        outcome: Outcome::Waits("RequirementsUnknown"),
        edit: |csv, _| {
            let name = csv["metadata"]["name"].clone();
            set(csv, "/spec/replaces", name);
        },
    },
    Case {
        name: "version-missing",
        rule: Some("owned-crd-missing"),
        outcome: Outcome::Waits("RequirementsNotMet"),
        edit: |csv, _| set(csv, "/spec/customresourcedefinitions/owned/0/version", json!("v9")),
    },
    Case {
        name: "not-served",
        rule: Some("owned-crd-not-served"),
        outcome: Outcome::Waits("RequirementsNotMet"),
        edit: |csv, crd| {
            let mut old = crd["spec"]["versions"][0].clone();
            set(&mut old, "/name", json!("v0"));
            set(&mut old, "/served", json!(false));
            set(&mut old, "/storage", json!(false));
            push(crd, "/spec/versions", old);
            let mut owned = csv["spec"]["customresourcedefinitions"]["owned"][0].clone();
            set(&mut owned, "/version", json!("v0"));
            push(csv, "/spec/customresourcedefinitions/owned", owned);
        },
    },
    Case {
        name: "api-service",
        rule: Some("api-service-deployment-unknown"),
        outcome: Outcome::Waits("RequirementsNotMet"),
        edit: |csv, _| {
            let owned = json!({"name": "widgets", "group": "widgets.example.com", "version": "v1", "kind": "Widget",
                "deploymentName": "other"});
            set(csv, "/spec/apiservicedefinitions", json!({"owned": [owned]}));
        },
    },
    Case {
        name: "webhook-twice",
        rule: Some("webhook-name-duplicate"),
        outcome: Outcome::Fails("InvalidWebhookDescription"),
        edit: |csv, _| webhook(csv, |webhook| set(webhook, "/type", json!("MutatingAdmissionWebhook"))),
    },
    Case {
        name: "webhook-all",
        rule: Some("webhook-rule-forbidden"),
        outcome: Outcome::Fails("InvalidWebhookDescription"),
        edit: |csv, _| set(csv, "/spec/webhookdefinitions/0/rules/0/apiGroups", json!(["*"])),
    },
    Case {
        name: "webhook-port",
        rule: Some("webhook-port-conflict"),
        outcome: Outcome::Fails("InstallComponentFailed"),
        edit: |csv, _| {
            webhook(csv, |webhook| {
                set(webhook, "/generateName", json!("other.example.com"));
                set(webhook, "/targetPort", json!(9444));
            });
        },
    },
    Case {
        name: "service-name",
        rule: Some("webhook-service-name-invalid"),
        outcome: Outcome::Fails("InstallComponentFailed"),
        edit: |csv, _| {
            set(csv, "/spec/install/spec/deployments/0/name", json!("gizmo.operator"));
            set(csv, "/spec/webhookdefinitions/0/deploymentName", json!("gizmo.operator"));
        },
    },
    Case {
        name: "conversion-modes",
        rule: Some("conversion-install-modes"),
        outcome: Outcome::Fails("InstallComponentFailed"),
        edit: |csv, _| {
            conversion(csv, |_| {});
            push(csv, "/spec/installModes", json!({"type": "OwnNamespace", "supported": true}));
        },
    },
    Case {
        name: "conversion-foreign",
        rule: Some("conversion-crd-not-owned"),
        outcome: Outcome::Fails("InstallComponentFailed"),
        edit: |csv, _| {
            conversion(csv, |webhook| set(webhook, "/conversionCRDs", json!(["others.example.com"])));
        },
    },
    Case {
        name: "conversion-path",
        rule: Some("conversion-path-invalid"),
        outcome: Outcome::Fails("InstallComponentFailed"),
        edit: |csv, _| conversion(csv, |webhook| set(webhook, "/webhookPath", json!("convert"))),
    },
    Case {
        name: "conversion",
        rule: None,
        outcome: Outcome::Installs,
        edit: |csv, _| conversion(csv, |_| {}),
    },
    Case {
        name: "env-twice",
        rule: Some("pod-list-duplicate"),
        outcome: Outcome::Refused("Duplicate value"),
        edit: |csv, _| {
            let path = "/spec/install/spec/deployments/0/spec/template/spec/containers/0/env";
            push(csv, path, json!({"name": "GREETING", "value": "again"}));
        },
    },
    Case {
        name: "descriptor",
        rule: Some("descriptor-value-invalid"),
        outcome: Outcome::Refused("must be of type byte"),
        edit: |csv, _| {
            let path = "/spec/customresourcedefinitions/owned/0/specDescriptors";
            set(csv, path, json!([{"path": "size", "value": "no base64!"}]));
        },
    },
    Case {
        name: "deployment-twice",
        rule: None,
        outcome: Outcome::Installs,
        edit: |csv, _| {
            let deployment = csv["spec"]["install"]["spec"]["deployments"][0].clone();
            push(csv, "/spec/install/spec/deployments", deployment);
        },
    },
    Case { name: "valid", rule: None, outcome: Outcome::Installs, edit: |_, _| {} },
];

/// Sets the value at a JSON pointer whose parent is there.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    object.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}"))[key] = value;
}

fn push(object: &mut Value, pointer: &str, value: Value) {
    let list = object.pointer_mut(pointer).and_then(Value::as_array_mut);
    list.unwrap_or_else(|| panic!("no list {pointer}")).push(value);
}

/// Adds the first webhook once more, edited.
fn webhook(csv: &mut Value, edit: fn(&mut Value)) {
    let mut webhook = csv["spec"]["webhookdefinitions"][0].clone();
    edit(&mut webhook);
    push(csv, "/spec/webhookdefinitions", webhook);
}

/// Adds a conversion webhook, edited, and leaves one install mode.
fn conversion(csv: &mut Value, edit: fn(&mut Value)) {
    let crd = csv["spec"]["customresourcedefinitions"]["owned"][0]["name"].clone();
    let mut webhook = json!({"type": "ConversionWebhook", "generateName": "conversion.example.com",
        "deploymentName": "gizmo-operator", "containerPort": 443, "targetPort": 9443, "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "conversionCRDs": [crd]});
    edit(&mut webhook);
    push(csv, "/spec/webhookdefinitions", webhook);
    set(csv, "/spec/installModes", json!([{"type": "AllNamespaces", "supported": true}]));
}

fn fixture(path: &str) -> Result<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/olm-rules/tests/fixtures/bundle");
    let parsed = kube_yaml::parse(&fs::read(root.join(path))?);
    Ok(parsed.documents.first().context("an empty fixture")?.root().to_json())
}

/// The valid bundle as a case of its own: its names and its API group are nobody else's, and it needs no permissions.
fn base(case: &str) -> Result<(Value, Value)> {
    let own = |value: Value| -> Result<Value> {
        let text = value.to_string().replace("gadgets.example.com", &format!("{case}.example.com"));
        Ok(serde_json::from_str(&text)?)
    };
    let (mut csv, crd) = (own(fixture(CSV)?)?, own(fixture(CRD)?)?);
    set(&mut csv, "/metadata/name", json!(format!("gizmo-{case}.v1.2.0")));
    set(&mut csv, "/spec/install/spec/permissions", json!([]));
    set(&mut csv, "/spec/install/spec/clusterPermissions", json!([]));
    Ok((csv, crd))
}

/// The errors that we find.
fn errors(csv: &Value, crd: &Value) -> Result<Vec<&'static str>> {
    let files = BTreeMap::from([
        (CSV.to_owned(), serde_json::to_vec(csv)?),
        (CRD.to_owned(), serde_json::to_vec(crd)?),
        (ANNOTATIONS.to_owned(), serde_json::to_vec(&fixture(ANNOTATIONS)?)?),
    ]);
    let report = olm_rules::validate(&read::bundle::files("case", &files), &Selection::default());
    let errors =
        report.findings.iter().filter(|finding| finding.severity == olm_model::report::Severity::Error);
    Ok(errors.map(|finding| finding.rule).collect())
}

struct Running {
    case: &'static Case,
    namespace: Namespace,
    crd: Value,
    csvs: Api<DynamicObject>,
    name: String,
}

impl Running {
    /// Compares our verdict with the case's, creates the objects and waits for OLM's.
    async fn start(cluster: &Cluster, case: &'static Case) -> Result<Option<Self>> {
        let (mut csv, mut crd) = base(case.name)?;
        (case.edit)(&mut csv, &mut crd);
        let errors = errors(&csv, &crd)?;
        match case.rule {
            Some(rule) => {
                ensure!(errors.contains(&rule), "{}: we find {errors:?} instead of {rule}", case.name);
            }
            None => ensure!(errors.is_empty(), "{}: we find {errors:?}", case.name),
        }
        let namespace = cluster.namespace_for("olm-verdict", "privileged").await?;
        let group = json!({"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "all", "namespace": namespace.name}, "spec": {}});
        cluster.apply(&group).await?;
        cluster.apply(&crd).await?;
        set(&mut csv, "/metadata/namespace", json!(namespace.name));
        let csvs =
            cluster.api("operators.coreos.com/v1alpha1", "ClusterServiceVersion", &namespace.name).await?;
        let object: DynamicObject = serde_json::from_value(csv)?;
        let name = object.name_any();
        let created = csvs.create(&PostParams::default(), &object).await;
        let running = Self { case, namespace, crd, csvs, name };
        match (case.outcome, created) {
            (Outcome::Refused(part), Err(kube::Error::Api(status))) => {
                ensure!(status.message.contains(part), "{}: {}", case.name, status.message);
                running.finish(cluster).await?;
                Ok(None)
            }
            (Outcome::Refused(_), Ok(_)) => bail!("{}: the API server takes the CSV", case.name),
            (_, created) => {
                created.with_context(|| format!("{}: the API server refuses the CSV", case.name))?;
                running.settle().await?;
                Ok(Some(running))
            }
        }
    }

    async fn phase(&self) -> Result<(String, String)> {
        let status = self.csvs.get(&self.name).await?.data["status"].clone();
        let text = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
        Ok((text("phase"), text("reason")))
    }

    /// Waits until OLM has made up its mind.
    async fn settle(&self) -> Result<()> {
        let outcome = self.case.outcome;
        wait_for(&format!("{}: {outcome:?}", self.case.name), TIMEOUT, async || {
            let (phase, reason) = self.phase().await?;
            let reached = match outcome {
                Outcome::Installs => phase == "Installing" || phase == "Succeeded",
                Outcome::Fails(wanted) => phase == "Failed" && reason == wanted,
                Outcome::Waits(wanted) => phase == "Pending" && reason == wanted,
                Outcome::Refused(_) => false,
            };
            ensure!(reached, "{phase}, {reason}");
            Ok(())
        })
        .await
    }

    async fn finish(self, cluster: &Cluster) -> Result<()> {
        // The CSV goes first, so that OLM takes its webhooks away before their namespace.
        let parameters = kube::api::DeleteParams::background();
        if self.csvs.get_opt(&self.name).await?.is_some() {
            self.csvs.delete(&self.name, &parameters).await?;
            wait_for(&format!("{} is gone", self.name), TIMEOUT, async || {
                ensure!(self.csvs.get_opt(&self.name).await?.is_none(), "it is still there");
                Ok(())
            })
            .await?;
        }
        cluster.delete(&self.crd).await?;
        self.namespace.delete().await
    }
}

#[tokio::test]
async fn csvs_get_the_phase_that_validate_predicts() -> Result<()> {
    let cluster = Cluster::from_env().await?;
    forget_earlier_runs(&cluster.client).await?;
    let (valid, others) = CASES.split_last().context("no cases")?;
    let started = try_join_all(others.iter().map(|case| Running::start(&cluster, case))).await?;
    // When a CSV that came later is being installed, those that wait have had their chance.
    let valid = Running::start(&cluster, valid).await?;
    for running in started.into_iter().flatten().chain(valid) {
        if let Outcome::Waits(reason) = running.case.outcome {
            let (phase, now) = running.phase().await?;
            ensure!(phase == "Pending" && now == reason, "{}: {phase}, {now}", running.case.name);
        }
        running.finish(&cluster).await?;
    }
    Ok(())
}

/// Deletes the CRDs that a failed run left: they are the only objects whose names are the same each time.
async fn forget_earlier_runs(client: &Client) -> Result<()> {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    for case in CASES {
        let name = format!("gizmos.{}.example.com", case.name);
        if crds.get_opt(&name).await?.is_some() {
            crds.delete(&name, &kube::api::DeleteParams::background()).await?;
            wait_for(&format!("{name} is gone"), TIMEOUT, async || {
                ensure!(crds.get_opt(&name).await?.is_none(), "it is still there");
                Ok(())
            })
            .await?;
        }
    }
    Ok(())
}

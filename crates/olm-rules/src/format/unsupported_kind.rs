use std::collections::HashSet;

use crate::prelude::*;
use crate::shared::hidden_csv;
use kube_yaml::Value;
use olm_model::Object;
use olm_model::bundle::{installable_kinds, is_installable};
use olm_model::report::suggest::nearest;

pub(crate) static RULE: Rule = Rule {
    id: "unsupported-kind",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` contains an object without a kind, or of a kind that OLM does not install from bundles.",
    impacts: &[Impact::SdkRejects, Impact::InstallPlanFails],
    help: "remove the object, or have the operator create it",
    sources: &[
        Source::file(Project::OperatorRegistry, "pkg/lib/bundle/supported_resources.go").since("1.6"),
        Source::file(
            Project::OperatorLifecycleManager,
            "pkg/controller/operators/catalog/supportedresources.go",
        )
        .since("0.14"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let kinds = context.objects.iter().filter(|object| object.kind() == CRD);
    let own_kinds: HashSet<&str> = kinds
        .map(|crd| crd.root.dig(&["spec", "names", "kind"]).and_then(Value::as_str).unwrap_or_default())
        .collect();
    for object in &context.objects {
        match object.kind() {
            "" => missing(object, reporter),
            kind if !is_installable(kind) => {
                let path = root.field("kind");
                let message =
                    if let Some(near) = long_name(kind).or_else(|| nearest(kind, installable_kinds())) {
                        reporter.help("correct the kind");
                        reporter.fix(Fix::new(Safety::Unsafe, &path, Change::SetString(near.to_owned())));
                        format!("unsupported kind `{kind}`: did you mean `{near}`?")
                    } else {
                        if let Some(help) = help(kind) {
                            reporter.help(help);
                        } else if own_kinds.contains(kind) {
                            reporter.help(EXAMPLE);
                        }
                        format!("unsupported kind `{kind}`")
                    };
                reporter.field(object, &path, message);
            }
            _ => {}
        }
    }
}

/// The kind of CRDs.
const CRD: &str = "CustomResourceDefinition";

/// What to do about an object of a kind that the bundle defines.
const EXAMPLE: &str =
    "move the object to the annotation alm-examples of the CSV, or have the operator create it";

/// Returns the kind that kubectl's short name of it stands for.
fn long_name(kind: &str) -> Option<&'static str> {
    Some(match kind.to_ascii_lowercase().as_str() {
        "csv" => hidden_csv::KIND,
        "crd" => CRD,
        "cm" => "ConfigMap",
        "sa" => "ServiceAccount",
        "svc" => "Service",
        "pdb" => "PodDisruptionBudget",
        "pc" => "PriorityClass",
        _ => return None,
    })
}

/// Returns what to do about an object of a kind that OLM does not install.
fn help(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "Deployment" => "move the Deployment to spec.install.spec.deployments of the CSV",
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            "declare the webhooks in spec.webhookdefinitions of the CSV, and remove the object"
        }
        "APIService" => "declare the API in spec.apiservicedefinitions of the CSV, and remove the object",
        "Certificate" | "Issuer" => {
            "remove the object: OLM creates the certificates of the webhooks in the CSV"
        }
        "Namespace" => "remove the object: users choose the namespace when they install the operator",
        "Kustomization" => "move the file out of manifests/",
        "Configuration" => "move the file to tests/scorecard/, if it configures the scorecard",
        "List" => "write each item of the list to a file of its own",
        _ => return None,
    })
}

/// Reports an object without a kind, with what it is likely to be.
fn missing(object: &Object<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    if hidden_csv::is_meant(object.root) {
        reporter.help("add `kind: ClusterServiceVersion`");
        let insert = Change::Insert("kind".to_owned(), hidden_csv::KIND.to_owned());
        reporter.fix(Fix::new(Safety::Safe, &root, insert));
        return reporter.field(object, &root, "missing required field `kind` of the ClusterServiceVersion");
    }
    let is_of_metadata =
        ["annotations", "dependencies", "properties"].iter().any(|key| object.root.get(key).is_some());
    if is_of_metadata && object.api_version().is_empty() {
        reporter.help("move the file to metadata/");
        let message = format!("`{}` is not an object: it belongs in `metadata/`", object.file.name());
        return reporter.field(object, &root, message);
    }
    if object.api_version() == "apiextensions.k8s.io/v1" {
        reporter.help("add `kind: CustomResourceDefinition`");
        let insert = Change::Insert("kind".to_owned(), CRD.to_owned());
        reporter.fix(Fix::new(Safety::Safe, &root, insert));
        return reporter.field(
            object,
            &root,
            "missing required field `kind` of the CustomResourceDefinition",
        );
    }
    if object.file.name().starts_with("kustomization.") {
        reporter.help("move the file out of manifests/");
        return reporter.field(object, &root, "a kustomization is not an object");
    }
    reporter.help("add `kind`, or remove the file");
    reporter.field(object, &root, "missing required field `kind`");
}

use serde_json::{Map, Value as Json};

use crate::kubernetes::names;
use crate::prelude::*;
use olm_model::report::suggest::{alternatives, did_you_mean};

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-config-invalid",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "The configuration of the `ClusterExtension` does not match the bundle: an unknown field, or a `watchNamespace` that the install modes do not allow.",
    impacts: &[Impact::OlmV1Rejects],
    help: "set spec.config.inline of the ClusterExtension to what the install modes of the bundle allow",
    sources: &[
        Source::symbols(
            Project::OperatorController,
            "internal/operator-controller/rukpak/bundle/registryv1.go",
            &["buildBundleConfigSchema"],
        )
        .since("1.7"),
        Source::symbols(
            Project::OperatorController,
            "internal/operator-controller/config/config.go",
            &["UnmarshalConfig"],
        )
        .since("1.6"),
    ],
    check: Check::Bundle(check),
};

/// The fields of `deploymentConfig`, and whether each is a list.
const DEPLOYMENT: [(&str, bool); 9] = [
    ("affinity", false),
    ("annotations", false),
    ("env", true),
    ("envFrom", true),
    ("nodeSelector", false),
    ("resources", false),
    ("tolerations", true),
    ("volumeMounts", true),
    ("volumes", true),
];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(extension) = &context.settings.extension else { return };
    for csv in &context.csvs {
        let mut wrong = Vec::new();
        let modes = &csv.typed.spec.install_modes;
        let supports = |name: &str| modes.iter().any(|mode| mode.supported && mode.r#type == name);
        let (own, single) = (supports("OwnNamespace"), supports("SingleNamespace"));
        let fields: &[&str] =
            if own || single { &["deploymentConfig", "watchNamespace"] } else { &["deploymentConfig"] };
        unknown_fields(&extension.config, fields, &mut wrong);
        if own || single {
            let namespace = extension.namespace.as_deref();
            let value = extension.config.get("watchNamespace").unwrap_or(&Json::Null);
            let optional = supports("AllNamespaces");
            wrong.extend(watch_namespace(value, namespace, own, single, optional));
        }
        deployment_config(&extension.config, &mut wrong);
        for message in wrong {
            let path = Path::ROOT.field("spec.installModes");
            reporter.field(&csv.object, &path, format!("invalid configuration: {message}"));
        }
    }
}

fn unknown_fields(map: &Map<String, Json>, known: &[&str], wrong: &mut Vec<String>) {
    for name in map.keys().filter(|name| !known.contains(&name.as_str())) {
        if name == "watchNamespace" {
            wrong.push("unexpected `watchNamespace`: the operator supports `AllNamespaces` only".to_owned());
        } else {
            let near = did_you_mean(name, known.iter().copied());
            let all = if near.is_empty() { format!(": must be {}", alternatives(known)) } else { near };
            wrong.push(format!("unknown field `{name}`{all}"));
        }
    }
}

/// Returns what is wrong with `watchNamespace`, for a bundle that supports `OwnNamespace` or `SingleNamespace`.
fn watch_namespace(
    value: &Json,
    namespace: Option<&str>,
    own: bool,
    single: bool,
    optional: bool,
) -> Option<String> {
    let watched = match value {
        Json::Null if optional => return None,
        Json::Null => return Some("missing required field `watchNamespace`".to_owned()),
        Json::String(watched) => watched,
        other => return Some(format!("invalid watchNamespace `{other}`: expected a string")),
    };
    if let Err(message) = names::dns_label(watched) {
        return Some(format!("invalid watchNamespace: {message}"));
    }
    match namespace {
        Some(installed) if own && !single && watched != installed => Some(format!(
            "invalid watchNamespace `{watched}`: must be the install namespace `{installed}`, because the operator supports \
             `OwnNamespace`, but not `SingleNamespace`"
        )),
        Some(installed) if single && !own && watched == installed => Some(format!(
            "invalid watchNamespace `{watched}`: must not be the install namespace, because the operator supports \
             `SingleNamespace`, but not `OwnNamespace`"
        )),
        _ => None,
    }
}

fn deployment_config(config: &Map<String, Json>, wrong: &mut Vec<String>) {
    let fields = match config.get("deploymentConfig") {
        None => return,
        Some(Json::Object(fields)) => fields,
        Some(_) => return wrong.push("invalid deploymentConfig: expected a map".to_owned()),
    };
    let known: Vec<&str> = DEPLOYMENT.iter().map(|(name, _)| *name).collect();
    unknown_fields(fields, &known, wrong);
    for (name, is_list) in DEPLOYMENT {
        let Some(value) = fields.get(name) else { continue };
        let (fits, expected) =
            if is_list { (value.is_array(), "a list") } else { (value.is_object(), "a map") };
        if !fits {
            wrong.push(format!("invalid deploymentConfig.{name}: expected {expected}"));
        }
    }
}

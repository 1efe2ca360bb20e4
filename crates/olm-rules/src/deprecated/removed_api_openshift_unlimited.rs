use crate::prelude::*;
use crate::shared::removed_apis;
use olm_model::openshift::{MAX_OPENSHIFT_VERSION, OPENSHIFT_VERSIONS};
use olm_model::version;
use olm_model::version::Version;
use serde::Deserialize;

pub(crate) static RULE: Rule = Rule {
    id: "removed-api-openshift-unlimited",
    suite: Suite::SdkCommunity,
    severity: Severity::Error,
    what: "The bundle has an object of an API that was removed in Kubernetes 1.22, and permits OpenShift 4.9 or later: the annotation `olm.properties` of the CSV has no `olm.maxOpenShiftVersion` below 4.9, or the label `com.redhat.openshift.versions` in the Dockerfile that `--optional-values index-path=FILE` names has no last version below 4.9.",
    impacts: &[
        Impact::SdkRejects,
        Impact::Specific("Only its deprecated optional validator `name=community` has this check."),
    ],
    help: "convert the object to an API version that Kubernetes serves",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/community.go",
        &["checkMaxOpenShiftVersion", "validateImageFile"],
    )
    .since("0.8")],
    check: Check::Bundle(check),
};

/// The version of Kubernetes that removed the APIs, and the first version of OpenShift with it.
const REMOVED_IN: u16 = 22;
const WITHOUT: Version = Version::new(4, 9, 0);

const PROPERTIES: &str = "olm.properties";

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(csv) = context.csvs.first() else { return };
    let mut removed = removed_apis::objects_removed_in(context, REMOVED_IN);
    let Some(object) = removed.next() else { return };
    let what = format!("`{}` of `{}` was removed in OpenShift 4.9", object.kind(), object.api_version());
    let annotations = csv.typed.metadata.annotations.iter().find_map(|all| all.get(PROPERTIES));
    if let Err(why) = limit_of_property(annotations.map(String::as_str).unwrap_or_default()) {
        let root = Path::ROOT;
        let path = root.field("metadata.annotations");
        reporter.field(&csv.object, &path.key(PROPERTIES), format!("{what}, but {why}"));
    }
    if let Some(dockerfile) = &context.settings.index_dockerfile
        && let Err(why) = limit_of_label(dockerfile)
    {
        reporter.field(object, &Path::ROOT.field("apiVersion"), format!("{what}, but {why}"));
    }
}

/// Checks that the annotation limits the versions of OpenShift, as operator-sdk does, which is stricter about JSON and more lenient about
/// versions than OLM: the other rules read the property with `max_openshift_version`. A version with a patch number passes: operator-sdk only warns of it.
fn limit_of_property(annotation: &str) -> Result<(), String> {
    let unlimited = || format!("the annotation `{PROPERTIES}` does not set `{MAX_OPENSHIFT_VERSION}`");
    if annotation.is_empty() {
        return Err(unlimited());
    }
    let invalid =
        || format!("the annotation `{PROPERTIES}` is not a JSON list of types and values, all strings");
    let properties: Vec<Property> = kube_yaml::json::from_str(annotation).map_err(|_| invalid())?;
    let property =
        properties.iter().find(|property| property.kind == MAX_OPENSHIFT_VERSION).ok_or_else(unlimited)?;
    let version = version::tolerant(&property.value).map_err(|error| {
        format!("`{MAX_OPENSHIFT_VERSION}` is the invalid version `{}`: {error}", property.value)
    })?;
    if version == Version::new(version.major, version.minor, 0) && version >= WITHOUT {
        return Err(format!(
            "`{MAX_OPENSHIFT_VERSION}` permits OpenShift {}.{}",
            version.major, version.minor
        ));
    }
    Ok(())
}

/// Checks that the label limits the versions of OpenShift: `LABEL com.redhat.openshift.versions=v4.6-v4.8`, or `=v4.8` for one.
/// The first line with the label counts, and what operator-sdk reads is not always what catalog pipelines select: the other rules read
/// the value as `OpenShiftVersions`.
fn limit_of_label(dockerfile: &str) -> Result<(), String> {
    const KEY: &str = OPENSHIFT_VERSIONS;
    let line = dockerfile.lines().find(|line| line.contains(KEY));
    let line = line.ok_or_else(|| format!("the Dockerfile has no label `{KEY}`"))?;
    let mut parts = line.split('=').skip(1);
    let Some(range) = parts.next() else {
        return Err(format!("the label `{KEY}` has no value"));
    };
    let last = match parts.next().filter(|exact| !exact.is_empty()) {
        Some(exact) => exact,
        None => range.split('-').nth(1).ok_or_else(|| format!("the label `{KEY}` has no last version"))?,
    };
    let last: String = last.chars().filter(|char| !matches!(char, '"' | '\'' | 'v')).collect();
    let version = version::tolerant(&last)
        .map_err(|error| format!("the label `{KEY}` ends with the invalid version `{last}`: {error}"))?;
    if version >= WITHOUT {
        return Err(format!("the label `{KEY}` permits OpenShift {}.{}", version.major, version.minor));
    }
    Ok(())
}

/// A property as operator-sdk decodes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Property {
    #[serde(rename = "type", alias = "Type")]
    kind: String,
    #[serde(alias = "Value")]
    value: String,
}

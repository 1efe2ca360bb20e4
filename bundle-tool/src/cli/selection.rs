//! Which suites `validate` and `fix` run, and for which cluster: `--suite`, `--profile`, operator-sdk's flags for its
//! optional validators, `--kube-version`, and the configuration of a `ClusterExtension`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value as Json, json};

use super::cluster::check_namespace;
use super::openshift::{OpenshiftOption, OpenshiftRange};
use super::suites::SuiteName;
use olm_model::LabelSelector;
use olm_model::disk;
use olm_model::kubernetes::Versions;
use olm_model::report::Suite;
use olm_model::report::suggest::did_you_mean;
use olm_rules::{Extension, Profile, Settings};

/// Maximum size of a configuration, in bytes; the API server accepts no larger objects.
const MAX_CONFIG: u64 = 3 << 20;
/// Maximum size of a Dockerfile, in bytes.
const MAX_DOCKERFILE: u64 = 1 << 20;

#[derive(Debug, Clone, Args)]
pub(crate) struct SelectionOptions {
    /// Suites to enable in addition to `bundle`, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "SUITE")]
    suite: Vec<SuiteName>,
    /// Catalogs or platforms whose suites to enable, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "PROFILE")]
    profile: Vec<ProfileName>,
    /// Label selector of the optional validators of operator-sdk to enable, such as `name=NAME` or `suite=operatorframework`
    #[arg(long, value_name = "SELECTOR")]
    select_optional: Option<String>,
    /// Values for optional validators, separated by commas: `k8s-version=VERSION`, `index-path=DOCKERFILE`
    #[arg(long, value_delimiter = ',', value_name = "KEY=VALUE")]
    optional_values: Vec<String>,
    /// Kubernetes versions of the clusters that the bundles are for, such as `1.30` or `1.30..1.34` [default: the versions that a
    /// bundle claims with spec.minKubeVersion and its OpenShift versions, or those that are supported upstream]
    #[arg(long, value_name = "VERSIONS")]
    kube_version: Option<String>,
    /// OpenShift versions that the bundles and catalogs are for, such as `4.17` or `4.17..4.20` [default for a catalog: that of a path
    /// such as catalogs/v4.17]
    #[arg(long, value_name = "VERSIONS", conflicts_with = "kube_version", alias = "openshift-version")]
    openshift: Option<String>,
    /// Namespace for the operator to watch, as in spec.config.inline of a `ClusterExtension` of OLM v1; enables the suite `olmv1`
    #[arg(long, value_name = "NAMESPACE", conflicts_with = "extension_config")]
    watch_namespace: Option<String>,
    /// File with spec.config.inline of a `ClusterExtension` of OLM v1; enables the suite `olmv1`
    #[arg(long, value_name = "FILE")]
    extension_config: Option<PathBuf>,
    /// Namespace that OLM v1 installs the operator into; enables the suite `olmv1`
    #[arg(long, value_name = "NAMESPACE")]
    install_namespace: Option<String>,
}

/// The name of a set of suites.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProfileName(Profile);

impl ValueEnum for ProfileName {
    fn value_variants<'a>() -> &'a [Self] {
        const NAMES: [ProfileName; Profile::ALL.len()] = {
            let mut names = [ProfileName(Profile::OperatorHub); Profile::ALL.len()];
            let mut index = 0;
            while index < names.len() {
                names[index] = ProfileName(Profile::ALL[index]);
                index += 1;
            }
            names
        };
        &NAMES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()).help(self.0.description()))
    }
}

/// An optional validator of operator-sdk, and the suite that reproduces it.
pub(crate) struct Optional {
    pub(crate) name: &'static str,
    /// Whether it has the label `suite=operatorframework`.
    in_suite: bool,
    pub(crate) suite: Suite,
    pub(crate) description: &'static str,
}

pub(crate) const OPTIONAL: [Optional; 8] = [
    Optional::new("alpha-deprecated-apis", true, Suite::DeprecatedApis, "APIs removed from Kubernetes"),
    Optional::new("capabilities", true, Suite::Capabilities, "Capability levels of OperatorHub.io"),
    Optional::new("categories", true, Suite::Categories, "Categories of OperatorHub.io"),
    Optional::new("community", false, Suite::SdkCommunity, "APIs removed from OpenShift 4.9 (deprecated)"),
    Optional::new("good-practices", true, Suite::GoodPractices, "Recommendations of the Operator Framework"),
    Optional::new("multiarch", false, Suite::Multiarch, "Architectures that the operator declares"),
    Optional::new("operatorhub", false, Suite::OperatorHubV2, "Same as operatorhubv2"),
    Optional::new("operatorhubv2", true, Suite::OperatorHubV2, "Requirements of OperatorHub.io for CSVs"),
];

impl Optional {
    const fn new(name: &'static str, in_suite: bool, suite: Suite, description: &'static str) -> Self {
        Self { name, in_suite, suite, description }
    }

    /// Returns the labels that selectors match.
    pub(crate) fn labels(&self) -> Vec<(&'static str, &'static str)> {
        let suite = self.in_suite.then_some(("suite", "operatorframework"));
        [("name", self.name)].into_iter().chain(suite).collect()
    }

    /// Returns the value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&'static str> {
        self.labels().into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

/// Returns operator-sdk's optional validators as a JSON document, as `--list-optional` prints it.
pub(crate) fn list_optional_json() -> Json {
    let validator = |one: Optional| {
        let labels: BTreeMap<_, _> = one.labels().into_iter().collect();
        json!({
            "name": one.name, "labels": labels, "suite": one.suite.name(), "description": one.description,
        })
    };
    json!({ "version": 1, "validators": OPTIONAL.map(validator) })
}

/// Returns the list of operator-sdk's optional validators, as `--list-optional` prints it.
pub(crate) fn list_optional() -> String {
    let mut text = format!("{:<25}{:<31}{}\n", "NAME", "LABELS", "DESCRIPTION");
    for one in OPTIONAL {
        let label = format!("name={}", one.name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:<25}{label:<31}{}", one.name, one.description);
        if one.in_suite {
            let _ = writeln!(text, "{:<25}suite=operatorframework", "");
        }
    }
    text
}

impl SelectionOptions {
    /// Returns the files that the flags name.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.extension_config.iter().map(PathBuf::as_path).chain(self.index_path())
    }

    /// Returns the suites that the flags name, each once.
    pub(crate) fn suites(&self) -> Result<Vec<Suite>> {
        let mut suites = SuiteName::suites(&self.suite);
        suites.extend(self.profile.iter().flat_map(|profile| profile.0.suites()));
        if let Some(selector) = &self.select_optional {
            suites.extend(selected(selector)?);
        }
        suites.sort_unstable();
        suites.dedup();
        Ok(suites)
    }

    /// Returns what the flags say about the cluster.
    pub(crate) fn settings(&self) -> Result<Settings> {
        Ok(Settings {
            versions: self.versions()?,
            index_dockerfile: self.index_dockerfile()?,
            extension: self.extension()?,
        })
    }

    /// Returns the Dockerfile that operator-sdk's validator `community` reads labels from.
    fn index_dockerfile(&self) -> Result<Option<String>> {
        self.index_path().map(read_index_dockerfile).transpose()
    }

    fn index_path(&self) -> Option<&Path> {
        let mut values = self.optional_values.iter().filter_map(|pair| pair.split_once('='));
        let (_, path) = values.rfind(|(key, value)| *key == "index-path" && !value.is_empty())?;
        Some(Path::new(path))
    }

    /// Returns the versions of Kubernetes that the flags name.
    pub(crate) fn versions(&self) -> Result<Option<Versions>> {
        let mut version = self.kube_version.as_deref();
        for pair in &self.optional_values {
            match pair.split_once('=') {
                Some(("k8s-version", value)) => version = version.or(Some(value)),
                // Images are never inspected through a container tool.
                Some(("container-tools" | "image-path" | "index-path", _)) => {}
                Some((key, _)) => {
                    let near = did_you_mean(key, ["k8s-version", "index-path"]);
                    bail!("unknown key `{key}` in --optional-values{near}");
                }
                None => bail!("invalid --optional-values `{pair}`: expected KEY=VALUE"),
            }
        }
        if let Some(openshift) = &self.openshift {
            return Ok(Some(Versions::parse_openshift(openshift)?));
        }
        Ok(version.map(Versions::parse).transpose()?)
    }

    /// Returns the versions of OpenShift that catalogs are for.
    pub(crate) fn openshift(&self) -> Result<OpenshiftOption> {
        let range = self.openshift.as_deref().map(str::parse::<OpenshiftRange>).transpose();
        Ok(OpenshiftOption::new(range.map_err(|reason| anyhow!("invalid --openshift: {reason}"))?))
    }

    fn extension(&self) -> Result<Option<Extension>> {
        for (option, namespace) in
            [("--watch-namespace", &self.watch_namespace), ("--install-namespace", &self.install_namespace)]
        {
            let verdict = namespace.as_deref().map_or(Ok(()), check_namespace);
            verdict.with_context(|| format!("invalid value of {option}"))?;
        }
        let config = match (&self.extension_config, &self.watch_namespace) {
            (Some(path), _) => read_config(path)?,
            (None, Some(namespace)) => {
                Map::from_iter([("watchNamespace".to_owned(), Json::String(namespace.clone()))])
            }
            (None, None) if self.install_namespace.is_some() => Map::new(),
            (None, None) => return Ok(None),
        };
        Ok(Some(Extension { config, namespace: self.install_namespace.clone() }))
    }
}

/// Reads the Dockerfile that operator-sdk's validator `community` reads labels from.
pub(crate) fn read_index_dockerfile(path: &Path) -> Result<String> {
    let failed = || format!("failed to read {}, which --optional-values names", path.display());
    let bytes = disk::file::read_in_project(path, MAX_DOCKERFILE).with_context(failed)?;
    String::from_utf8(bytes).context("the file is not UTF-8").with_context(failed)
}

/// Returns the suites of the optional validators that a label selector selects; none if it is empty, as operator-sdk does.
fn selected(text: &str) -> Result<Vec<Suite>> {
    let selector: LabelSelector = text.parse().with_context(|| format!("invalid selector `{text}`"))?;
    if selector.is_empty() {
        return Ok(Vec::new());
    }
    let selected = OPTIONAL.iter().filter(|one| selector.matches(|key| one.label(key)));
    let suites: Vec<Suite> = selected.map(|one| one.suite).collect();
    if suites.is_empty() {
        let near = if OPTIONAL.iter().any(|one| one.name == text) {
            format!(": did you mean `name={text}`?")
        } else {
            let name = text.rsplit('=').next().unwrap_or_default();
            did_you_mean(name, OPTIONAL.iter().map(|one| one.name).chain(["operatorframework"]))
        };
        bail!("selector `{text}` matches no optional validator{near}; --list-optional lists them");
    }
    Ok(suites)
}

fn read_config(path: &Path) -> Result<Map<String, Json>> {
    let failed = || format!("failed to read {}", path.display());
    let bytes = disk::file::read_in_project(path, MAX_CONFIG).with_context(failed)?;
    let parsed = kube_yaml::parse(&bytes);
    if let Some(error) = parsed.error {
        return Err(error).with_context(failed);
    }
    match parsed.documents.first().map(|document| document.root().to_json()) {
        None => Ok(Map::new()),
        Some(Json::Object(map)) => Ok(map),
        Some(_) => bail!("invalid configuration in {}: expected a map", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_of_operator_sdk_pick_suites() {
        assert_eq!(selected("name=good-practices").unwrap(), [Suite::GoodPractices]);
        assert_eq!(selected("suite=operatorframework").unwrap().len(), 5);
        assert_eq!(selected("suite=operatorframework,name=categories").unwrap(), [Suite::Categories]);
        assert_eq!(
            selected("name in (categories, multiarch)").unwrap(),
            [Suite::Categories, Suite::Multiarch]
        );
        assert_eq!(selected("!suite,name!=community").unwrap(), [Suite::Multiarch, Suite::OperatorHubV2]);
        assert_eq!(selected("").unwrap(), []);
        let error = |selector| selected(selector).unwrap_err().to_string();
        assert!(error("name=operatorhubv3").contains("did you mean `operatorhubv2`?"));
        assert!(error("suite=other").contains("matches no optional validator"));
        assert!(error("good-practices").contains("did you mean `name=good-practices`?"));
        assert!(error("kind=x").contains("matches no optional validator"));
    }
}

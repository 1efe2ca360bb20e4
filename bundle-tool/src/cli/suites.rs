//! `--suite`: the suites of rules by name.

use std::sync::LazyLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use olm_model::report::Suite;

/// A suite, or all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SuiteName {
    All,
    One(Suite),
}

impl SuiteName {
    /// The suites that a list of names stands for.
    pub(crate) fn suites(names: &[Self]) -> Vec<Suite> {
        let suites = names.iter().flat_map(|name| match name {
            Self::All => Suite::ALL.to_vec(),
            Self::One(suite) => vec![*suite],
        });
        suites.collect()
    }
}

impl ValueEnum for SuiteName {
    fn value_variants<'a>() -> &'a [Self] {
        static NAMES: LazyLock<Vec<SuiteName>> = LazyLock::new(|| {
            let one = Suite::ALL.into_iter().map(SuiteName::One);
            one.chain([SuiteName::All]).collect()
        });
        &NAMES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::All => PossibleValue::new("all").help("All suites"),
            Self::One(suite) => PossibleValue::new(suite.name()).help(help(*suite)),
        })
    }
}

fn help(suite: Suite) -> &'static str {
    match suite {
        Suite::Bundle => {
            "Rules of the API server, OLM and operator-sdk's default validation (always enabled)"
        }
        Suite::Catalog => "Rules of opm for catalogs (always enabled)",
        Suite::OperatorHubV2 => "Rules of OperatorHub.io for CSVs",
        Suite::Capabilities => "Capability levels of OperatorHub.io",
        Suite::Categories => "Categories of OperatorHub.io",
        Suite::GoodPractices => "Recommendations of the Operator Framework",
        Suite::DeprecatedApis => "Uses of APIs that were removed from Kubernetes",
        Suite::Olmv1 => "What OLM v1 rejects and OLM v0 accepts",
        Suite::Openshift => "What OpenShift rejects by default, and declarations of OpenShift versions",
        Suite::Disconnected => "What clusters without access to public registries need",
        Suite::Multiarch => "The CPU architectures that an operator declares",
        Suite::Community => "Requirements of the OpenShift community catalog",
        Suite::SdkCommunity => "Removed APIs as in operator-sdk's deprecated validator `community`",
        Suite::Preflight => "Requirements of preflight, the certification tool for OpenShift",
    }
}

/// Returns the error message for an unknown rule id, with the nearest one.
pub(crate) fn unknown_rule(id: &str) -> String {
    let near = olm_model::report::suggest::did_you_mean(id, olm_rules::all().map(|rule| rule.id));
    let list = if near.is_empty() { ": run `bundle-tool rules` for a list of all rules" } else { "" };
    format!("unknown rule `{id}`{near}{list}")
}

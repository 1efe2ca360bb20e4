//! Profiles: named sets of suites, for where an operator is published or installed.

use olm_model::report::Suite;

/// A named set of suites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profile {
    /// Submissions to OperatorHub.io.
    OperatorHub,
    /// Operators for OpenShift.
    OpenShift,
    /// Submissions to the OpenShift community catalog.
    Community,
    /// Submissions to the certified catalog of OpenShift.
    Certified,
    /// Installation by OLM v1.
    OlmV1,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 5] =
        [Self::OperatorHub, Self::OpenShift, Self::Community, Self::Certified, Self::OlmV1];

    /// The profile's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OperatorHub => "operatorhub",
            Self::OpenShift => "openshift",
            Self::Community => "community",
            Self::Certified => "certified",
            Self::OlmV1 => "olmv1",
        }
    }

    /// What the profile is for, in a few words.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::OperatorHub => "Submissions to OperatorHub.io",
            Self::OpenShift => "Operators for OpenShift",
            Self::Community => "Submissions to the OpenShift community catalog",
            Self::Certified => "Submissions to the certified catalog of OpenShift",
            Self::OlmV1 => "Installation by OLM v1",
        }
    }

    /// Returns the suites that are run in addition to [`Suite::Bundle`].
    #[must_use]
    pub const fn suites(self) -> &'static [Suite] {
        use Suite::{
            Capabilities, Categories, Community, DeprecatedApis, Disconnected, GoodPractices, Multiarch,
            Olmv1, Openshift, OperatorHubV2, Preflight,
        };
        match self {
            Self::OperatorHub => &[OperatorHubV2, Capabilities, Categories, GoodPractices, DeprecatedApis],
            Self::OpenShift => &[Openshift, Multiarch, GoodPractices, DeprecatedApis],
            Self::Community => &[
                OperatorHubV2,
                Capabilities,
                Categories,
                GoodPractices,
                DeprecatedApis,
                Openshift,
                Community,
            ],
            Self::Certified => {
                &[OperatorHubV2, Capabilities, Categories, DeprecatedApis, Openshift, Disconnected, Preflight]
            }
            Self::OlmV1 => &[Olmv1],
        }
    }
}

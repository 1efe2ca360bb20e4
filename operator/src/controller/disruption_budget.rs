//! The `PodDisruptionBudget` that keeps node drains from taking more than one server at a time.

use super::validate::Wanted;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use operator_runtime::workload::select;

pub(super) fn disruption_budget(wanted: &Wanted) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: wanted.metadata(),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(select(&wanted.selector())),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

//! The `PodDisruptionBudget` that keeps node drains from taking more than one server at a time.

use super::{label_selector, metadata};
use crate::controller::validate::Wanted;
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

pub(super) fn disruption_budget(wanted: &Wanted) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: metadata(wanted),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(label_selector(wanted)),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

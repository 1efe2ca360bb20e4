//! Admission webhooks that OLM creates from the CSV's `webhookdefinitions`.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/admissionregistration/validation`, operator-framework/api,
//! `pkg/operators/v1alpha1/clusterserviceversion_types.go` (`GetValidatingWebhook`), operator-lifecycle-manager,
//! `pkg/controller/install/{webhook,certresources}.go`.

mod webhook_name_invalid;
mod webhook_path_invalid;
mod webhook_policy_invalid;
mod webhook_review_version_invalid;
mod webhook_rule_invalid;
mod webhook_selector_invalid;
mod webhook_target_port_invalid;
use super::Rule;
use super::context::Csv;
use crate::model::Object;
use crate::model::csv::WebhookDescription;
use crate::model::yaml::Path;

/// The rules of this directory, sorted by id.
pub(super) static RULES: &[&Rule] = &[
    &webhook_name_invalid::RULE,
    &webhook_path_invalid::RULE,
    &webhook_policy_invalid::RULE,
    &webhook_review_version_invalid::RULE,
    &webhook_rule_invalid::RULE,
    &webhook_selector_invalid::RULE,
    &webhook_target_port_invalid::RULE,
];

/// One item of `spec.webhookdefinitions`.
#[derive(Debug, Clone, Copy)]
pub struct Webhook<'w> {
    /// The CSV.
    pub object: Object<'w>,
    /// Its path.
    pub path: &'w Path<'w>,
    /// Its index in the list.
    pub index: usize,
    /// As OLM decodes it.
    pub typed: &'w WebhookDescription,
}

impl Webhook<'_> {
    /// Returns whether the webhook is an admission webhook, not a conversion webhook.
    #[must_use]
    pub fn is_admission(&self) -> bool {
        matches!(self.typed.r#type.as_str(), "ValidatingAdmissionWebhook" | "MutatingAdmissionWebhook")
    }
}

/// Calls `visit` with every webhook of the CSV.
pub(super) fn each(csv: &Csv<'_>, mut visit: impl FnMut(&Webhook<'_>)) {
    let root = Path::ROOT;
    let list = root.field("spec.webhookdefinitions");
    for (index, typed) in csv.typed.spec.webhookdefinitions.iter().enumerate() {
        visit(&Webhook { object: csv.object, path: &list.index(index), index, typed });
    }
}

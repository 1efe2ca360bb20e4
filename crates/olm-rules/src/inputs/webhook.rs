//! The webhooks of a CSV.

use super::csv::Csv;
use kube_yaml::Path;
use olm_model::Object;
use olm_model::csv::WebhookDescription;

/// One item of `spec.webhookdefinitions`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Webhook<'w> {
    /// The CSV.
    pub(crate) object: Object<'w>,
    /// Its path.
    pub(crate) path: &'w Path<'w>,
    /// Its index in the list.
    pub(crate) index: usize,
    /// As OLM decodes it.
    pub(crate) typed: &'w WebhookDescription,
}

impl Webhook<'_> {
    /// Returns whether the webhook is an admission webhook, not a conversion webhook.
    #[must_use]
    pub(crate) fn is_admission(&self) -> bool {
        matches!(self.typed.r#type.as_str(), "ValidatingAdmissionWebhook" | "MutatingAdmissionWebhook")
    }
}

impl Csv<'_> {
    /// Calls `visit` with every webhook.
    pub(crate) fn each_webhook(&self, mut visit: impl FnMut(&Webhook<'_>)) {
        let root = Path::ROOT;
        let list = root.field("spec.webhookdefinitions");
        for (index, typed) in self.typed.spec.webhookdefinitions.iter().enumerate() {
            visit(&Webhook { object: self.object, path: &list.index(index), index, typed });
        }
    }
}

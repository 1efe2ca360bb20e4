//! The webhooks of a CSV.

use super::csv::Csv;
use crate::model::Object;
use crate::model::csv::WebhookDescription;
use crate::model::yaml::Path;

/// One item of `spec.webhookdefinitions`.
#[derive(Debug, Clone, Copy)]
pub(in crate::rules) struct Webhook<'w> {
    /// The CSV.
    pub(in crate::rules) object: Object<'w>,
    /// Its path.
    pub(in crate::rules) path: &'w Path<'w>,
    /// Its index in the list.
    pub(in crate::rules) index: usize,
    /// As OLM decodes it.
    pub(in crate::rules) typed: &'w WebhookDescription,
}

impl Webhook<'_> {
    /// Returns whether the webhook is an admission webhook, not a conversion webhook.
    #[must_use]
    pub(in crate::rules) fn is_admission(&self) -> bool {
        matches!(self.typed.r#type.as_str(), "ValidatingAdmissionWebhook" | "MutatingAdmissionWebhook")
    }
}

impl Csv<'_> {
    /// Calls `visit` with every webhook.
    pub(in crate::rules) fn each_webhook(&self, mut visit: impl FnMut(&Webhook<'_>)) {
        let root = Path::ROOT;
        let list = root.field("spec.webhookdefinitions");
        for (index, typed) in self.typed.spec.webhookdefinitions.iter().enumerate() {
            visit(&Webhook { object: self.object, path: &list.index(index), index, typed });
        }
    }
}

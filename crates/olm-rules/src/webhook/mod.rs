//! Admission webhooks that OLM creates from the CSV's `webhookdefinitions`.
//!
//! Sources: `k8s.io/kubernetes/pkg/apis/admissionregistration/validation`, operator-framework/api,
//! `pkg/operators/v1alpha1/clusterserviceversion_types.go` (`GetValidatingWebhook`), operator-lifecycle-manager,
//! `pkg/controller/install/{webhook,certresources}.go`.

super::rule::rule_files! {
    webhook_name_invalid,
    webhook_path_invalid,
    webhook_policy_invalid,
    webhook_review_version_invalid,
    webhook_rule_invalid,
    webhook_selector_invalid,
    webhook_target_port_invalid,
}

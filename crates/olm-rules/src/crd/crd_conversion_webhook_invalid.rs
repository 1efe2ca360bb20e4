use crate::kubernetes::webhook_client;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-conversion-webhook-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A conversion webhook has no client configuration, does not set exactly one of `service` and `url`, or sets an invalid one.",
    impacts: &[Impact::CrdRejected],
    help: "set spec.conversion.webhook.clientConfig.service with name and namespace, or clientConfig.url to an `https://` URL",
    sources: &[
        Source::symbols(
            Project::ApiextensionsApiserver,
            "pkg/apis/apiextensions/validation/validation.go",
            &["validateCustomResourceConversion"],
        )
        .since("1.16"),
        Source::file(Project::Apiserver, "pkg/util/webhook/validation.go").since("1.16"),
    ],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    if crd.string(&["conversion", "strategy"]) != "Webhook" {
        return;
    }
    let path = Path::ROOT.field("spec.conversion.webhook.clientConfig");
    let config = crd.spec.dig(&["conversion", "webhook", "clientConfig"]).filter(|config| !config.is_null());
    let Some(config) = config else {
        reporter.field(
            &crd.object,
            &path,
            "missing required field `clientConfig`: the strategy is `Webhook`",
        );
        return;
    };
    let set = |field: &str| config.get(field).filter(|value| !value.is_null());
    match (set("url"), set("service")) {
        (Some(_), Some(_)) | (None, None) => {
            reporter.field(&crd.object, &path, "exactly one of `url` and `service` must be set");
        }
        (Some(url), None) => {
            if let Err(problem) = webhook_client::url(url.as_str().unwrap_or_default()) {
                reporter.field(&crd.object, &path.field("url"), problem);
            }
        }
        (None, Some(service)) => {
            let parent = path.field("service");
            for (field, problem) in webhook_client::service(service) {
                reporter.field(&crd.object, &parent.field(field), problem);
            }
        }
    }
}

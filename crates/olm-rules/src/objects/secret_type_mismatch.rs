use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "secret-type-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A Secret does not have the keys or annotations that its type requires.",
    impacts: &[Impact::ObjectRejected],
    help: "add the keys, or set type to `Opaque`",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["ValidateSecret"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::Secret(secret) = &known.typed else { return };
    let root = Path::ROOT;
    let value = |key: &str| {
        let text = secret.string_data.get(key).map(String::as_bytes);
        text.or_else(|| secret.data.get(key).map(|bytes| bytes.0.as_slice()))
    };
    let data = root.field("data");
    let need = |key: &str, errors: &mut ErrorReporter<'_, '_>| {
        if value(key).is_none() {
            errors.add(&data.key(key), format!("missing key `{key}` for type `{}`", secret.r#type));
        }
    };
    match secret.r#type.as_str() {
        "kubernetes.io/tls" => {
            need("tls.crt", errors);
            need("tls.key", errors);
        }
        "kubernetes.io/basic-auth" if value("password").is_none() => need("username", errors),
        "kubernetes.io/ssh-auth" if value("ssh-privatekey").is_none_or(<[u8]>::is_empty) => {
            errors.add(
                &data.key("ssh-privatekey"),
                "missing key `ssh-privatekey` for type `kubernetes.io/ssh-auth`",
            );
        }
        "kubernetes.io/service-account-token" => {
            const KEY: &str = "kubernetes.io/service-account.name";
            let annotations = secret.metadata.annotations.as_ref();
            if annotations.and_then(|annotations| annotations.get(KEY)).is_none_or(String::is_empty) {
                let path = root.field("metadata.annotations");
                errors
                    .add(&path.key(KEY), format!("missing annotation `{KEY}` for type `{}`", secret.r#type));
            }
        }
        "kubernetes.io/dockercfg" => {
            need(".dockercfg", errors);
            json_map(value(".dockercfg"), &data.key(".dockercfg"), errors);
        }
        "kubernetes.io/dockerconfigjson" => {
            need(".dockerconfigjson", errors);
            json_map(value(".dockerconfigjson"), &data.key(".dockerconfigjson"), errors);
        }
        _ => {}
    }
}

/// Reports a value that is not a JSON object; the value itself is not shown.
fn json_map(value: Option<&[u8]>, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let is_map = |bytes| {
        kube_yaml::json::from_slice::<Option<serde_json::Map<String, serde_json::Value>>>(bytes).is_ok()
    };
    if value.is_some_and(|bytes| !is_map(bytes)) {
        errors.add(path, "invalid value: must be a JSON object");
    }
}

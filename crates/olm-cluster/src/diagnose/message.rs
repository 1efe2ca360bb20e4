//! What messages of the API server and the kubelet mean, which appear in the status and the events of many objects.

/// For how many seconds a temporary failure may repeat: the kubelet and the controllers repeat what failed after pauses that double.
pub(crate) const TEMPORARY: u64 = 60;

/// Returns whether a message is about something that usually passes by itself: the network, a server that is starting, or objects
/// that Kubernetes creates in each new namespace.
pub(crate) fn is_temporary(message: &str) -> bool {
    const PARTS: [&str; 18] = [
        "i/o timeout",
        "handshake timeout",
        "client.timeout",
        "timed out",
        "deadline exceeded",
        "connection refused",
        "connection reset",
        "no endpoints available",
        "unexpected eof",
        "temporary failure",
        "toomanyrequests",
        "too many requests",
        "service unavailable",
        "cni plugin not initialized",
        // The kubelet has not ended the last attempt.
        "is reserved for",
        // From controllers of Kubernetes and OpenShift.
        "error looking up service account",
        r#"configmap "kube-root-ca.crt" not found"#,
        r#"configmap "openshift-service-ca.crt" not found"#,
    ];
    let lower = message.to_lowercase();
    PARTS.iter().any(|part| lower.contains(part))
}

/// Returns how long to wait for the end of a failure, in seconds: `TEMPORARY` for temporary ones, else `seconds`.
pub(crate) fn patience(message: &str, seconds: u64) -> u64 {
    if is_temporary(message) { TEMPORARY } else { seconds }
}

/// Returns the reason and the help for a message, if it is a known one.
pub(crate) fn explain_message(message: &str, namespace: &str) -> Option<(&'static str, String)> {
    let lower = message.to_lowercase();
    let has = |parts: &[&str]| parts.iter().all(|part| lower.contains(part));
    if has(&["exceeded quota"]) {
        return Some((
            "quota-exceeded",
            format!("raise the quota or free resources: kubectl describe resourcequota -n {namespace}"),
        ));
    }
    if has(&["violates podsecurity"]) {
        return Some((
            "pod-security-violation",
            format!(
                "set the security context that the message names, or lower the level: \
                 kubectl label namespace {namespace} pod-security.kubernetes.io/enforce=baseline --overwrite"
            ),
        ));
    }
    if has(&["unable to validate against any security context constraint"]) {
        return Some((
            "security-context-constraint",
            "remove fixed user IDs and privileges from the pod, or grant its service account an SCC: \
             oc adm policy add-scc-to-user"
                .into(),
        ));
    }
    if has(&["failed calling webhook"]) || has(&["failed to call webhook"]) {
        let help = if lower.contains("x509") || lower.contains("certificate") {
            "the certificate of the webhook is not trusted: compare the caBundle of the webhook configuration with \
             the certificate that its server uses"
        } else if lower.contains("no endpoints") || lower.contains("connection refused") {
            "the server of the webhook is not running: check the pods behind its service, or delete the webhook \
             configuration if it was left behind"
        } else {
            "check the service and the pods of the webhook that the message names"
        };
        return Some(("webhook-failed", help.into()));
    }
    if has(&["admission webhook", "denied the request"]) {
        return Some(("admission-denied", "change the object as the webhook's message requires".into()));
    }
    if has(&["is forbidden: validatingadmissionpolicy"])
        || has(&["validatingadmissionpolicy", "denied request"])
    {
        return Some(("admission-denied", "change the object as the policy's message requires".into()));
    }
    if has(&["is forbidden", "cannot"]) || has(&["attempting to grant rbac permissions not currently held"]) {
        return Some((
            "permission-denied",
            format!(
                "grant the permission that the message names to the service account that it names; \
                 kubectl get operatorgroup -n {namespace} -o yaml shows the service account that OLM installs with"
            ),
        ));
    }
    if has(&["risk of data loss updating"]) {
        return Some((
            "crd-stored-version-lost",
            "migrate the objects to a version that the new CRD still has, then remove the old version from the CRD's \
             status.storedVersions"
                .into(),
        ));
    }
    if has(&["error validating existing crs against new crd"]) {
        return Some((
            "crd-breaks-objects",
            "change or delete the object that the message names, or relax the schema of the CRD".into(),
        ));
    }
    if has(&["customresourcedefinition", "is invalid"]) || has(&["customresourcedefinition", "invalid:"]) {
        return Some((
            "crd-invalid",
            "run `bundle-tool validate` on the bundle, which reports the field".into(),
        ));
    }
    None
}

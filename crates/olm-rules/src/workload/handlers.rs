//! The handlers of probes and lifecycle hooks: a command, an HTTP request, a connection, a sleep.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`validateHandler`).

use k8s_openapi::api::core::v1::{ExecAction, HTTPGetAction, LifecycleHandler, Probe};

use crate::kubernetes::{names, numbers};
use crate::prelude::*;

/// Validates the handler of a probe.
pub(crate) fn probe(probe: &Probe, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let mut set = Vec::new();
    if let Some(exec) = &probe.exec {
        set.push("exec");
        command(exec, path, errors);
    }
    if let Some(http) = &probe.http_get {
        set.push("httpGet");
        if set.len() == 1 {
            request(http, path, errors);
        }
    }
    if let Some(tcp) = &probe.tcp_socket {
        set.push("tcpSocket");
        if set.len() == 1 {
            errors.check(&path.field("tcpSocket.port"), numbers::port_or_name(&tcp.port));
        }
    }
    if let Some(grpc) = &probe.grpc {
        set.push("grpc");
        if set.len() == 1 {
            errors.check(&path.field("grpc.port"), numbers::port(grpc.port));
        }
    }
    count(&set, path, errors);
}

/// Validates the handler of a lifecycle hook; `grace` is the termination grace period in seconds.
pub(crate) fn lifecycle(
    handler: &LifecycleHandler,
    grace: i64,
    path: &Path<'_>,
    errors: &mut ErrorReporter<'_, '_>,
) {
    let mut set = Vec::new();
    if let Some(exec) = &handler.exec {
        set.push("exec");
        command(exec, path, errors);
    }
    if let Some(http) = &handler.http_get {
        set.push("httpGet");
        if set.len() == 1 {
            request(http, path, errors);
        }
    }
    if let Some(tcp) = &handler.tcp_socket {
        set.push("tcpSocket");
        if set.len() == 1 {
            errors.check(&path.field("tcpSocket.port"), numbers::port_or_name(&tcp.port));
        }
    }
    if let Some(sleep) = &handler.sleep {
        set.push("sleep");
        let least = i64::from(sleep.seconds == 0 && !errors.since(ZERO_SLEEP));
        if set.len() == 1 && !(least..=grace).contains(&sleep.seconds) {
            let message = format!(
                "invalid sleep of {} s: must be between {least} and the grace period of {grace} s",
                sleep.seconds
            );
            errors.add(&path.field("sleep.seconds"), message);
        }
    }
    count(&set, path, errors);
}

fn count(set: &[&str], path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    match set {
        [] => errors.add(path, "missing handler: exactly one is required"),
        [_] => {}
        [first, others @ ..] => {
            errors.add(
                &path.field(others[0]),
                format!(
                    "conflicting handlers `{first}` and `{}`: exactly one is required",
                    others.join("`, `")
                ),
            );
        }
    }
}

fn command(exec: &ExecAction, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    if exec.command.as_ref().is_none_or(Vec::is_empty) {
        errors.add(&path.field("exec.command"), "missing required field `command`");
    }
}

fn request(http: &HTTPGetAction, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let path = path.field("httpGet");
    errors.check(&path.field("port"), numbers::port_or_name(&http.port));
    errors.one_of(&path.field("scheme"), http.scheme.as_deref().unwrap_or_default(), &["HTTP", "HTTPS"]);
    let list = path.field("httpHeaders");
    for (index, header) in http.http_headers.iter().flatten().enumerate() {
        errors.check(&list.index(index).field("name"), names::http_header(&header.name));
    }
}

/// The first version of Kubernetes that accepts a sleep of no seconds (`PodLifecycleSleepActionAllowZero`).
const ZERO_SLEEP: u16 = 33;

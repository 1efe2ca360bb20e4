use k8s_openapi::api::networking::v1::{IPBlock, NetworkPolicyPeer};

use crate::kubernetes::{addresses, selectors};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "network-policy-peer-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A peer of a NetworkPolicy is empty, combines `ipBlock` with a selector, or has an invalid network or selector.",
    impacts: &[Impact::ObjectRejected],
    help: "set selectors for the peer, or an ipBlock whose exceptions are networks within it",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/networking/validation/validation.go",
        &["ValidateNetworkPolicyPeer", "ValidateIPBlock"],
    )
    .since("1.16")],
    check: Check::BuiltinObject(check),
};

fn check(known: &BuiltinObject<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let Typed::NetworkPolicy(policy) = &known.typed else { return };
    let root = Path::ROOT;
    let Some(spec) = &policy.spec else { return };
    let path = root.field("spec");
    selectors::validate(spec.pod_selector.as_ref(), &path.field("podSelector"), errors);
    let list = path.field("ingress");
    for (index, rule) in spec.ingress.iter().flatten().enumerate() {
        let path = list.index(index);
        peers(rule.from.as_ref(), &path.field("from"), errors);
    }
    let list = path.field("egress");
    for (index, rule) in spec.egress.iter().flatten().enumerate() {
        let path = list.index(index);
        peers(rule.to.as_ref(), &path.field("to"), errors);
    }
}

fn peers(peers: Option<&Vec<NetworkPolicyPeer>>, list: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    for (index, peer) in peers.into_iter().flatten().enumerate() {
        let path = list.index(index);
        selectors::validate(peer.pod_selector.as_ref(), &path.field("podSelector"), errors);
        selectors::validate(peer.namespace_selector.as_ref(), &path.field("namespaceSelector"), errors);
        let selected = peer.pod_selector.is_some() || peer.namespace_selector.is_some();
        match &peer.ip_block {
            None if !selected => {
                errors.add(&path, "empty peer: must set `podSelector`, `namespaceSelector` or `ipBlock`");
            }
            None => {}
            Some(block) => {
                if selected {
                    errors.add(&path, "`ipBlock` and selectors are mutually exclusive in one peer");
                }
                address_block(block, &path.field("ipBlock"), errors);
            }
        }
    }
}

fn address_block(block: &IPBlock, path: &Path<'_>, errors: &mut ErrorReporter<'_, '_>) {
    let cidr = path.field("cidr");
    if !errors.required(&cidr, &block.cidr) {
        return;
    }
    let verdict = addresses::cidr(&block.cidr, &|| errors.since(addresses::STRICT));
    let whole = match verdict {
        Ok(whole) => whole,
        Err(message) => return errors.add(&cidr, message),
    };
    let list = path.field("except");
    for (index, text) in block.except.iter().flatten().enumerate() {
        let path = list.index(index);
        let verdict = addresses::cidr(text, &|| errors.since(addresses::STRICT));
        match verdict {
            Err(message) => errors.add(&path, message),
            Ok(part) if !whole.strictly_contains(&part) => {
                errors.add(
                    &path,
                    format!("invalid exception `{text}`: must be a smaller network within `{}`", block.cidr),
                );
            }
            Ok(_) => {}
        }
    }
}

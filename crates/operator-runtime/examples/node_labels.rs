//! An operator of a built-in kind: it labels Nodes by the memory that they have. It has no custom resource.

use k8s_openapi::api::core::v1::Node;
use operator_runtime::cli::NoArgs;
use operator_runtime::controller::{Children, Error, Observed, OwnMetadata, Reconciler, Watches};
use operator_runtime::{Identity, Operator, quantity};

/// The label.
pub const LABEL: &str = "nodes.example.com/memory";

/// Names of the operator.
pub const IDENTITY: Identity = Identity {
    name: "node-labels",
    group: "nodes.example.com",
    version: "1.0.0",
    about: "Labels Nodes by the memory that they have",
    image: "example.com/node-labels",
};

/// The controller of Nodes.
pub struct Nodes {
    labels: OwnMetadata,
}

impl Nodes {
    fn new(watches: &mut Watches<Node>) -> Self {
        Self { labels: watches.own_metadata() }
    }
}

impl Reconciler for Nodes {
    type Object = Node;
    /// The kubelet writes the status of a Node.
    type Status = ();
    type External = ();

    fn desired(&self, node: &Node, _: &Observed<Self>) -> Result<Children, Error> {
        let capacity = node.status.as_ref().and_then(|status| status.capacity.as_ref());
        let memory = capacity.and_then(|capacity| capacity.get("memory"));
        let class = memory
            .and_then(|memory| quantity::bytes(&memory.0))
            .map(|bytes| if bytes < 16 << 30 { "small" } else { "large" });
        let mut children = Children::new();
        children.set_label(self.labels, LABEL, class);
        Ok(children)
    }

    fn status(&self, _: &Node, _: &Observed<Self>) {}
}

/// Returns the operator.
pub fn operator() -> Operator {
    Operator::new(IDENTITY).controller(Nodes::new)
}

fn main() -> std::process::ExitCode {
    operator_runtime::main(&IDENTITY, |_: &NoArgs| operator())
}

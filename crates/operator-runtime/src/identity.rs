//! The names of an operator: in the cluster, in logs and in permissions.

/// The names of an operator, usually one constant per program.
///
/// All names in the cluster derive from `name` and `group`: changing either of them is an upgrade that leaves objects behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Name of the operator, such as `memcached-operator`: the prefix of all names, the field manager of every write, the
    /// value of the label `app.kubernetes.io/managed-by`, and the name of the binary in the image.
    pub name: &'static str,
    /// The project's domain or main API group, such as `cache.example.com`: the Lease is `NAME.GROUP`.
    pub group: &'static str,
    /// Version of the operator.
    pub version: &'static str,
    /// What the operator does, in one sentence.
    pub about: &'static str,
    /// Image of the operator without a tag; the default of `manifests` is this with the tag `vVERSION`.
    pub image: &'static str,
}

impl Identity {
    /// Returns a name with the operator's prefix.
    #[must_use]
    pub fn prefixed(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    /// Returns the name of the Lease of the leader election.
    #[must_use]
    pub fn lease(&self) -> String {
        format!("{}.{}", self.name, self.group)
    }

    /// Returns the name of the Secret of the certificate that the manager issues.
    #[must_use]
    pub fn secret(&self) -> String {
        self.prefixed("webhook-server-cert")
    }

    /// Returns the namespace that the operator is deployed to without OLM.
    #[must_use]
    pub fn namespace(&self) -> String {
        self.prefixed("system")
    }

    /// Returns the name for metrics, such as `memcached_operator`.
    pub(crate) fn snake_case(&self) -> String {
        self.name.replace(['-', '.'], "_")
    }

    /// Returns the name for alerts, such as `MemcachedOperator`.
    pub(crate) fn camel_case(&self) -> String {
        let words = self.name.split(['-', '.']);
        words
            .map(|word| {
                word.chars()
                    .take(1)
                    .flat_map(char::to_uppercase)
                    .chain(word.chars().skip(1))
                    .collect::<String>()
            })
            .collect()
    }
}

/// Names without prefix that the manager uses as well.
pub(crate) mod names {
    /// The Service by which the API server reaches the webhooks.
    pub(crate) const WEBHOOK_SERVICE: &str = "webhook-service";
    /// The Service by which Prometheus reaches the metrics.
    pub(crate) const METRICS_SERVICE: &str = "controller-manager-metrics-service";
    /// The defaulting webhooks' configuration.
    pub(crate) const MUTATING: &str = "mutating-webhook-configuration";
    /// The validating webhooks' configuration.
    pub(crate) const VALIDATING: &str = "validating-webhook-configuration";
}

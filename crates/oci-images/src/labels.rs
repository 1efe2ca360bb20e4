//! The labels of OLM's bundle and index images. A bundle's `annotations.yaml` has the same keys.
//!
//! Source: `pkg/lib/bundle/interfaces.go` and `pkg/containertools/labelreader.go` of operator-registry.

/// The package of a bundle.
pub const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
/// The channels of a bundle, separated by commas.
pub const CHANNELS: &str = "operators.operatorframework.io.bundle.channels.v1";
/// The default channel of a bundle's package.
pub const DEFAULT_CHANNEL: &str = "operators.operatorframework.io.bundle.channel.default.v1";
/// The format of a bundle: `registry+v1`.
pub const MEDIA_TYPE: &str = "operators.operatorframework.io.bundle.mediatype.v1";
/// The directory of a bundle's manifests.
pub const MANIFESTS: &str = "operators.operatorframework.io.bundle.manifests.v1";
/// The directory of a bundle's `annotations.yaml`.
pub const METADATA: &str = "operators.operatorframework.io.bundle.metadata.v1";
/// The directory of a bundle's scorecard configuration.
pub const SCORECARD_CONFIG: &str = "operators.operatorframework.io.test.config.v1";
/// The format of a bundle's scorecard configuration: `scorecard+v1`.
pub const SCORECARD_MEDIA_TYPE: &str = "operators.operatorframework.io.test.mediatype.v1";
/// The program that built a bundle, and its version.
pub const METRICS_BUILDER: &str = "operators.operatorframework.io.metrics.builder";
/// The format of the other `metrics` labels: `metrics+v1`.
pub const METRICS_MEDIA_TYPE: &str = "operators.operatorframework.io.metrics.mediatype.v1";
/// The layout of the project that a bundle was built from.
pub const METRICS_PROJECT_LAYOUT: &str = "operators.operatorframework.io.metrics.project_layout";
/// The directory of an index image's catalog.
pub const CONFIGS: &str = "operators.operatorframework.io.index.configs.v1";
/// The place of the `SQLite` database in an index image of the kind before file-based catalogs.
pub const DATABASE: &str = "operators.operatorframework.io.index.database.v1";

//! The rules of catalogs, sorted by name. Their checks are in `olm-catalog`, which decodes the documents of a catalog as a stream,
//! resolves the references between them, and reports findings with [`Rule::finding`].

use super::rule::{Check, Rule};
use olm_model::report::{Impact, Project, Severity, Source, Suite};

macro_rules! catalog_rules {
    ($($name:ident: $severity:ident $id:literal {
        what: $what:literal,
        impact: $impact:expr,
        help: $help:literal,
        source: $source:expr,
    })*) => {
        $(
            #[doc = $what]
            pub static $name: Rule = Rule {
                id: $id,
                suite: Suite::Catalog,
                severity: Severity::$severity,
                what: $what,
                impacts: &[$impact],
                help: $help,
                sources: &[$source],
                check: Check::Catalog,
            };
        )*

        /// All rules of catalogs, sorted by name.
        pub(crate) static RULES: &[&Rule] = &[$(&$name),*];
    };
}

catalog_rules! {
    BUNDLE_BUILD_AND_RELEASE: Error "bundle-build-and-release" {
        what: "A bundle's version has build metadata although the bundle has a release.",
        impact: Impact::CatalogRejected,
        help: "remove the build metadata from the version, or the release",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.62"),
    }
    BUNDLE_DUPLICATE: Error "bundle-duplicate" {
        what: "Two `olm.bundle` blobs of a package have the same name.",
        impact: Impact::CatalogRejected,
        help: "remove one of the blobs",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    BUNDLE_IMAGE_INVALID: Error "bundle-image-invalid" {
        what: "A bundle's image, or one of its related images, is not a valid reference.",
        impact: Impact::CatalogRejected,
        help: "use `registry/repository:tag` or `registry/repository@sha256:digest`",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.64"),
    }
    BUNDLE_IMAGE_MISSING: Error "bundle-image-missing" {
        what: "A bundle has neither an image nor `olm.bundle.object` properties, so OLM cannot install it.",
        impact: Impact::CatalogRejected,
        help: "set `image`",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    BUNDLE_NAME_NOT_NORMALIZED: Error "bundle-name-not-normalized" {
        what: "The name of a bundle with a release is not `PACKAGE-vVERSION-RELEASE`.",
        impact: Impact::CatalogRejected,
        help: "rename the bundle, or remove the release",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.62"),
    }
    BUNDLE_NOT_IN_CHANNEL: Error "bundle-not-in-channel" {
        what: "A bundle is not an entry of any channel of its package.",
        impact: Impact::CatalogRejected,
        help: "add the bundle to the entries of a channel, or remove the blob",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    BUNDLE_OBJECT_INVALID: Error "bundle-object-invalid" {
        what: "The data of an `olm.bundle.object` property is neither JSON nor YAML.",
        impact: Impact::CatalogRejected,
        help: "render the bundle again",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/load.go").since("1.17"),
    }
    BUNDLE_OBJECT_OBSOLETE: Warning "bundle-object-obsolete" {
        what: "A catalog for OpenShift 4.17 or later contains `olm.bundle.object` properties, which its pipeline rejects; OLM and opm accept them. The rule applies to catalogs in `catalogs/vX.Y` of a catalog repository, and with --openshift.",
        impact: Impact::Specific("The pipeline of catalogs for OpenShift 4.17 and later rejects the catalog; OLM and opm accept it."),
        help: "run `bundle-tool catalog migrate` to replace them with `olm.csv.metadata`",
        source: Source::file(Project::OperatorPipelines, "operatorcert/static_tests/common/operator_catalogs.py"),
    }
    BUNDLE_PACKAGE_MISMATCH: Error "bundle-package-mismatch" {
        what: "A bundle's `olm.package` property names a different package than the blob.",
        impact: Impact::CatalogRejected,
        help: "use the same package name in both",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    BUNDLE_PACKAGE_PROPERTY_COUNT: Error "bundle-package-property-count" {
        what: "A bundle does not have exactly one `olm.package` property.",
        impact: Impact::CatalogRejected,
        help: "give the bundle one property of type `olm.package`",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    BUNDLE_PROPERTY_INVALID: Error "bundle-property-invalid" {
        what: "The value of a property is missing, or does not match the property's type.",
        impact: Impact::CatalogRejected,
        help: "correct the value, or render the bundle again",
        source: Source::file(Project::OperatorRegistry, "alpha/property/property.go").since("1.17"),
    }
    BUNDLE_RELEASE_INVALID: Error "bundle-release-invalid" {
        what: "A bundle's release is not a list of pre-release identifiers of at most 20 characters.",
        impact: Impact::CatalogRejected,
        help: "use a release such as `1` or `alpha.1`",
        source: Source::file(Project::OperatorRegistry, "alpha/model/versionrelease.go").since("1.62"),
    }
    BUNDLE_VERSION_DUPLICATE: Error "bundle-version-duplicate" {
        what: "Two bundles of a package have the same version and release.",
        impact: Impact::CatalogRejected,
        help: "give each bundle a version of its own",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.47"),
    }
    BUNDLE_VERSION_INVALID: Error "bundle-version-invalid" {
        what: "A bundle's version is not a semantic version.",
        impact: Impact::CatalogRejected,
        help: "use MAJOR.MINOR.PATCH, such as `1.2.3`",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    CATALOG_FIELD_INVALID: Error "catalog-field-invalid" {
        what: "A field of a blob has a value of a different type than opm expects.",
        impact: Impact::CatalogRejected,
        help: "correct the value",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg.go").since("1.17"),
    }
    CATALOG_FIELD_UNKNOWN: Warning "catalog-field-unknown" {
        what: "A blob has an unknown field whose name is similar to a field that opm reads.",
        impact: Impact::Specific("opm ignores the field, so an upgrade edge that it declares does not exist."),
        help: "correct the name of the field",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg.go").since("1.17"),
    }
    CATALOG_FILE_INVALID: Error "catalog-file-invalid" {
        what: "A file of the catalog cannot be read, or is neither YAML nor JSON.",
        impact: Impact::CatalogRejected,
        help: "correct the file, or list it in `.indexignore`",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/load.go").since("1.17"),
    }
    CATALOG_KEY_DUPLICATE: Error "catalog-key-duplicate" {
        what: "A blob has two keys that differ only in case.",
        impact: Impact::CatalogRejected,
        help: "remove one of the keys",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg.go").since("1.28"),
    }
    CATALOG_PACKAGE_NAME_INVALID: Error "catalog-package-name-invalid" {
        what: "A package's name is not a DNS label.",
        impact: Impact::CatalogRejected,
        help: "use at most 63 lowercase letters, digits and `-`, with a letter or digit at both ends",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.41"),
    }
    CATALOG_REST_IGNORED: Warning "catalog-rest-ignored" {
        what: "A document ends with `...`, or a value in braces that is not JSON is followed by more text: opm does not read the rest.",
        impact: Impact::Specific("opm does not read the rest of the document, so what it describes is not in the catalog that OLM sees."),
        help: "separate documents with `---`",
        source: Source::file(Project::Apimachinery, "util/yaml/decoder.go").since("1.16"),
    }
    CATALOG_SCHEMA_MISSING: Error "catalog-schema-missing" {
        what: "A document has no `schema`. This includes documents that contain only comments.",
        impact: Impact::CatalogRejected,
        help: "set `schema`, or remove the document",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/load.go").since("1.17"),
    }
    CATALOG_SCHEMA_UNKNOWN: Warning "catalog-schema-unknown" {
        what: "The schema of a blob begins with `olm.`, which is reserved for OLM, but is not a schema that OLM or opm reads.",
        impact: Impact::Specific("opm keeps the blob, and nothing reads it."),
        help: "use `olm.package`, `olm.channel`, `olm.bundle` or `olm.deprecations`, or a schema that does not begin with `olm.`",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg.go").since("1.17"),
    }
    CHANNEL_BUNDLE_MISSING: Error "channel-bundle-missing" {
        what: "An entry of a channel names a bundle that is not in the catalog.",
        impact: Impact::CatalogRejected,
        help: "add the `olm.bundle` blob, or remove the entry",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    CHANNEL_CYCLE: Error "channel-cycle" {
        what: "Following `replaces` from the head of a channel leads back to an entry.",
        impact: Impact::CatalogRejected,
        help: "remove one of the `replaces` edges",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    CHANNEL_DUPLICATE: Error "channel-duplicate" {
        what: "Two `olm.channel` blobs of a package have the same name.",
        impact: Impact::CatalogRejected,
        help: "merge the entries into one blob",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    CHANNEL_EMPTY: Error "channel-empty" {
        what: "A channel has no entries.",
        impact: Impact::CatalogRejected,
        help: "add an entry, or remove the channel",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    CHANNEL_ENTRY_DUPLICATE: Error "channel-entry-duplicate" {
        what: "A channel has two entries of the same name.",
        impact: Impact::CatalogRejected,
        help: "merge the entries",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    CHANNEL_ENTRY_STRANDED: Error "channel-entry-stranded" {
        what: "An entry of a channel is neither skipped nor reached by following `replaces` from the head: OLM never upgrades from it.",
        impact: Impact::CatalogRejected,
        help: "make the next entry replace or skip it",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    CHANNEL_HEAD_MISSING: Error "channel-head-missing" {
        what: "Every entry of a channel is replaced or skipped by another one.",
        impact: Impact::CatalogRejected,
        help: "remove the edge that leads to the newest entry",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    CHANNEL_HEAD_WITHOUT_METADATA: Warning "channel-head-without-metadata" {
        what: "The head of a channel has neither an `olm.csv.metadata` property nor `olm.bundle.object` properties.",
        impact: Impact::Specific("OLM's package server omits the channel from the PackageManifest, so that consoles do not show it, and the package if it has no other channel. Subscriptions still install it."),
        help: "render the bundle again with `bundle-tool render`, which adds `olm.csv.metadata`",
        source: Source::symbols(Project::OperatorLifecycleManager, "pkg/package-server/provider/registry.go", &["newPackageManifest"]).since("0.14"),
    }
    CHANNEL_HEADS_SEVERAL: Error "channel-heads-several" {
        what: "A channel has several entries that no other entry replaces or skips.",
        impact: Impact::CatalogRejected,
        help: "make the newest entry replace or skip the others",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    CHANNEL_NAME_INVALID: Warning "channel-name-invalid" {
        what: "A channel's name contains whitespace or control characters, which most consoles and command lines do not accept for a Subscription.",
        impact: Impact::Specific("Most consoles and command lines do not accept the name for a Subscription."),
        help: "use letters, digits, `-` and `.`",
        source: Source::file(Project::OperatorFrameworkApi, "pkg/validation").since("0.2"),
    }
    CHANNEL_NAME_MISSING: Error "channel-name-missing" {
        what: "A channel has no name.",
        impact: Impact::CatalogRejected,
        help: "set `name`",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    CHANNEL_SKIP_EMPTY: Error "channel-skip-empty" {
        what: "An entry's `skips` contains an empty name.",
        impact: Impact::CatalogRejected,
        help: "remove the empty name",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    CHANNEL_SKIP_RANGE_INVALID: Error "channel-skip-range-invalid" {
        what: "An entry's `skipRange` is not a range of versions.",
        impact: Impact::CatalogRejected,
        help: "use a range such as `>=1.0.0 <1.2.0`: versions with three numbers, with a space for \"and\" and `||` for \"or\"",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.69"),
    }
    CHANNEL_UPGRADE_BREAKS_CRD: Warning "channel-upgrade-breaks-crd" {
        what: "An upgrade that an entry permits changes a CRD so that existing objects may become invalid. The rule runs only with `--bundles`.",
        impact: Impact::Specific("OLM v1 does not perform the upgrade; OLM v0 performs it, and existing objects may become invalid."),
        help: "revert the change to the CRD, or make it in a new version of the API",
        source: Source::file(Project::OperatorController, "internal/operator-controller/rukpak/preflights/crdupgradesafety").since("1.0"),
    }
    CHANNEL_VERSION_DECREASES: Warning "channel-version-decreases" {
        what: "An entry replaces an entry with a higher version: the upgrade would be a downgrade.",
        impact: Impact::Specific("The upgrade installs a lower version, which may be unable to read the data that the higher version stored."),
        help: "swap the entries, or correct the version",
        source: Source::file(Project::OperatorLifecycleManager, "pkg/controller/registry/resolver").since("0.14"),
    }
    DEFAULT_CHANNEL_MISSING: Error "default-channel-missing" {
        what: "A package has no default channel.",
        impact: Impact::CatalogRejected,
        help: "set `defaultChannel`",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    DEFAULT_CHANNEL_UNKNOWN: Error "default-channel-unknown" {
        what: "A package's default channel is not one of its channels.",
        impact: Impact::CatalogRejected,
        help: "set `defaultChannel` to one of the package's channels",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    DEPRECATION_DUPLICATE: Error "deprecation-duplicate" {
        what: "A package has two `olm.deprecations` blobs, or two deprecations of the same package, channel or bundle.",
        impact: Impact::CatalogRejected,
        help: "merge the blobs, or remove the duplicate deprecation",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.32"),
    }
    DEPRECATION_MESSAGE_MISSING: Error "deprecation-message-missing" {
        what: "A deprecation has no message.",
        impact: Impact::CatalogRejected,
        help: "set `message` to what users should do",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.32"),
    }
    DEPRECATION_REFERENCE_INVALID: Error "deprecation-reference-invalid" {
        what: "A deprecation's reference has no schema, a schema other than `olm.package`, `olm.channel` or `olm.bundle`, or the schema `olm.package` together with a name.",
        impact: Impact::CatalogRejected,
        help: "set `reference.schema` to `olm.package`, `olm.channel` or `olm.bundle`",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.32"),
    }
    DEPRECATION_TARGET_UNKNOWN: Error "deprecation-target-unknown" {
        what: "A deprecation names a channel or bundle that is not in the package.",
        impact: Impact::CatalogRejected,
        help: "correct the name, or remove the deprecation",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.32"),
    }
    PACKAGE_CHANNEL_MISSING: Error "package-channel-missing" {
        what: "A package has no channels.",
        impact: Impact::CatalogRejected,
        help: "add an `olm.channel` blob",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    PACKAGE_DUPLICATE: Error "package-duplicate" {
        what: "Two `olm.package` blobs have the same name.",
        impact: Impact::CatalogRejected,
        help: "remove one of the blobs",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    PACKAGE_ICON_INVALID: Warning "package-icon-invalid" {
        what: "A package's icon has no data, no media type, or data that does not match the media type: consoles do not show it.",
        impact: Impact::Specific("Consoles do not show the icon."),
        help: "set `base64data`, and `mediatype` to its format",
        source: Source::file(Project::OperatorRegistry, "alpha/model/model.go").since("1.17"),
    }
    PACKAGE_NAME_MISSING: Error "package-name-missing" {
        what: "A package has no name, or a bundle or deprecation does not name its package.",
        impact: Impact::CatalogRejected,
        help: "set the name of the package",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
    PACKAGE_UNKNOWN: Error "package-unknown" {
        what: "A channel, bundle or deprecation belongs to a package without an `olm.package` blob.",
        impact: Impact::CatalogRejected,
        help: "add the `olm.package` blob, or correct `package`",
        source: Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.17"),
    }
}

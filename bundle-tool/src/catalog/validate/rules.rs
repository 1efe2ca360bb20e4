//! The rules of `catalog validate`, sorted by name. Errors are what opm rejects; warnings are likely to cause problems.

use super::problem::Rule;
use crate::report::Severity::{Error, Warning};

macro_rules! rules {
    ($($name:ident $id:literal $severity:ident $what:literal $help:literal $source:literal;)*) => {
        $(pub(super) static $name: Rule =
            Rule { id: $id, severity: $severity, what: $what, help: $help, source: $source };)*
        /// All rules, sorted by name.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    BUNDLE_BUILD_AND_RELEASE "bundle-build-and-release" Error
        "A bundle's version has build metadata although the bundle has a release."
        "remove the build metadata from the version, or the release" "operator-registry `alpha/model/model.go`";
    BUNDLE_DUPLICATE "bundle-duplicate" Error
        "Two `olm.bundle` blobs of a package have the same name."
        "remove one of the blobs" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    BUNDLE_IMAGE_INVALID "bundle-image-invalid" Error
        "A bundle's image, or one of its related images, is not a valid reference."
        "use `registry/repository:tag` or `registry/repository@sha256:digest`"
        "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    BUNDLE_IMAGE_MISSING "bundle-image-missing" Error
        "A bundle has neither an image nor `olm.bundle.object` properties, so OLM cannot install it."
        "set `image`" "operator-registry `alpha/model/model.go`";
    BUNDLE_NAME_NOT_NORMALIZED "bundle-name-not-normalized" Error
        "The name of a bundle with a release is not `PACKAGE-vVERSION-RELEASE`."
        "rename the bundle, or remove the release" "operator-registry `alpha/model/model.go`";
    BUNDLE_NOT_IN_CHANNEL "bundle-not-in-channel" Error
        "A bundle is not an entry of any channel of its package."
        "add the bundle to the entries of a channel, or remove the blob"
        "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    BUNDLE_OBJECT_INVALID "bundle-object-invalid" Error
        "The data of an `olm.bundle.object` property is neither JSON nor YAML."
        "render the bundle again" "operator-registry `alpha/declcfg/load.go`";
    BUNDLE_OBJECT_OBSOLETE "bundle-object-obsolete" Warning
        "A catalog for OpenShift 4.17 or later contains `olm.bundle.object` properties, which its pipeline rejects; OLM and opm accept them. The rule applies to catalogs in `catalogs/vX.Y` of a catalog repository, and with --openshift-version."
        "run `bundle-tool catalog migrate` to replace them with `olm.csv.metadata`"
        "operator-pipelines `operatorcert/static_tests/common/operator_catalogs.py`";
    BUNDLE_PACKAGE_MISMATCH "bundle-package-mismatch" Error
        "A bundle's `olm.package` property names a different package than the blob."
        "use the same package name in both" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    BUNDLE_PACKAGE_PROPERTY_COUNT "bundle-package-property-count" Error
        "A bundle does not have exactly one `olm.package` property."
        "give the bundle one property of type `olm.package`" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    BUNDLE_PROPERTY_INVALID "bundle-property-invalid" Error
        "The value of a property is missing, or does not match the property's type."
        "correct the value, or render the bundle again" "operator-registry `alpha/property/property.go`";
    BUNDLE_RELEASE_INVALID "bundle-release-invalid" Error
        "A bundle's release is not a list of pre-release identifiers of at most 20 characters."
        "use a release such as `1` or `alpha.1`" "operator-registry `alpha/model/versionrelease.go`";
    BUNDLE_VERSION_DUPLICATE "bundle-version-duplicate" Error
        "Two bundles of a package have the same version and release."
        "give each bundle a version of its own" "operator-registry `alpha/model/model.go`";
    BUNDLE_VERSION_INVALID "bundle-version-invalid" Error
        "A bundle's version is not a semantic version."
        "use MAJOR.MINOR.PATCH, such as `1.2.3`" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    CATALOG_FIELD_INVALID "catalog-field-invalid" Error
        "A field of a blob has a value of a different type than opm expects."
        "correct the value" "operator-registry `alpha/declcfg/declcfg.go`";
    CATALOG_FILE_INVALID "catalog-file-invalid" Error
        "A file of the catalog cannot be read, or is neither YAML nor JSON."
        "correct the file, or list it in `.indexignore`" "operator-registry `alpha/declcfg/load.go`";
    CATALOG_KEY_DUPLICATE "catalog-key-duplicate" Error
        "A blob has two keys that differ only in case."
        "remove one of the keys" "operator-registry `alpha/declcfg/declcfg.go`";
    CATALOG_REST_IGNORED "catalog-rest-ignored" Warning
        "A document ends with `...`, or a value in braces that is not JSON is followed by more text: opm does not read the rest."
        "separate documents with `---`" "k8s.io/apimachinery `util/yaml/decoder.go`";
    CATALOG_SCHEMA_MISSING "catalog-schema-missing" Error
        "A document has no `schema`. This includes documents that contain only comments."
        "set `schema`, or remove the document" "operator-registry `alpha/declcfg/load.go`";
    CHANNEL_BUNDLE_MISSING "channel-bundle-missing" Error
        "An entry of a channel names a bundle that is not in the catalog."
        "add the `olm.bundle` blob, or remove the entry" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    CHANNEL_CYCLE "channel-cycle" Error
        "Following `replaces` from the head of a channel leads back to an entry."
        "remove one of the `replaces` edges" "operator-registry `alpha/model/model.go`";
    CHANNEL_DUPLICATE "channel-duplicate" Error
        "Two `olm.channel` blobs of a package have the same name."
        "merge the entries into one blob" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    CHANNEL_EMPTY "channel-empty" Error
        "A channel has no entries."
        "add an entry, or remove the channel" "operator-registry `alpha/model/model.go`";
    CHANNEL_ENTRY_DUPLICATE "channel-entry-duplicate" Error
        "A channel has two entries of the same name."
        "merge the entries" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    CHANNEL_ENTRY_STRANDED "channel-entry-stranded" Error
        "An entry of a channel is neither skipped nor reached by following `replaces` from the head: OLM never upgrades from it."
        "make the next entry replace or skip it" "operator-registry `alpha/model/model.go`";
    CHANNEL_HEAD_MISSING "channel-head-missing" Error
        "Every entry of a channel is replaced or skipped by another one."
        "remove the edge that leads to the newest entry" "operator-registry `alpha/model/model.go`";
    CHANNEL_HEADS_SEVERAL "channel-heads-several" Error
        "A channel has several entries that no other entry replaces or skips."
        "make the newest entry replace or skip the others" "operator-registry `alpha/model/model.go`";
    CHANNEL_NAME_INVALID "channel-name-invalid" Warning
        "A channel's name contains whitespace or control characters, which most consoles and command lines do not accept for a Subscription."
        "use letters, digits, `-` and `.`" "operator-framework/api `pkg/validation`";
    CHANNEL_NAME_MISSING "channel-name-missing" Error
        "A channel has no name."
        "set `name`" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    CHANNEL_SKIP_EMPTY "channel-skip-empty" Error
        "An entry's `skips` contains an empty name."
        "remove the empty name" "operator-registry `alpha/model/model.go`";
    CHANNEL_SKIP_RANGE_INVALID "channel-skip-range-invalid" Error
        "An entry's `skipRange` is not a range of versions."
        "use a range such as `>=1.0.0 <1.2.0`" "operator-registry `alpha/model/model.go`";
    CHANNEL_UPGRADE_BREAKS_CRD "channel-upgrade-breaks-crd" Warning
        "An upgrade that an entry permits changes a CRD so that existing objects break: OLM v1 does not perform the upgrade. Checked with --bundles."
        "keep what the change removes, or add it as a new version of the API" "operator-controller `internal/operator-controller/rukpak/preflights/crdupgradesafety`";
    CHANNEL_VERSION_DECREASES "channel-version-decreases" Warning
        "An entry replaces an entry with a higher version: the upgrade would be a downgrade."
        "swap the entries, or correct the version" "operator-lifecycle-manager `pkg/controller/registry/resolver`";
    DEFAULT_CHANNEL_MISSING "default-channel-missing" Error
        "A package has no default channel."
        "set `defaultChannel`" "operator-registry `alpha/model/model.go`";
    DEFAULT_CHANNEL_UNKNOWN "default-channel-unknown" Error
        "A package's default channel is not one of its channels."
        "set `defaultChannel` to one of the package's channels" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    DEPRECATION_DUPLICATE "deprecation-duplicate" Error
        "A package has two `olm.deprecations` blobs, or two deprecations of the same package, channel or bundle."
        "merge them" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    DEPRECATION_MESSAGE_MISSING "deprecation-message-missing" Error
        "A deprecation has no message."
        "set `message` to what users should do" "operator-registry `alpha/model/model.go`";
    DEPRECATION_REFERENCE_INVALID "deprecation-reference-invalid" Error
        "A deprecation's reference has no schema, a schema other than `olm.package`, `olm.channel` or `olm.bundle`, or the schema `olm.package` together with a name."
        "set `reference.schema` to `olm.package`, `olm.channel` or `olm.bundle`"
        "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    DEPRECATION_TARGET_UNKNOWN "deprecation-target-unknown" Error
        "A deprecation names a channel or bundle that is not in the package."
        "correct the name, or remove the deprecation" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    PACKAGE_CHANNEL_MISSING "package-channel-missing" Error
        "A package has no channels."
        "add an `olm.channel` blob" "operator-registry `alpha/model/model.go`";
    PACKAGE_DUPLICATE "package-duplicate" Error
        "Two `olm.package` blobs have the same name."
        "remove one of the blobs" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    PACKAGE_ICON_INVALID "package-icon-invalid" Warning
        "A package's icon has no data, no media type, or data that does not match the media type: consoles do not show it."
        "set `base64data`, and `mediatype` to its format" "operator-registry `alpha/model/model.go`, where the check is disabled";
    PACKAGE_NAME_INVALID "package-name-invalid" Error
        "A package's name is not a DNS label."
        "use at most 63 lowercase letters, digits and `-`, with a letter or digit at both ends"
        "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    PACKAGE_NAME_MISSING "package-name-missing" Error
        "A package has no name, or a bundle or deprecation does not name its package."
        "set the name of the package" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
    PACKAGE_UNKNOWN "package-unknown" Error
        "A channel, bundle or deprecation belongs to a package without an `olm.package` blob."
        "add the `olm.package` blob, or correct `package`" "operator-registry `alpha/declcfg/declcfg_to_model.go`";
}

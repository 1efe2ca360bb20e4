//! `opm`: its command tree, with an adapter for each command.
//!
//! Source: `cmd/opm` of operator-registry v1.73.

mod bundle;
mod dockerfile;
mod index;
mod init;
mod list;
mod mermaid;
mod output;
mod render;
mod serve;
mod sqlite;
mod template;
mod validate;

use std::io::{self, Write as _};

use anyhow::Result;

use super::cobra::{Arity, Command, Flag, Matches};
use super::equivalent::unsupported;
use super::native::NativeCommand;
use super::{Status, variable};

/// The version of opm that the adapters reproduce.
const VERSION: &str = "v1.73.0";
/// The default image of opm in the Dockerfiles of catalogs.
const OPM_IMAGE: &str = "quay.io/operator-framework/opm:latest";

const OUTPUT: Flag = Flag::text("output", "json", "Output format: json or yaml").short('o');
const TEMPLATE_OUTPUT: Flag = Flag::text("output", "json", "Output format: json, yaml or mermaid").short('o');
const MIGRATE_LEVEL: Flag =
    Flag::text("migrate-level", "", "Last migration to run: none, bundle-object-to-csv-metadata or all");
const DEBUG: Flag = Flag::bool("debug", "Enable debug logging").hidden();

pub(crate) const ROOT: Command = Command {
    persistent: &[
        Flag::bool("skip-tls", "Use plain HTTP, or TLS without verification, for registries")
            .deprecated("use --use-http and --skip-tls-verify instead"),
        Flag::bool("skip-tls-verify", "Do not verify the certificates of registries"),
        Flag::bool("use-http", "Use plain HTTP for registries"),
    ],
    flags: &[DEBUG],
    arity: Arity::None,
    action: Some(|_| Ok(Status::SUCCESS)),
    ..Command::group(
        "opm",
        "Build file-based catalogs of operators",
        &[
            ALPHA,
            super::completion_command(|matches| super::completion(&ROOT, matches)),
            Command::group("generate", "Generate files for file-based catalogs", &[DOCKERFILE]),
            INDEX,
            INIT,
            MIGRATE,
            REGISTRY,
            RENDER,
            SERVE,
            VALIDATE,
            Command::leaf("version", "", "Print the version of opm", Arity::Any, &[], version)
                .native(VERSION_COMMAND),
        ],
    )
};

const RENDER: Command = Command {
    exclusive: &[&["migrate", "migrate-level"]],
    ..Command::leaf(
        "render",
        "[catalog-image | catalog-directory | bundle-image | bundle-directory]...",
        "Render catalogs and bundles as file-based catalog objects",
        Arity::AtLeast(1),
        &[
            OUTPUT,
            MIGRATE_LEVEL,
            Flag::bool("migrate", "Run all migrations"),
            Flag::text(
                "alpha-image-ref-template",
                "",
                "Template for the image references of bundle directories, with {{.Package}}, {{.Name}} and {{.Version}}",
            )
            .hidden(),
        ],
        render::run,
    )
    .native(render::NATIVE)
};

const VALIDATE: Command = Command::leaf(
    "validate",
    "<directory>",
    "Validate a file-based catalog",
    Arity::Exactly(1),
    &[Flag::text("output", "", "Output format of the result: json or yaml").short('o')],
    validate::run,
)
.native(validate::NATIVE);

const INIT: Command = Command::leaf(
    "init",
    "<packageName>",
    "Print an olm.package blob",
    Arity::Exactly(1),
    &[
        Flag::text("default-channel", "", "Channel of subscriptions that do not name one").short('c'),
        Flag::text("icon", "", "File with the icon of the package").short('i'),
        Flag::text("description", "", "File with the description of the package, in Markdown").short('d'),
        OUTPUT,
    ],
    init::run,
)
.without_native("`bundle-tool catalog add` writes the `olm.package` blob of a new package itself");

const MIGRATE: Command = Command::leaf(
    "migrate",
    "<indexRef> <outputDir>",
    "Write a catalog to a directory, with a file for each package",
    Arity::Exactly(2),
    &[OUTPUT, MIGRATE_LEVEL],
    render::migrate,
)
.without_native("`bundle-tool catalog migrate CATALOG --output-dir DIR` also replaces `olm.bundle.object`");

const SERVE: Command = Command::leaf(
    "serve",
    "<source_path>",
    "Serve a file-based catalog over gRPC",
    Arity::Exactly(1),
    &[
        Flag::bool("debug", "Enable debug logging"),
        Flag::text(
            "termination-log",
            "/dev/termination-log",
            "File to which the reason for an exit is written",
        )
        .short('t'),
        Flag::text("port", "50051", "Port to serve on").short('p'),
        Flag::text(
            "pprof-addr",
            "localhost:6060",
            "Accepted for compatibility; there is no profiling endpoint",
        ),
        Flag::bool("pprof-capture-profiles", "Accepted for compatibility; no profiles are captured"),
        Flag::text("cache-dir", "", "Directory with the index of the catalog"),
        Flag::bool("cache-only", "Write the index and exit"),
        Flag::bool("cache-enforce-integrity", "Exit with an error if the index cannot be used"),
    ],
    serve::run,
)
.native(serve::NATIVE);

const DOCKERFILE: Command = Command {
    exclusive: &[&["binary-image", "base-image"]],
    ..Command::leaf(
        "dockerfile",
        "<fbcRootDir>",
        "Generate a Dockerfile for a file-based catalog",
        Arity::Exactly(1),
        &[
            Flag::text("binary-image", OPM_IMAGE, "Image in which the catalog is built")
                .deprecated("use --base-image instead"),
            Flag::text("base-image", OPM_IMAGE, "Base image of the catalog").short('i'),
            Flag::text("builder-image", OPM_IMAGE, "Image of the build stage").short('b'),
            Flag::list("extra-labels", "Labels of the image: KEY=VALUE").short('l'),
        ],
        dockerfile::run,
    )
    .without_native("`bundle-tool push catalog DIR IMAGE` pushes the image of a catalog without a Dockerfile")
};

const ALPHA: Command = Command {
    arity: Arity::None,
    is_hidden: true,
    action: Some(|_| Ok(Status::SUCCESS)),
    ..Command::group(
        "alpha",
        "Run an alpha command",
        &[
            BUNDLE,
            Command::group("generate", "Generate files for file-based catalogs", &[DOCKERFILE]),
            LIST,
            RENDER_GRAPH,
            RENDER_TEMPLATE,
            Command::group(
                "convert-template",
                "Convert a file-based catalog to a template",
                &[
                    Command::leaf(
                        "basic",
                        "[<fbc-file> | -]",
                        "Print a basic template of a catalog",
                        Arity::AtMost(1),
                        &[OUTPUT],
                        template::convert,
                    )
                    .native(template::TO_BASIC),
                    Command::leaf(
                        "substitutes",
                        "[<fbc-file> | -]",
                        "Print a substitutes template of a catalog",
                        Arity::AtMost(1),
                        &[OUTPUT],
                        template::convert,
                    )
                    .native(template::TO_SUBSTITUTES),
                ],
            ),
        ],
    )
};

const RENDER_TEMPLATE: Command = Command {
    aliases: &["render-veneer"],
    persistent: &[TEMPLATE_OUTPUT, MIGRATE_LEVEL],
    ..Command::leaf(
        "render-template",
        "[TYPE] [FILE]",
        "Render a catalog template",
        Arity::Between(0, 2),
        &[],
        template::render,
    )
    .native(template::NATIVE)
};

const RENDER_GRAPH: Command = Command::leaf(
    "render-graph",
    "[index-image | fbc-dir]",
    "Print the upgrade graphs of a catalog as a Mermaid diagram",
    Arity::AtLeast(1),
    &[
        Flag::text("minimum-edge", "", "Bundle that the graph starts with"),
        Flag::text("package-name", "", "Package to print").short('p'),
        Flag::bool("draw-v0-semantics", "Mark what OLM v0 skips"),
    ],
    mermaid::run,
)
.without_native("`bundle-tool catalog graph CATALOG --output mermaid` draws a similar graph");

const LIST: Command = Command::group(
    "list",
    "List the contents of a catalog",
    &[
        Command::leaf("packages", "<indexRef>", "List packages", Arity::Exactly(1), &[], list::packages)
            .native(list::PACKAGES),
        Command::leaf(
            "channels",
            "<indexRef> [packageName]",
            "List channels",
            Arity::Between(1, 2),
            &[],
            list::channels,
        )
        .native(list::CHANNELS),
        Command::leaf(
            "bundles",
            "<indexRef> <packageName>",
            "List bundles",
            Arity::Between(1, 2),
            &[],
            list::bundles,
        )
        .native(list::BUNDLES),
    ],
);

const DIRECTORY: Flag = Flag::text("directory", "", "Directory of the manifests").short('d').required();
const PACKAGE: Flag = Flag::text("package", "", "Package of the bundle").short('p');
const CHANNELS: Flag = Flag::text("channels", "", "Channels of the bundle, separated by commas").short('c');
const DEFAULT: Flag = Flag::text("default", "", "Default channel of the package").short('e');
const OUTPUT_DIR: Flag = Flag::text("output-dir", "", "Directory for a copy of the bundle").short('u');
const BASE_IMAGE: Flag = Flag::text("base-image", "scratch", "Base image of the bundle image");

const BUNDLE: Command = Command {
    arity: Arity::None,
    ..Command::group(
        "bundle",
        "Work with bundles",
        &[
            Command::leaf(
                "generate",
                "",
                "Generate the metadata and the Dockerfile of a bundle",
                Arity::None,
                &[DIRECTORY, PACKAGE, CHANNELS, DEFAULT, OUTPUT_DIR, BASE_IMAGE],
                bundle::generate,
            )
            .without_native(
                "`bundle-tool generate bundle` generates a bundle from the manifests of the operator",
            ),
            Command::leaf(
                "build",
                "",
                "Build a bundle image",
                Arity::None,
                &[
                    DIRECTORY,
                    Flag::text("tag", "", "Name of the image").short('t').required(),
                    PACKAGE,
                    CHANNELS,
                    Flag::text("image-builder", "docker", "Container tool to load the image into").short('b'),
                    DEFAULT,
                    Flag::bool("overwrite", "Overwrite existing metadata").short('o'),
                    OUTPUT_DIR,
                    BASE_IMAGE,
                ],
                bundle::build,
            )
            .without_native(
                "`bundle-tool push bundle DIR IMAGE` pushes the image of a bundle without a container tool",
            ),
            Command {
                deprecated: Some("use operator-sdk bundle validate, or bundle-tool validate"),
                ..Command::leaf(
                    "validate",
                    "",
                    "Validate a bundle image",
                    Arity::None,
                    &[
                        Flag::text("tag", "", "Name of the image").short('t').required(),
                        Flag::text(
                            "image-builder",
                            "docker",
                            "Not used, because images are read without a container tool",
                        )
                        .short('b'),
                        Flag::text(
                            "optional-validators",
                            "",
                            "Optional validators to run: operatorhub, bundle-objects",
                        )
                        .short('o'),
                    ],
                    bundle::validate,
                )
                .without_native("`bundle-tool validate IMAGE --suite all` validates a bundle image")
            },
            Command::leaf(
                "unpack",
                "BUNDLE_NAME[:TAG|@DIGEST]",
                "Write the files of a bundle image to a directory",
                Arity::Exactly(1),
                &[
                    Flag::bool("debug", "Enable debug logging").short('d'),
                    Flag::bool("skip-tls", "Use plain HTTP")
                        .short('s')
                        .deprecated("use --use-http and --skip-tls-verify instead"),
                    Flag::bool("skip-tls-verify", "Do not verify the certificates of registries"),
                    Flag::bool("use-http", "Use plain HTTP for registries"),
                    Flag::bool("skip-validation", "Do not validate the bundle").short('v'),
                    Flag::text("root-ca", "", "File with a certificate authority of the registry").short('c'),
                    Flag::text("out", "./", "Output directory").short('o'),
                ],
                bundle::unpack,
            )
            .without_native("`bundle-tool copy IMAGE oci:DIR` keeps an image as an OCI layout"),
            Command::leaf(
                "extract",
                "",
                "Write the manifests of a bundle to a ConfigMap",
                Arity::Any,
                &[
                    Flag::text("configmapname", "", "Name of the ConfigMap").short('c'),
                    Flag::text("datalimit", "1048576", "Maximum size of the manifests in bytes").short('l'),
                    Flag::bool("debug", "Enable debug logging"),
                    Flag::bool("gzip", "Compress the manifests").short('z'),
                    Flag::text("kubeconfig", "", "Kubeconfig file").short('k'),
                    Flag::text("manifestsdir", "/", "Directory of the manifests").short('m'),
                    Flag::text(
                        "namespace",
                        "openshift-operator-lifecycle-manager",
                        "Namespace of the ConfigMap",
                    )
                    .short('n'),
                ],
                unsupported,
            )
            .unsupported(bundle::extract),
        ],
    )
};

const FROM_INDEX: Flag = Flag::text("from-index", "", "Index image to start from").short('f');
const TAG: Flag = Flag::text("tag", "", "Name of the new index image").short('t');
const GENERATE: Flag =
    Flag::bool("generate", "Write the catalog and a Dockerfile, without building an image");
const OUT_DOCKERFILE: Flag =
    Flag::text("out-dockerfile", "", "Name of the Dockerfile of --generate").short('d');
const BINARY_IMAGE: Flag =
    Flag::text("binary-image", "", "Image with opm that serves the catalog").short('i');
const CONTAINER_TOOL: Flag =
    Flag::text("container-tool", "", "Container tool to load the image into: docker or podman").short('c');
const BUILD_TOOL: Flag = Flag::text("build-tool", "", "Same as --container-tool, for building").short('u');
const PULL_TOOL: Flag =
    Flag::text("pull-tool", "", "Accepted for compatibility; images are pulled without a container tool")
        .short('p');
const PERMISSIVE: Flag = Flag::bool("permissive", "Continue with a catalog that is not valid");

const INDEX: Command = Command {
    arity: Arity::None,
    ..Command::group(
        "index",
        "Build index images from file-based catalogs",
        &[
            Command::leaf(
                "add",
                "",
                "Add bundles to an index",
                Arity::None,
                &[
                    DEBUG,
                    GENERATE,
                    OUT_DOCKERFILE,
                    FROM_INDEX,
                    Flag::list("bundles", "Bundle images to add").short('b').required(),
                    BINARY_IMAGE,
                    CONTAINER_TOOL,
                    BUILD_TOOL,
                    PULL_TOOL,
                    TAG,
                    PERMISSIVE,
                    Flag::text(
                        "mode",
                        "replaces",
                        "How upgrade edges are determined: replaces, semver or semver-skippatch",
                    ),
                    Flag::bool("overwrite-latest", "Replace bundles of the same name").hidden(),
                    Flag::bool("enable-alpha", "Enable alpha features").hidden(),
                ],
                index::add,
            )
            .without_native("`bundle-tool catalog add DIR IMAGE` and `push catalog DIR IMAGE` do the same in steps, with a catalog in a directory"),
            Command::leaf(
                "rm",
                "",
                "Remove packages from an index",
                Arity::None,
                &[
                    DEBUG,
                    GENERATE,
                    OUT_DOCKERFILE,
                    FROM_INDEX.required(),
                    Flag::list("operators", "Packages to remove").short('o').required(),
                    BINARY_IMAGE,
                    CONTAINER_TOOL,
                    BUILD_TOOL,
                    PULL_TOOL,
                    TAG,
                    PERMISSIVE,
                ],
                index::remove,
            )
            .without_native("`bundle-tool catalog prune DIR --keep PACKAGE` and `push catalog DIR IMAGE` do the same in steps, with a catalog in a directory"),
            Command::leaf(
                "prune",
                "",
                "Remove all but some packages from an index",
                Arity::None,
                &[
                    DEBUG,
                    GENERATE,
                    OUT_DOCKERFILE,
                    FROM_INDEX.required(),
                    Flag::list("packages", "Packages to keep").short('p').required(),
                    BINARY_IMAGE,
                    Flag::text(
                        "container-tool",
                        "podman",
                        "Container tool to load the image into: docker or podman",
                    )
                    .short('c'),
                    TAG,
                    PERMISSIVE,
                ],
                index::prune,
            )
            .without_native("`bundle-tool catalog prune DIR --keep PACKAGE` and `push catalog DIR IMAGE` do the same in steps, with a catalog in a directory"),
            Command::leaf(
                "export",
                "",
                "Export packages of an SQLite index",
                Arity::None,
                &[
                    DEBUG,
                    Flag::text("index", "", "Index image").short('i'),
                    Flag::list("package", "Packages to export").short('p'),
                    Flag::list("package-name", "Packages to export").hidden(),
                    Flag::text("download-folder", "downloaded", "Output directory").short('f'),
                    Flag::text("container-tool", "none", "Container tool").short('c'),
                ],
                unsupported,
            )
            .unsupported(sqlite::index),
            Command::leaf(
                "prune-stranded",
                "",
                "Remove bundles without a package from an SQLite index",
                Arity::None,
                &[
                    DEBUG,
                    GENERATE,
                    OUT_DOCKERFILE,
                    FROM_INDEX,
                    BINARY_IMAGE,
                    Flag::text("container-tool", "podman", "Container tool").short('c'),
                    TAG,
                ],
                unsupported,
            )
            .unsupported(sqlite::index),
            Command {
                is_hidden: true,
                ..Command::leaf(
                    "deprecatetruncate",
                    "",
                    "Remove bundles below the given ones from an SQLite index",
                    Arity::None,
                    &[
                        DEBUG,
                        GENERATE,
                        OUT_DOCKERFILE,
                        FROM_INDEX,
                        Flag::list("bundles", "Bundle images").short('b'),
                        BINARY_IMAGE,
                        CONTAINER_TOOL,
                        BUILD_TOOL,
                        PULL_TOOL,
                        TAG,
                        PERMISSIVE,
                        Flag::bool("allow-package-removal", "Remove packages that become empty"),
                    ],
                    unsupported,
                )
                .unsupported(sqlite::index)
            },
        ],
    )
};

const DATABASE: Flag = Flag::text("database", "bundles.db", "SQLite database").short('d');

const REGISTRY: Command = Command {
    arity: Arity::None,
    ..Command::group(
        "registry",
        "SQLite databases (not supported)",
        &[
            Command::leaf(
                "add",
                "",
                "Add bundles to a database",
                Arity::None,
                &[
                    DEBUG,
                    DATABASE,
                    Flag::list("bundle-images", "Bundle images").short('b'),
                    PERMISSIVE,
                    Flag::bool("skip-tls", "Use plain HTTP")
                        .deprecated("use --use-http and --skip-tls-verify instead"),
                    Flag::bool("skip-tls-verify", "Do not verify the certificates of registries"),
                    Flag::bool("use-http", "Use plain HTTP for registries"),
                    Flag::text("ca-file", "", "File with a certificate authority of the registry"),
                    Flag::text("mode", "replaces", "How upgrade edges are determined"),
                    Flag::text("container-tool", "none", "Container tool").short('c'),
                    Flag::bool("overwrite-latest", "Replace bundles of the same name").hidden(),
                    Flag::bool("enable-alpha", "Enable alpha features").hidden(),
                ],
                unsupported,
            )
            .unsupported(sqlite::registry),
            Command::leaf(
                "rm",
                "",
                "Remove packages from a database",
                Arity::None,
                &[DEBUG, DATABASE, Flag::list("packages", "Packages").short('o'), PERMISSIVE],
                unsupported,
            )
            .unsupported(sqlite::registry),
            Command::leaf(
                "prune",
                "",
                "Remove all but some packages from a database",
                Arity::None,
                &[DEBUG, DATABASE, Flag::list("packages", "Packages").short('p'), PERMISSIVE],
                unsupported,
            )
            .unsupported(sqlite::registry),
            Command::leaf(
                "prune-stranded",
                "",
                "Remove bundles without a package from a database",
                Arity::None,
                &[DEBUG, DATABASE],
                unsupported,
            )
            .unsupported(sqlite::registry),
            Command::leaf(
                "serve",
                "",
                "Serve a database over gRPC",
                Arity::None,
                &[
                    DEBUG,
                    DATABASE,
                    Flag::text("port", "50051", "Port to serve on").short('p'),
                    Flag::text(
                        "termination-log",
                        "/dev/termination-log",
                        "File to which the reason for an exit is written",
                    )
                    .short('t'),
                    Flag::bool("skip-migrate", "Do not migrate the database"),
                    Flag::text("timeout-seconds", "infinite", "Time after which the server exits"),
                ],
                unsupported,
            )
            .unsupported(sqlite::registry),
        ],
    )
};

/// `version`, whose output Makefiles compare with the version that they require.
const VERSION_COMMAND: NativeCommand =
    NativeCommand { has_same_output: false, ..NativeCommand::new(&["--version"], &[]) };

/// Prints the version, which Makefiles compare with the one that they require.
fn version(_: &Matches) -> Result<Status> {
    let version = variable("BUNDLE_TOOL_OPM_VERSION")?.unwrap_or_else(|| VERSION.to_owned());
    writeln!(
        io::stdout(),
        "Version: version.Version{{OpmVersion:{version:?}, GitCommit:{:?}, BuildDate:\"\", GoOs:{:?}, GoArch:{:?}}}",
        concat!("bundle-tool-", env!("CARGO_PKG_VERSION")),
        super::OS,
        super::ARCHITECTURE
    )?;
    Ok(Status::SUCCESS)
}

//! The environment variables that bundle-tool reads, for the reference.

/// An environment variable: its name, and what it does, as a sentence.
pub(super) type Variable = (&'static str, &'static str);

/// All variables by subject.
pub(super) const VARIABLES: &[(&str, &[Variable])] = &[
    (
        "Output",
        &[
            ("NO_COLOR", "Turns colors off, unless you pass `--color always`."),
            ("COLUMNS", "Width of the terminal, if the terminal does not report one."),
            (
                "TMPDIR",
                "Directory for temporary files, such as layers that `push` builds or that `copy` and `mirror` transfer between registries. Layers for a layout or an archive are stored on the target's disk instead.",
            ),
            ("RAYON_NUM_THREADS", "Number of threads that validate bundles and read catalogs."),
        ],
    ),
    (
        "Reproducible output",
        &[(
            "SOURCE_DATE_EPOCH",
            "Time in seconds since 1970: `createdAt` of a generated CSV, and the creation time of images, which is 1970 without it.",
        )],
    ),
    (
        "Registries",
        &[
            ("REGISTRY_AUTH_FILE", "File with credentials. If it is set, no other file is read."),
            (
                "XDG_RUNTIME_DIR",
                "`containers/auth.json` in this directory is the first file with credentials.",
            ),
            ("XDG_CONFIG_HOME", "Replaces `~/.config` in the name of `~/.config/containers/auth.json`."),
            ("DOCKER_CONFIG", "Directory of Docker's `config.json`; `~/.docker` if it is not set."),
            ("CONTAINERS_REGISTRIES_CONF", "File with mirrors, instead of `registries.conf`."),
            ("HTTPS_PROXY", "Proxy for requests over HTTPS; `https_proxy` works, too."),
            ("HTTP_PROXY", "Proxy for requests over HTTP; `http_proxy` works, too."),
            ("ALL_PROXY", "Proxy for all requests that the two variables above do not cover."),
            ("NO_PROXY", "Hosts that are accessed without a proxy, separated by commas."),
            ("SSL_CERT_FILE", "File of certificate authorities to use instead of the system's."),
            ("SSL_CERT_DIR", "Directories of certificate authorities to use instead of the system's."),
            (
                "COSIGN_PASSWORD",
                "Password of the key that you pass to `push … --sign` or `attest sign --key`.",
            ),
        ],
    ),
    (
        "Clusters",
        &[(
            "KUBECONFIG",
            "Kubeconfig files, separated by `:`, unless you pass `--kubeconfig`; `~/.kube/config` if it is not set.",
        )],
    ),
    (
        "operator-sdk and opm",
        &[
            ("OPERATOR_BUNDLE_CATEGORIES", "File with the categories that the suite `categories` accepts."),
            ("BUNDLE_TOOL_OPERATOR_SDK_VERSION", "Version that `operator-sdk version` prints."),
            ("BUNDLE_TOOL_OPM_VERSION", "Version that `opm version` prints."),
            ("BUNDLE_TOOL_OLM_RELEASES", "Directory or URL of OLM releases for `operator-sdk olm install`."),
        ],
    ),
];

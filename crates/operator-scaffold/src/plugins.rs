//! Plugin keys, as kubebuilder's `PROJECT` file and `--plugins` use them: `NAME/vVERSION`.

use super::error::Error;
use olm_model::report::suggest;

/// The plugin that writes Rust projects: the project's layout.
pub const RUST: &str = "rust.bundle-tool/v1";
/// The plugin that writes an API and a controller for an image.
pub const DEPLOY_IMAGE: &str = "deploy-image.bundle-tool/v1";
/// The layout of operators that are packaged only.
pub(crate) const ADOPTED: &str = "adopted.bundle-tool/v1";
/// operator-sdk's plugin for `config/manifests`.
pub const MANIFESTS: &str = "manifests.sdk.operatorframework.io/v2";
/// operator-sdk's plugin for `config/scorecard`.
pub const SCORECARD: &str = "scorecard.sdk.operatorframework.io/v2";

/// Each key with the short forms that select it.
const KEYS: &[(&str, &[&str])] = &[
    (RUST, &["rust/v1", "rust"]),
    (DEPLOY_IMAGE, &["deploy-image/v1", "deploy-image/v1-alpha", "deploy-image"]),
    (MANIFESTS, &["manifests/v2"]),
    (SCORECARD, &["scorecard/v2"]),
];

/// Returns the full key for a key or one of its short forms.
///
/// # Errors
/// There is no such plugin.
pub fn resolve(key: &str) -> Result<&'static str, Error> {
    let known = KEYS.iter().find(|(full, short)| *full == key || short.contains(&key));
    known.map(|(full, _)| *full).ok_or_else(|| {
        let all = || KEYS.iter().flat_map(|(full, short)| short.iter().take(1).chain([full]));
        let shown: Vec<&str> = KEYS.iter().map(|(full, short)| *short.first().unwrap_or(full)).collect();
        Error::Plugin {
            key: kube_yaml::text::excerpt(key).into_owned(),
            help: match suggest::nearest(key, all().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("must be {}", suggest::alternatives(&shown)),
            },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_forms_select_a_plugin_and_unknown_keys_are_errors() {
        assert_eq!(resolve("rust/v1").unwrap(), RUST);
        assert_eq!(resolve("deploy-image/v1-alpha").unwrap(), DEPLOY_IMAGE);
        assert_eq!(resolve(MANIFESTS).unwrap(), MANIFESTS);
        assert!(resolve("rusty/v1").unwrap_err().to_string().contains("did you mean `rust/v1`?"));
        let error = resolve("go/v4").unwrap_err().to_string();
        assert!(error.contains("`go/v4`") && error.contains("`deploy-image/v1`"), "{error}");
    }
}

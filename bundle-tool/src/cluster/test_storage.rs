//! What scorecard tests write to their storage, gathered by a sidecar.
//!
//! operator-sdk runs `tar` in a sidecar of its own when the test has ended. Here, Kubernetes ends the sidecar then, which makes it
//! print an archive: what a container printed can be read without a connection to it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_images::layout::{self, Blob, Limits, MediaType};
use serde_json::{Value, json};

use super::snapshot::{list, string};

/// The name of the sidecar, as in operator-sdk.
pub(super) const SIDECAR: &str = "scorecard-gather";

/// The environment variable of a test with the path of its storage.
pub(super) const VARIABLE: &str = "SCORECARD_STORAGE";

/// Maximum size of an encoded archive in bytes: below 10 MiB, where the kubelet begins another log.
pub(super) const MAX_ARCHIVE: usize = 9 << 20;

/// What a complete archive ends with.
const END: &str = "-- end --";

/// Waits for SIGTERM, and prints the files of the directory that is its argument.
const SCRIPT: &str = r#"gather() {
  kill $!
  cd "$0" && tar -cf - . | gzip | base64 && echo "-- end --"
  exit
}
trap gather TERM
while :; do
  sleep 3600 & wait
done
"#;

/// The first version of Kubernetes with sidecars, for messages.
const MIN_VERSION: &str = "1.29";

/// Returns the sidecar that gathers what is written to `path`. Its image needs `sh`, `sleep`, `tar`, `gzip` and `base64`.
pub(super) fn sidecar(image: &str, path: &str) -> Value {
    json!({
        "name": SIDECAR,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "command": ["sh", "-c", SCRIPT, path],
        "volumeMounts": [{"name": "storage", "mountPath": path, "readOnly": true}],
    })
}

/// Returns why a pod that the API server stores has no sidecar, if it should have one.
pub(super) fn missing(pod: &Value) -> Option<String> {
    let first = list(pod, "/spec/initContainers").first()?;
    (string(first, "/restartPolicy") != "Always").then(|| {
        format!(
            "gathering what tests write to their storage requires Kubernetes {MIN_VERSION}; run without --storage-image"
        )
    })
}

/// Returns whether the sidecar has ended.
pub(super) fn has_ended(pod: &Value) -> bool {
    list(pod, "/status/initContainerStatuses").iter().any(|status| {
        string(status, "/name") == SIDECAR
            && status.pointer("/state/terminated").is_some_and(Value::is_object)
    })
}

/// Returns the files that the sidecar printed: their paths in the storage and their bytes.
///
/// # Errors
/// Why the files cannot be read.
pub(super) fn files(printed: &str) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let Some(encoded) = printed.trim_end().strip_suffix(END) else {
        let last = printed.lines().next_back().unwrap_or_default();
        return Err(if printed.len() >= MAX_ARCHIVE {
            format!("as an archive, they exceed the limit of {MAX_ARCHIVE} bytes")
        } else if last.is_empty() {
            "the sidecar printed nothing".to_owned()
        } else {
            format!("the sidecar printed: {last}")
        });
    };
    let encoded: String = encoded.split_ascii_whitespace().collect();
    let archive = STANDARD.decode(encoded).map_err(|error| format!("the archive is malformed: {error}"))?;
    let blob = Blob::from_bytes(MediaType::ImageLayerGzip, archive);
    layout::extract(&[blob], &[String::new()], Limits::bundle()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_incomplete_is_an_error() {
        assert_eq!(files(""), Err("the sidecar printed nothing".to_owned()));
        assert_eq!(files("sh: tar: not found\n"), Err("the sidecar printed: sh: tar: not found".to_owned()));
        let long = "A".repeat(MAX_ARCHIVE);
        assert_eq!(files(&long), Err("as an archive, they exceed the limit of 9437184 bytes".to_owned()));
        assert_eq!(
            files("@\n-- end --\n"),
            Err("the archive is malformed: Invalid symbol 64, offset 0.".to_owned())
        );
        assert!(files("AAAA\n-- end --\n").is_err());
    }

    /// Returns whether a process has a handler of SIGTERM, the 15th signal.
    fn catches_term(process: u32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 14) != 0
    }

    #[test]
    fn the_script_prints_the_files_when_it_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("junit")).unwrap();
        std::fs::write(directory.path().join("junit/report.xml"), "<testsuite/>").unwrap();
        std::fs::write(directory.path().join("binary"), [0, 0xff]).unwrap();
        let path = directory.path().to_str().unwrap();
        let child = Command::new("sh").args(["-c", SCRIPT, path]).stdout(Stdio::piped()).spawn().unwrap();
        // A signal that arrives before the trap ends the shell, which prints nothing.
        while !catches_term(child.id()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Command::new("kill").arg(child.id().to_string()).status().unwrap();
        let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let files = files(&printed).unwrap();
        assert_eq!(files["junit/report.xml"], b"<testsuite/>");
        assert_eq!(files["binary"], [0, 0xff]);
        assert_eq!(files.len(), 2);
    }
}

//! What scorecard tests write to their storage, gathered by a sidecar.
//!
//! operator-sdk runs `tar` in a sidecar of its own when the test has ended. Here, Kubernetes ends the sidecar then, which makes it
//! print an archive: what a container printed can be read without a connection to it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_images::layout::{self, Blob, Limits, MediaType};
use semver::Version;
use serde_json::{Value, json};

use super::snapshot::{list, string};

/// The name of the sidecar, as in operator-sdk.
pub(crate) const SIDECAR: &str = "scorecard-gather";

/// The environment variable of a test with the path of its storage.
pub(crate) const VARIABLE: &str = "SCORECARD_STORAGE";

/// Maximum size of what the sidecar prints in bytes: below 10 MiB, where the kubelet begins another log.
pub(crate) const MAX_PRINTED: usize = 9 << 20;

/// The first version of Kubernetes with sidecars.
const MIN_VERSION: Version = Version::new(1, 29, 0);

/// Where the storage is mounted in the sidecar: hides nothing of the image.
const DIRECTORY: &str = "/scorecard-storage";

/// The line after a complete archive; what follows are errors.
const END: &str = "-- end --";

/// Waits for SIGTERM, and prints the files in `DIRECTORY`. Logs do not tell standard error from standard output, so that
/// errors are printed last.
const SCRIPT: &str = r#"exec 3>&1
gather() {
  trap '' TERM
  kill $! 2>/dev/null
  errors=$({
    { cd DIRECTORY && tar -cf - . || echo "tar failed with status $?" >&2; } | gzip | base64 -w 0 >&3
  } 2>&1)
  printf '\n-- end --\n%s\n' "$errors"
  exit
}
trap gather TERM
while sleep 3600 3>&- >/dev/null & wait $!; do :; done
"#;

/// What a test wrote to its storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gathered {
    /// The files, by their paths in the storage.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Why files are missing, if they are.
    pub problem: Option<String>,
}

impl Gathered {
    pub(crate) fn nothing(problem: impl Into<String>) -> Self {
        Self { files: BTreeMap::new(), problem: Some(problem.into()) }
    }
}

/// Returns why a cluster of this version cannot gather anything, if it cannot.
pub(crate) fn unsupported(version: &Version) -> Option<String> {
    // Pre-releases count as the release.
    ((version.major, version.minor) < (MIN_VERSION.major, MIN_VERSION.minor)).then(|| {
        format!(
            "gathering what tests write to their storage requires Kubernetes {}.{}, but the cluster has {version}; run without \
             --storage-image",
            MIN_VERSION.major, MIN_VERSION.minor
        )
    })
}

/// Returns the sidecar that gathers what is written to the volume `storage`. Its image needs `sh`, `sleep`, `tar`, `gzip` and
/// `base64`.
pub(crate) fn sidecar(image: &str) -> Value {
    json!({
        "name": SIDECAR,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "command": ["sh", "-c", script(DIRECTORY)],
        "volumeMounts": [{"name": "storage", "mountPath": DIRECTORY, "readOnly": true}],
    })
}

fn script(directory: &str) -> String {
    SCRIPT.replace("DIRECTORY", directory)
}

/// Returns whether the sidecar has ended.
pub(crate) fn has_ended(pod: &Value) -> bool {
    list(pod, "/status/initContainerStatuses").iter().any(|status| {
        string(status, "/name") == SIDECAR
            && status.pointer("/state/terminated").is_some_and(Value::is_object)
    })
}

/// Returns the files that the sidecar printed.
pub(crate) fn parse_results(printed: &str) -> Gathered {
    let Some((encoded, errors)) = printed.rsplit_once(END) else {
        return Gathered::nothing(if printed.len() >= MAX_PRINTED {
            format!("the archive exceeds the limit of {MAX_PRINTED} bytes")
        } else {
            match printed.lines().next_back() {
                Some(last) => format!("the sidecar printed: {last}"),
                None => "the sidecar printed nothing".to_owned(),
            }
        });
    };
    let errors = Some(errors.trim()).filter(|errors| !errors.is_empty()).map(str::to_owned);
    match files(encoded.trim()) {
        Ok(files) => Gathered { files, problem: errors },
        Err(reason) => {
            Gathered::nothing(errors.unwrap_or_else(|| format!("the archive cannot be read: {reason}")))
        }
    }
}

fn files(encoded: &str) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let archive = STANDARD.decode(encoded).map_err(|error| error.to_string())?;
    let blob = Blob::from_bytes(MediaType::ImageLayerGzip, archive);
    layout::extract(&[blob], &[String::new()], Limits::bundle()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn what_is_incomplete_has_a_reason() {
        let reason = |printed: &str| {
            let Gathered { files, problem } = parse_results(printed);
            assert!(files.is_empty());
            problem.unwrap()
        };
        assert_eq!(reason(""), "the sidecar printed nothing");
        assert_eq!(reason("H4sI\nexec failed\n"), "the sidecar printed: exec failed");
        assert_eq!(reason(&"A".repeat(MAX_PRINTED)), "the archive exceeds the limit of 9437184 bytes");
        assert_eq!(reason("\n-- end --\ntar: not found\n"), "tar: not found");
        assert_eq!(reason("@\n-- end --\n\n"), "the archive cannot be read: Invalid symbol 64, offset 0.");
    }

    #[test]
    fn sidecars_require_a_version() {
        assert_eq!(unsupported(&Version::parse("1.29.0-alpha.1").unwrap()), None);
        assert_eq!(
            unsupported(&Version::new(1, 28, 15)).unwrap(),
            "gathering what tests write to their storage requires Kubernetes 1.29, but the cluster has 1.28.15; run without \
             --storage-image"
        );
    }

    /// Returns whether a process has a handler of SIGTERM, the 15th signal.
    fn catches_term(process: u32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 14) != 0
    }

    /// Runs the script on a directory until it waits, and ends it.
    fn run(shell: &[&str], directory: &str) -> Gathered {
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).args(["-c", &script(directory)]).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        // A signal that arrives before the trap ends the shell, which prints nothing.
        let start = Instant::now();
        while !catches_term(child.id()) {
            assert!(start.elapsed() < Duration::from_mins(1), "the script does not wait");
            std::thread::sleep(Duration::from_millis(5));
        }
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        parse_results(&String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap())
    }

    #[test]
    fn the_script_prints_the_files_and_then_the_errors() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        std::fs::create_dir(directory.path().join("junit")).unwrap();
        std::fs::write(directory.path().join("junit/report.xml"), "<testsuite/>").unwrap();
        std::fs::write(directory.path().join("binary"), [0, 0xff]).unwrap();
        symlink("junit/report.xml", directory.path().join("latest")).unwrap();
        let mut shells = vec![vec!["sh"]];
        if std::path::Path::new("/bin/busybox").exists() {
            shells.push(vec!["/bin/busybox", "sh"]);
        }
        for shell in shells {
            let Gathered { files, problem } = run(&shell, path);
            assert_eq!(problem, None);
            assert_eq!(files["junit/report.xml"], b"<testsuite/>");
            assert_eq!(files["latest"], b"<testsuite/>");
            assert_eq!(files["binary"], [0, 0xff]);
            assert_eq!(files.len(), 3);
            let problem = run(&shell, &format!("{path}/missing")).problem.unwrap();
            assert!(problem.contains("missing"), "{problem}");
        }
    }
}

//! Linux and other Unix systems.

use std::process::Child;
use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// The limit that this process was started with, once it is raised.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// Raises the number of files that this process may open to the maximum that the system allows.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    INHERITED.get_or_init(|| limit);
    // With the inherited limit, images of a few hundred layers still work.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Gives a program that was just started the limit that this process was started with.
pub fn restore_limit(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Some(limit), Some(pid)) = (INHERITED.get(), pid) {
        // The program may have ended, or belong to another user.
        let _ = prlimit(Some(pid), Resource::Nofile, *limit);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn restore_limit_gives_children_the_inherited_limit() {
        let before = getrlimit(Resource::Nofile);
        let inherited = Rlimit { current: Some(200), ..before };
        setrlimit(Resource::Nofile, inherited).unwrap();
        raise_limit();
        assert_eq!(getrlimit(Resource::Nofile).current, getrlimit(Resource::Nofile).maximum);
        // Waits until its limit is restored.
        let mut child = Command::new("sh")
            .args(["-c", "read line; ulimit -S -n"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        restore_limit(&child);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        assert_eq!(child.wait_with_output().unwrap().stdout, b"200\n");
    }
}

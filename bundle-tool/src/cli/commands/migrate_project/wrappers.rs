//! Programs that run the command that follows them, such as `sudo` and `xargs`.

/// A program that runs another one.
struct Wrapper {
    name: &'static str,
    /// The options that take the next word as their value.
    valued: &'static [&'static str],
    /// The options without a value, or with one that is part of the word.
    plain: &'static [&'static str],
    /// The number of arguments before the command.
    arguments: usize,
}

const fn wrapper(
    name: &'static str,
    valued: &'static [&'static str],
    plain: &'static [&'static str],
    arguments: usize,
) -> Wrapper {
    Wrapper { name, valued, plain, arguments }
}

/// The programs that run the command on this machine with the same arguments. Programs that run it elsewhere, such as `docker run`
/// and `ssh`, are none of them.
const WRAPPERS: &[Wrapper] = &[
    wrapper(
        "sudo",
        &["-u", "-g", "-p", "-C", "-T", "-r", "-t", "--user", "--group", "--prompt"],
        &["-E", "-H", "-n", "-S", "-b", "-k", "--preserve-env", "--non-interactive", "--set-home"],
        0,
    ),
    wrapper("env", &["-u", "-C", "--unset", "--chdir"], &["-i", "-", "--ignore-environment"], 0),
    wrapper(
        "timeout",
        &["-k", "-s", "--kill-after", "--signal"],
        &["-v", "--verbose", "--foreground", "--preserve-status"],
        1,
    ),
    wrapper(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-a",
            "-E",
            "-s",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
        ],
        &["-0", "-r", "-t", "-x", "-i", "--null", "--no-run-if-empty", "--verbose", "--replace"],
        0,
    ),
    wrapper("retry", &["-t", "-d", "-s", "-n", "--times", "--tries", "--delay", "--sleep"], &["-v"], 0),
    wrapper("nice", &["-n", "--adjustment"], &[], 0),
    wrapper("ionice", &["-c", "-n"], &["-t"], 0),
    wrapper("stdbuf", &["-i", "-o", "-e"], &["--input", "--output", "--error"], 0),
    wrapper("time", &["-f", "-o"], &["-p", "-v", "-a"], 0),
    wrapper("exec", &["-a"], &["-c", "-l"], 0),
    wrapper("command", &[], &["-p"], 0),
    wrapper("nohup", &[], &[], 0),
    wrapper("setsid", &[], &["-w", "-f", "-c"], 0),
    wrapper("coproc", &[], &[], 0),
];

/// Returns the number of words of a program that runs another one, with its options; `None` if it is none, or if an option is
/// unknown, so that it is not clear where the command begins.
pub(super) fn words(words: &[&str]) -> Option<usize> {
    let (program, rest) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        if *word == "--" {
            break;
        }
        at += wrapper.values(word)?;
    }
    let is_count = |word: &&&str| name == "retry" && word.starts_with(|char: char| char.is_ascii_digit());
    at += rest[at.min(rest.len())..].iter().take_while(is_count).count();
    Some(1 + at + wrapper.arguments)
}

impl Wrapper {
    /// Returns how many words after an option are its values; `None` if the option is unknown.
    fn values(&self, option: &str) -> Option<usize> {
        if self.plain.contains(&option) {
            return Some(0);
        }
        if self.valued.contains(&option) {
            return Some(1);
        }
        let known = |name: &str| self.valued.contains(&name) || self.plain.contains(&name);
        if option.starts_with("--") {
            return option.split_once('=').is_some_and(|(name, _)| known(name)).then_some(0);
        }
        // Letters, of which the last may have a value, as in `-nu root` or `-n1`.
        let letters = option.get(1..)?;
        for (index, letter) in letters.char_indices() {
            let name = format!("-{letter}");
            if self.valued.contains(&name.as_str()) {
                return Some(usize::from(index + letter.len_utf8() == letters.len()));
            }
            if !self.plain.contains(&name.as_str()) {
                return None;
            }
        }
        Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_begins_behind_the_options_of_its_wrapper() {
        for (line, command) in [
            ("sudo -E opm x", Some("opm")),
            ("sudo -nu root opm", Some("opm")),
            ("sudo --user=x -- opm", Some("opm")),
            ("/usr/bin/env -i A=b opm", Some("A=b")),
            ("timeout -k 5s 60 opm", Some("opm")),
            ("xargs -I{} -n1 docker run opm", Some("docker")),
            ("xargs -0 -I {} opm", Some("opm")),
            ("retry 3 opm", Some("opm")),
            ("nice -n 5 opm", Some("opm")),
            ("sudo docker run opm", Some("docker")),
            ("sudo -Z opm", None),
            ("docker run opm", None),
        ] {
            let line: Vec<&str> = line.split(' ').collect();
            assert_eq!(words(&line).and_then(|at| line.get(at).copied()), command, "{line:?}");
        }
    }
}

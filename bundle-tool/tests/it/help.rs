//! The `--help` of every command.

use std::process::Command;

/// The width of the terminal.
const WIDTH: usize = 100;
/// The width that examples fit into, so that no common terminal wraps them.
const EXAMPLES: usize = 80;

fn help(command: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(command)
        .arg("--help")
        .env("COLUMNS", WIDTH.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The names below `Commands:`, or in the groups of the program's own help.
fn commands(help: &str) -> Vec<String> {
    let is_grouped = help.contains("\nStart here:\n");
    help.lines()
        .skip_while(|line| *line != if is_grouped { "Start here:" } else { "Commands:" })
        .skip(1)
        .take_while(|line| if is_grouped { *line != "Options:" } else { !line.is_empty() })
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// What is wrong with the examples at the end of a help text: each is a comment and commands that can be copied, so that no
/// line is wrapped.
fn faults_of_examples(help: &str) -> Option<String> {
    let Some((_, examples)) = help.split_once("\nExamples:\n") else {
        return Some("no examples".to_owned());
    };
    let lines = || examples.lines().filter(|line| !line.is_empty());
    if lines().next().is_none_or(|line| !line.starts_with("  # ")) {
        return Some("the first example has no comment".to_owned());
    }
    let mut continued = false;
    let mut before = "";
    for line in lines() {
        if line.chars().count() > EXAMPLES {
            return Some(format!("a line of more than {EXAMPLES} characters: {line}"));
        }
        let starts = line.starts_with("  # ") || (line.starts_with("  ") && !line.starts_with("   "));
        // clap indents the rest of a wrapped line like a new command.
        let first = line.split_whitespace().next().unwrap_or_default();
        let wrapped = !line.starts_with("  # ")
            && !continued
            && !before.starts_with("  # ")
            && before.len() + 1 + first.len() > WIDTH;
        if starts == continued || wrapped {
            return Some(format!("a line that was wrapped, or `\\` is missing before it: {line}"));
        }
        continued = line.ends_with(['\\', '|']);
        before = line;
    }
    None
}

#[test]
fn help_of_every_command_has_valid_examples() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/help");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut pending = vec![Vec::new()];
    let mut seen = 0;
    let mut wrong = Vec::new();
    while let Some(command) = pending.pop() {
        let text = help(&command);
        let subcommands = commands(&text);
        // The help of another tool has its layout.
        let is_other = command.first().is_some_and(|name| name == "operator-sdk" || name == "opm");
        if !is_other && let Some(fault) = faults_of_examples(&text) {
            wrong.push(format!("{}: {fault}", command.join(" ")));
        }
        if let Some((_, option)) = text.split_once("--timeout <DURATION>\n")
            && !is_other
            && !option.trim_start().starts_with("Time limit for all network access")
        {
            wrong.push(format!("{}: --timeout has another meaning", command.join(" ")));
        }
        for name in subcommands {
            pending.push(command.iter().cloned().chain([name]).collect::<Vec<_>>());
        }
        let name = std::iter::once("bundle-tool".to_owned()).chain(command).collect::<Vec<_>>().join("-");
        settings.bind(|| insta::assert_snapshot!(name, text));
        seen += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 10, "only {seen} commands were found");
}

#[test]
fn program_help_fits_on_a_terminal() {
    let help = help(&[]);
    let commands = help.lines().take_while(|line| *line != "Options:");
    let long: Vec<_> = commands.filter(|line| line.chars().count() > EXAMPLES).collect();
    assert!(long.is_empty(), "lines of more than {EXAMPLES} characters: {long:#?}");
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(arguments)
        .current_dir(directory.path())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn command_of_another_tool_names_the_own_one() {
    let mut errors = String::new();
    for arguments in [
        &["bundle", "validate", "./bundle"][..],
        &["index", "add", "--bundles", "quay.io/example/gizmo:v1"],
        // The tool that knows the most words.
        &["alpha", "list", "bundles", "catalog"],
        &["alpha", "render-template", "basic", "template.yaml", "-o", "yaml"],
        &["alpha", "convert-template", "basic", "catalog"],
        &["generate", "dockerfile", "catalog"],
        &["generate", "kustomize", "manifests"],
        &["migrate", "old", "new"],
        &["init", "gizmo"],
        &["alpha", "list", "bundles", "catalog", "--no-such-flag"],
        &["index"],
        // Commands of neither tool.
        &["registry", "mirror"],
        &["bundle", "generate"],
        &["list"],
        &["prune"],
        &["template"],
        &["status"],
        &["delete"],
        &["generate-bundle"],
        &["valdate"],
        &["valdiate"],
        &["catalog", "lst"],
        &["login", "-p", "secret", "quay.io"],
        &["login", "quay.io", "--username", "me", "--password", "secret"],
        &["validate", "--profil", "community"],
    ] {
        let (status, _, error) = run(arguments);
        assert_eq!(status, Some(2), "{arguments:?}");
        errors.extend(["$ bundle-tool ", &arguments.join(" "), "\n"]);
        errors.push_str(error.split("\n\nUsage").next().unwrap());
        errors.push_str("\n---\n");
    }
    insta::assert_snapshot!("command-of-another-tool", errors);
}

#[test]
fn version_and_completion_are_commands_as_in_other_tools() {
    let version = format!("bundle-tool {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["version"]), (Some(0), version, String::new()));
    assert_eq!(run(&["completion", "bash"]), run(&["completions", "bash"]));
}

#[test]
fn validate_without_a_reference_validates_the_bundle_here() {
    let (status, _, error) = run(&["validate"]);
    assert_eq!(status, Some(2));
    assert_eq!(
        error,
        "error: no directory `bundle` here: pass the path or the image name of a bundle or a catalog\n"
    );
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("bundle/manifests")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .arg("validate")
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("bundle/"));
}

#[test]
fn plugin_of_kubectl_has_the_commands_of_the_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = directory.path().join("kubectl-olm");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bundle-tool"), &plugin).unwrap();
    let help = |program: &std::path::Path, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).arg("--help").output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        output.stdout
    };
    let tool = std::path::Path::new(env!("CARGO_BIN_EXE_bundle-tool"));
    for name in ["install", "status", "uninstall", "migrate"] {
        assert_eq!(help(&plugin, &[name]), help(tool, &["olm", name]), "{name}");
    }
    assert_eq!(help(&plugin, &["doctor"]), help(tool, &["doctor"]));
}

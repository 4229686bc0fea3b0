//! Unwritable output gives one error, and nothing half-written.

use std::fs::OpenOptions;
use std::process::Stdio;

use crate::support::{run, shop, tree, write};

/// `/dev/full` stays a device.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    use std::os::unix::fs::FileTypeExt as _;

    let sandbox = shop();
    let before = tree(&sandbox);
    for line in [
        "sl export --file /dev/full",
        "admin schema --output /dev/full",
    ] {
        let printed = run(&sandbox, line);
        assert_eq!(printed.code, Some(1), "{line}: {printed}");
        assert!(
            printed.stderr.ends_with(
                "error: cannot write `/dev/full`\n  caused by: No space left on device (os error 28)\n\nhint: free space on that disk; then run the command again\n"
            ),
            "{line}: {printed}"
        );
    }
    let device = std::fs::metadata("/dev/full").unwrap();
    assert!(device.file_type().is_char_device());
    for line in [
        ["--help"].as_slice(),
        &["--version"],
        &["sl"],
        &["sl", "--json"],
        &["sl", "read", "nope", "--json"],
        &["connection", "bogus", "--json"],
        &["sql", "select 1", "--output", "csv"],
        &["sl", "export"],
        &["wiki", "read", "revenue"],
        &["status", "--json"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = sandbox
            .command(line)
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let wanted = match line {
            [_, "read", "nope", _] => (Some(3), "error: unknown source `nope`"),
            [_, "bogus", _] => (Some(2), "error: unrecognized subcommand 'bogus'"),
            _ => (Some(1), "error: stdout cannot be written"),
        };
        assert_eq!(output.status.code(), wanted.0, "{line:?}: {stderr}");
        assert!(stderr.contains(wanted.1), "{line:?}: {stderr}");
        assert_eq!(stderr.matches("error: ").count(), 1, "{line:?}: {stderr}");
    }
    assert_eq!(tree(&sandbox), before);
}

#[cfg(unix)]
#[test]
fn an_output_file_is_whole_or_untouched() {
    let sandbox = shop();
    write(&sandbox, "there/model.yaml", "mine");
    write(&sandbox, "file", "no folder");
    check!(&sandbox, "sl export --file file/model.yaml", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: cannot write `[SANDBOX]/work/file/model.yaml`
  caused by: File exists (os error 17)
");
    check!(&sandbox, "sl export --file there", @r"
exit 1
--- stderr
Project: [SANDBOX]/work
error: cannot read `[SANDBOX]/work/there`
  caused by: Is a directory (os error 21)
");
    let printed = run(&sandbox, "sl export --file /dev/stdout");
    assert_eq!(printed.code, Some(0), "{printed}");
    assert!(printed.stdout.contains("revenue"), "{printed}");
    assert_eq!(sandbox.read("there/model.yaml").unwrap(), "mine");
    let left: Vec<_> = std::fs::read_dir(sandbox.work().join("there"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1);
}

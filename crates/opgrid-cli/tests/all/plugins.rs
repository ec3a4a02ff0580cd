//! `opgrid --plugin FILE …` and `opgrid plugin info FILE`, with the plugin of `examples/plugin-c`.

use crate::common::{Folder, fails, json, opgrid_in, prints, root};
use std::process::Command;

/// The plugin, built into a folder of its own.
fn plugin() -> (Folder, String) {
    built("examples/plugin-c/plugin.c", &[])
}

/// A plugin of one file of C, built into a folder of its own.
fn built(source: &str, options: &[&str]) -> (Folder, String) {
    let folder = Folder::new();
    let file = folder.file("libplugin_c.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-I", "python/opgrid/include", "-o", &file, source])
        .args(options)
        .current_dir(root())
        .output()
        .expect("there is a C compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    (folder, file)
}

#[test]
fn every_command_sees_what_a_plugin_registered() {
    let (folder, file) = plugin();
    let call = ["call", "demo_c::scale_add", "[1,2,3]:f32", "[10,20,30]:f32", "2."];
    assert_eq!(prints(&[&["--plugin", &file], &call[..]].concat()), "tensor([21., 42., 63.])\n");
    assert_eq!(prints(&[&call[..], &["--plugin", &file]].concat()), "tensor([21., 42., 63.])\n");
    let listed = prints(&["list", "demo_c", "--plugin", &file]);
    assert_eq!(listed, "demo_c::scale_add(Tensor self, Tensor other, float scale) -> Tensor\n");
    let table = prints(&["table", "demo_c::scale_add", "--plugin", &file]);
    assert!(table.contains("plugin.c:"), "{table}");
    let schema = prints(&["schema", "demo_c::scale_add", "--plugin", &file]);
    assert!(schema.contains("The sum of two tensors, the second one scaled."), "{schema}");
    fails(&call, &["demo_c::scale_add"]);

    let named = Command::new(env!("CARGO_BIN_EXE_opgrid"))
        .args(["list", "demo_c", "--plugin", "plugin_c"])
        .env("OPGRID_PLUGIN_PATH", folder.path())
        .output()
        .expect("the binary runs");
    assert_eq!(String::from_utf8_lossy(&named.stdout), listed);
}

#[test]
fn a_plugin_says_what_it_is_without_running() {
    let (_folder, file) = plugin();
    let text = prints(&["plugin", "info", &file]);
    assert_eq!(
        text,
        "name        plugin_c\nversion     0.1.0\nabi         1.3\nnamespaces  demo_c\nkeys        CPU, TESTING_ONLY_GenericMode\n"
    );
    let described = json(&["plugin", "info", &file]);
    assert_eq!((&described["name"], &described["abi"]), (&"plugin_c".into(), &"1.3".into()));
    fails(&["plugin", "info", "Cargo.toml"], &["Cargo.toml", "expected a shared library"]);
    fails(&["plugin", "info", "no_such_plugin"], &["plugin `no_such_plugin`", "there is no such file"]);
    fails(&["--plugin", "no_such_plugin", "list"], &["no_such_plugin"]);
    assert_eq!(opgrid_in(&root(), &["plugin"]).status, Some(2));
}

#[test]
fn what_a_plugin_says_is_on_the_standard_error() {
    let options = ["-D_GNU_SOURCE", "-DCASE=0", "-pthread"];
    let (_folder, file) = built("crates/opgrid-plugin/tests/sources/attacks.c", &options);
    let run = opgrid_in(&root(), &["--plugin", &file, "call", "attacks::says"]);
    assert_eq!((run.status, run.out.as_str()), (Some(0), "0\n"), "{}", run.err);
    let said: Vec<&str> = run.err.lines().take(3).collect();
    let expected = [
        "note: plugin `attacks`: a note",
        "warning: plugin `attacks`: a warning",
        "warning: plugin `attacks`: of no level",
    ];
    assert_eq!(said, expected);
}

//! Commands see what the program registered; the program says what `opgrid` says in every other respect.

use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-command-line")).args(args).output().expect("the binary runs")
}

fn prints(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the binary prints UTF-8")
}

#[test]
fn every_command_sees_the_operators() {
    assert_eq!(prints(&["call", "mine::hypot", "[3,4]:f32", "[4,3]:f32"]), "tensor([5., 5.])\n");
    assert_eq!(prints(&["list", "mine::"]), "mine::hypot(Tensor self, Tensor other) -> Tensor\n");
    assert!(
        prints(&["explain", "mine::hypot", "cpu+grad", "cpu"]).contains("alias CompositeImplicitAutograd")
    );
    assert_eq!(prints(&["lint", "--namespace", "mine"]), "1 operators: nothing found\n");
    assert_eq!(
        prints(&["list", "aten::mm"]),
        "aten::mm(Tensor self, Tensor mat2) -> Tensor\naten::mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)\n"
    );
    assert_eq!(run(&["call", "mine::hypot"]).status.code(), Some(2));
    assert!(prints(&["--help"]).contains("own-command-line [OPTIONS] <COMMAND>"));
}

//! Runs the chores of the project: `cargo xtask COMMAND`.
//!
//! One file per command; [`COMMANDS`] is the list.
//! The exit status is 0 when everything passed, 1 when something failed and 2 when the command line is wrong.
#![forbid(unsafe_code)]

mod asan;
mod bench;
mod budgets;
mod conformance;
mod dependencies;
mod extensions;
mod failure;
mod fuzz;
mod header;
mod instructions;
mod loom;
mod package;
mod python;
mod recipes;
mod rust_source;
mod site;
mod stress;
mod test;
mod tidy;
mod torch;
mod wheel;
mod workspace;

use failure::Failure;
use std::process::ExitCode;

/// One thing that `cargo xtask` can do.
struct Command {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

/// Every command, in the order in which they are listed to the user.
const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        arguments: "[STEP…]",
        about: "everything that must pass: fmt, clippy, test, budgets, python, doc, tidy; or only the steps named",
        run: test::run,
    },
    Command {
        name: "tidy",
        arguments: "",
        about: "the rules of the code base that the compiler does not know",
        run: tidy::run,
    },
    Command {
        name: "instructions",
        arguments: "[--check] [--json FILE] [--binary FILE] [CASE…]",
        about: "machine instructions per call, counted by valgrind, and the locked ones among them",
        run: instructions::run,
    },
    Command {
        name: "stress",
        arguments: "[--calls N] [--threads T]",
        about: "many calls on several threads while everything that is registered changes",
        run: stress::run,
    },
    Command {
        name: "bench",
        arguments: "dispatch|kernels|operators|plugins|python|train|transforms|build [--against torch] [--all] [--cold] [--json FILE] [--rounds N] [--only BEGINNING]",
        about: "times, memory and instructions, beside those of PyTorch measured in the same run; what builds take",
        run: bench::run,
    },
    Command {
        name: "budgets",
        arguments: "[--write]",
        about: "how much there is to build, packages and code of each crate, beside what bench/budgets.json allows; or writes that",
        run: budgets::run,
    },
    Command {
        name: "conformance",
        arguments: "[dispatcher|tensors|python|operators|differences|missing-operators] [--seeds N] [--seed S] [--show SEED] [--break RULE|all] [--record FILE] [--only NAME[,NAME…]] [--missing] [--all]",
        about: "random programs or calls that opgrid and PyTorch both run; every difference that is not wanted fails",
        run: conformance::run,
    },
    Command {
        name: "extensions",
        arguments: "[--wheel FILE]",
        about: "the extensions of Python in examples, installed by pip into fresh environments beside a wheel of the package",
        run: extensions::run,
    },
    Command {
        name: "site",
        arguments: "",
        about: "the documentation as a web site, in which every link leads somewhere",
        run: site::run,
    },
    Command {
        name: "loom",
        arguments: "",
        about: "the protocol of retirement in every order of its steps, and mutants of it that must fail",
        run: loom::run,
    },
    Command {
        name: "package",
        arguments: "[list|wheel [FILE]]",
        about: "the library crates as they would be published, each built from its package alone, or only what they contain; a wheel",
        run: package::run,
    },
    Command {
        name: "recipes",
        arguments: "[--here] [NAME…]",
        about: "the changes that the structure has to carry: applies each to a copy, tests it, counts what it touches",
        run: recipes::run,
    },
    Command {
        name: "fuzz",
        arguments: "[--seconds N] [--runs N] [TARGET…]",
        about: "random schema texts, boxed calls and programs of registrations, for N seconds each (600) or N inputs",
        run: fuzz::run,
    },
    Command {
        name: "header",
        arguments: "[--check]",
        about: "the C header of the plugin interface, written from the types of opgrid-abi",
        run: header::run,
    },
    Command {
        name: "asan",
        arguments: "[schema|core|tensor|operators|plugins]…",
        about: "the tests of the crates that hold unsafe code, under AddressSanitizer and its search for leaks",
        run: asan::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Failure> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(Failure::usage(format!("no command given; commands are:\n{}", commands())));
    };
    if ["help", "--help", "-h"].contains(&name.as_str()) {
        println!("cargo xtask COMMAND, where COMMAND is one of:\n{}", commands());
        return Ok(());
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(rest),
        None => Err(Failure::usage(format!("unknown command `{name}`; commands are:\n{}", commands()))),
    }
}

/// Lists the commands, one per line, each with its arguments and purpose.
fn commands() -> String {
    let lines: Vec<String> = COMMANDS
        .iter()
        .map(|command| {
            let call = format!("{} {}", command.name, command.arguments);
            format!("  {}\n      {}", call.trim_end(), command.about)
        })
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn an_unknown_command_is_a_usage_error_that_lists_the_commands() {
        for line in ["", "tset", "--only"] {
            let failure = dispatch(&words(line)).unwrap_err();
            assert!(failure.is_usage(), "{line}");
            for command in COMMANDS {
                assert!(failure.to_string().contains(command.name), "{line}: {failure}");
            }
        }
    }

    #[test]
    fn unknown_arguments_are_usage_errors() {
        let lines = [
            "test nothing",
            "tidy now",
            "instructions --what",
            "instructions --json",
            "stress 1",
            "bench",
            "loom all",
            "package opgrid",
            "fuzz all",
            "asan all",
            "budgets all",
            "header now",
            "site now",
        ];
        for line in lines {
            assert!(dispatch(&words(line)).unwrap_err().is_usage(), "{line}");
        }
    }
}

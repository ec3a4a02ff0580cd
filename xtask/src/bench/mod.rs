//! `cargo xtask bench SUITE`: measures opgrid, and with `--against torch` PyTorch in the same run; the suite `kernels` also beside
//! other Rust libraries, `--against torch,candle,ndarray`, whose programs are a workspace of their own, `bench/peers`, and the suite
//! `graph` beside TorchScript.
//!
//! What is measured stands apart from who measures it: `bench/SUITE.json` names the figures with their budgets, the
//! programs `bench/ours/src/bin/SUITE` and `bench/torch/SUITE.cpp` measure them. Both answer to the same command
//! lines, and run several times in turn; the lowest value of each figure counts. On a shared machine a time says
//! little: the ratio of two times of one run is what counts. What builds take has no programs, see [`build`]. Plugins have no
//! peer: what goes through their interface is measured beside what does not.

mod build;
mod definition;
mod figure;
mod samples;

use crate::failure::Failure;
use crate::instructions::callgrind;
use crate::python::Package;
use crate::torch::Torch;
use crate::workspace::{Workspace, output, passes};
use definition::{Argument, Definition, Suite};
use figure::{Figure, report, table};
use samples::Samples;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The suites, each with a file of definitions and its programs; those of builds are measured by [`build`].
const SUITES: &[&str] = &[
    "dispatch",
    "graph",
    "kernels",
    "linalg",
    "operators",
    "plugins",
    "python",
    "train",
    "transforms",
    "build",
];

/// The suites whose programs are one script in Python, with the script and the profile that the module is built with: calls
/// are measured in what people install, operators in what is built again in little time.
const SCRIPTS: &[(&str, &str, &str)] = &[
    ("linalg", "bench/python/linalg.py", "release"),
    ("operators", "bench/python/operators.py", "release"),
    ("python", "bench/python/measure.py", "wheel"),
    ("train", "bench/python/train.py", "release"),
    ("transforms", "bench/python/transforms.py", "release"),
];

/// The suite of exported programs, and the script that exports them and measures them in torch.
const GRAPH: &str = "graph";
const EXPORTER: &str = "bench/python/graph.py";

/// How often each program runs unless `--rounds` says otherwise.
const ROUNDS: u32 = 7;

/// How often builds are edited: each takes minutes.
const ROUNDS_OF_BUILDS: u32 = 1;

/// How many calls are counted. Start-up is the same in both runs that are compared, but for some hundred instructions
/// of hash maps that are seeded at random.
const COUNTED_CALLS: u64 = 50_000;

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    suite: String,
    against: Vec<Peer>,
    json: Option<PathBuf>,
    rounds: u32,
    /// Whether what takes long is built from nothing, too.
    cold: bool,
    /// The beginning of the names of the figures that are wanted.
    only: String,
    /// Whether figures are measured that take long together.
    all: bool,
}

/// Whom a suite can be measured beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Peer {
    Torch,
    TorchScript,
    Candle,
    Ndarray,
}

impl Peer {
    /// Budgets are about the first one.
    const ALL: [Self; 4] = [Self::Torch, Self::TorchScript, Self::Candle, Self::Ndarray];

    /// The suite that measures a peer, if it is one alone.
    fn only_suite(self) -> Option<&'static str> {
        match self {
            Self::Torch => None,
            Self::TorchScript => Some("graph"),
            Self::Candle | Self::Ndarray => Some("kernels"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::TorchScript => "torchscript",
            Self::Candle => "candle",
            Self::Ndarray => "ndarray",
        }
    }

    /// Parses a comma-separated list of peers, in the order in which they are reported.
    fn listed(names: &str) -> Result<Vec<Self>, Failure> {
        let known = |name: &str| Self::ALL.iter().any(|peer| peer.name() == name);
        if let Some(unknown) = names.split(',').find(|name| !known(name)) {
            let all = Self::ALL.map(Self::name).join(", ");
            return Err(Failure::usage(format!("unknown peer `{unknown}`; peers are: {all}")));
        }
        Ok(Self::ALL.into_iter().filter(|peer| names.split(',').any(|name| name == peer.name())).collect())
    }
}

/// A program that measures one side.
struct Program {
    path: PathBuf,
    /// What stands before the argument that says what to do.
    arguments: Vec<OsString>,
    /// Where Python finds our package.
    site: Option<PathBuf>,
    /// Further variables of its environment.
    environment: &'static [(&'static str, &'static str)],
    samples: Samples,
}

/// What holds torch and the libraries in it to the instructions that `OPGRID_ISA` names for ours.
fn held_to(isa: Option<&str>) -> &'static [(&'static str, &'static str)] {
    match isa {
        Some("v2") => &[
            ("ATEN_CPU_CAPABILITY", "default"),
            ("MKL_ENABLE_INSTRUCTIONS", "SSE4_2"),
            ("ONEDNN_MAX_CPU_ISA", "SSE41"),
            ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL,-AVX512BW"),
        ],
        Some("v3") => &[
            ("ATEN_CPU_CAPABILITY", "avx2"),
            ("MKL_ENABLE_INSTRUCTIONS", "AVX2"),
            ("ONEDNN_MAX_CPU_ISA", "AVX2"),
            ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW"),
        ],
        Some("v4") => &[
            ("ATEN_CPU_CAPABILITY", "avx512"),
            ("MKL_ENABLE_INSTRUCTIONS", "AVX512"),
            ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE"),
        ],
        // Ours takes the best then, and so does torch.
        _ => &[],
    }
}

/// Measures a suite and prints its figures; how good they are does not change the exit status.
///
/// # Errors
/// The command line is wrong (a usage error); a program does not build or fails; PyTorch cannot be had.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    let workspace = Workspace::current()?;
    let mut suite = Suite::read(&workspace, &options.suite)?;
    // What is asked for by name is measured in any case.
    let by_default =
        !options.all && options.only.is_empty() && suite.figures.iter().any(|figure| figure.extended);
    suite.figures.retain(|figure| figure.name.starts_with(&options.only) && !(by_default && figure.extended));
    if suite.figures.is_empty() {
        return Err(Failure::usage(format!(
            "no figure of `{}` begins with `{}`",
            options.suite, options.only
        )));
    }
    if options.suite == "build" {
        let measured = build::measure(&workspace, &suite.figures, options.rounds, options.cold)?;
        let figures = figures_of(&suite, &measured.samples, &[]);
        return tell(&options, &figures, &measured.notes);
    }
    let mut notes = Vec::new();
    let against_torch = options.against.contains(&Peer::Torch);
    let torch = against_torch.then(|| Torch::prepare(&workspace)).transpose()?;
    match &torch {
        Some(torch) => println!("measuring against torch {}", torch.version()),
        None if without_peer(&options.suite).is_some() => {}
        None => notes.push("budgets are about ratios to torch, which need `--against torch`".into()),
    }
    let (mut ours, mut torch) = programs(&workspace, &options.suite, torch.as_ref())?;
    if let Some(torch) = &mut torch {
        torch.environment = held_to(std::env::var("OPGRID_ISA").ok().as_deref());
    }
    let arguments: Vec<OsString> = match (suite.argument, &torch) {
        (Argument::Beginning, _) if by_default => Vec::new(),
        (Argument::Beginning, _) => vec![options.only.clone().into()],
        (Argument::Schemas, Some(torch)) => vec![exported_schemas(&workspace, &torch.path)?.into()],
        (Argument::Programs, Some(torch)) => {
            vec![exported_programs(&workspace, torch, &options.only)?.into(), options.only.clone().into()]
        }
        (Argument::Programs, None) => {
            return Err(Failure::usage("torch exports what is measured; add `--against torch`"));
        }
        (Argument::Schemas, None) | (Argument::Nothing, _) => Vec::new(),
    };
    let mut peers: Vec<(Peer, Program)> = torch.map(|torch| (Peer::Torch, torch)).into_iter().collect();
    for peer in options.against.iter().filter(|peer| **peer != Peer::Torch) {
        let program = if *peer == Peer::TorchScript {
            in_torchscript(&workspace)?
        } else {
            in_rust(&workspace, *peer)?
        };
        peers.push((*peer, program));
    }
    measure_in_turn(&mut ours, &mut peers, &arguments, options.rounds)?;
    if let Err(failure) = count_in_turn(&mut ours, &mut peers, &suite.figures) {
        notes.push(format!("instructions are not counted: {failure}"));
    }
    let samples: Vec<_> = peers.iter().map(|(peer, program)| (peer.name(), &program.samples)).collect();
    tell(&options, &figures_of(&suite, &ours.samples, &samples), &notes)
}

/// The program of another Rust library. It is compiled as its users' programs are, without instructions that only some
/// processors have.
fn in_rust(workspace: &Workspace, peer: Peer) -> Result<Program, Failure> {
    let folder = workspace.target()?.join("peers");
    let mut build = workspace.cargo();
    build.args([
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        "bench/peers/Cargo.toml",
        "--bin",
        peer.name(),
    ]);
    passes(build.arg("--target-dir").arg(&folder))?;
    // Products of candle run on all processors unless this is said; ours are measured on one.
    let environment = &[("RAYON_NUM_THREADS", "1")];
    Ok(Program { environment, ..Program::new(folder.join("release").join(peer.name())) })
}

/// Our program and the peer's.
fn programs(
    workspace: &Workspace,
    suite: &str,
    torch: Option<&Torch>,
) -> Result<(Program, Option<Program>), Failure> {
    if let Some((_, script, profile)) = SCRIPTS.iter().find(|(name, ..)| *name == suite) {
        let script = workspace.root().join(script);
        // Both run in one interpreter where there are two.
        let Some(torch) = torch else {
            let package = Package::prepare(workspace, profile)?;
            return Ok((Program::script(&script, &package.command(), "opgrid", Some(package.site())), None));
        };
        let site = Package::assemble(workspace, profile)?;
        let ours = Program::script(&script, &torch.python(), "opgrid", Some(site));
        return Ok((ours, Some(Program::script(&script, &torch.python(), "torch", None))));
    }
    if suite == GRAPH {
        // The command line, which is measured too, stands beside our program.
        workspace.build(&["--package", "opgrid-cli"], "opgrid")?;
    }
    let program = format!("opgrid-bench-{suite}");
    let ours = Program::new(workspace.build(&["--package", "opgrid-bench"], &program)?);
    let Some(torch) = torch else { return Ok((ours, None)) };
    if suite == GRAPH {
        torch.require(&["torchvision", "transformers"])?;
        let script = workspace.root().join(EXPORTER);
        return Ok((ours, Some(Program::script(&script, &torch.python(), "torch", None))));
    }
    let source = workspace.root().join(format!("bench/torch/{suite}.cpp"));
    Ok((ours, Some(Program::new(torch.compile(workspace, &source, &["-Wall"])?))))
}

/// What measures exported networks as torch's older compiler runs them.
fn in_torchscript(workspace: &Workspace) -> Result<Program, Failure> {
    let torch = Torch::prepare(workspace)?;
    Ok(Program::script(&workspace.root().join(EXPORTER), &torch.python(), "torchscript", None))
}

fn figures_of(suite: &Suite, ours: &Samples, peers: &[(&'static str, &Samples)]) -> Vec<Figure> {
    suite.figures.iter().filter_map(|definition| Figure::new(definition, ours, peers)).collect()
}

/// Prints the figures, and writes them where the command line says.
fn tell(options: &Options, figures: &[Figure], notes: &[String]) -> Result<(), Failure> {
    print!("{}", table(figures));
    for note in notes {
        println!("note: {note}");
    }
    if let Some(file) = &options.json {
        let text = format!("{:#}\n", report(&options.suite, figures));
        std::fs::write(file, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    }
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut options = Self {
            suite: String::new(),
            against: Vec::new(),
            json: None,
            rounds: 0,
            cold: false,
            only: String::new(),
            all: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = |what: &str| {
                arguments.next().ok_or_else(|| {
                    Failure::usage(format!("`{argument}` needs {what}, add it after the option"))
                })
            };
            match argument.as_str() {
                "--against" => options.against = Peer::listed(value("a peer, or several with commas")?)?,
                "--all" => options.all = true,
                "--cold" => options.cold = true,
                "--json" => options.json = Some(value("a file")?.into()),
                "--only" => options.only = value("the beginning of figures' names")?.clone(),
                "--rounds" => options.rounds = rounds(value("a number")?)?,
                flag if flag.starts_with('-') => {
                    let known = "`--against PEER,…`, `--all`, `--cold`, `--json FILE`, `--only BEGINNING` and `--rounds N`";
                    return Err(Failure::usage(format!("unknown option `{flag}`; options are {known}")));
                }
                suite if options.suite.is_empty() => options.suite = suite.to_string(),
                other => {
                    return Err(Failure::usage(format!("one suite at a time, found `{other}` too")));
                }
            }
        }
        let of_builds = options.suite == "build";
        if let (false, Some(what)) = (options.against.is_empty(), without_peer(&options.suite)) {
            return Err(Failure::usage(format!("{what}; leave `--against` out")));
        }
        for peer in &options.against {
            if let Some(suite) =
                peer.only_suite().filter(|suite| *suite != options.suite && !options.suite.is_empty())
            {
                let name = peer.name();
                let message =
                    format!("`{name}` is measured by the suite `{suite}` only; use `--against torch`");
                return Err(Failure::usage(message));
            }
        }
        if options.cold && !of_builds && !options.suite.is_empty() {
            return Err(Failure::usage("`--cold` is for the suite `build`"));
        }
        if options.all && options.suite != "kernels" && !options.suite.is_empty() {
            return Err(Failure::usage("`--all` is for the suite `kernels`"));
        }
        if options.rounds == 0 {
            options.rounds = if of_builds { ROUNDS_OF_BUILDS } else { ROUNDS };
        }
        if SUITES.contains(&options.suite.as_str()) {
            return Ok(options);
        }
        let what = if options.suite.is_empty() {
            "no suite given".into()
        } else {
            format!("unknown suite `{}`", options.suite)
        };
        Err(Failure::usage(format!("{what}; suites are: {}", SUITES.join(", "))))
    }
}

/// Why a suite is not measured against a peer.
fn without_peer(suite: &str) -> Option<&'static str> {
    match suite {
        "build" => Some("builds are compared with nothing"),
        "plugins" => Some("plugins are compared with our own kernels"),
        _ => None,
    }
}

fn rounds(text: &str) -> Result<u32, Failure> {
    let parsed = text.parse().ok().filter(|rounds| *rounds > 0);
    parsed.ok_or_else(|| Failure::usage(format!("`--rounds` needs a number from 1 on, found `{text}`")))
}

impl Program {
    fn new(path: PathBuf) -> Self {
        Self { path, arguments: Vec::new(), site: None, environment: &[], samples: Samples::default() }
    }

    /// A script that measures one of two Python modules.
    fn script(script: &Path, python: &Command, module: &str, site: Option<PathBuf>) -> Self {
        let arguments = vec![script.into(), module.into()];
        Self { arguments, site, ..Self::new(python.get_program().into()) }
    }

    fn measure(&mut self, arguments: &[OsString]) -> Result<(), Failure> {
        let mut command = Command::new(&self.path);
        if let Some(site) = &self.site {
            command.env("PYTHONPATH", site);
        }
        command.envs(self.environment.iter().copied());
        let printed = output(command.args(&self.arguments).arg("measure").args(arguments))?;
        self.samples.read(&printed)
    }

    /// Instructions that a call of the case `measured` takes beyond those of the case `bare`.
    fn count(&mut self, figure: &str, measured: &str, bare: &str) -> Result<(), Failure> {
        let total = |case| callgrind::total(&self.path, case, COUNTED_CALLS);
        let difference = total(measured)? as f64 - total(bare)? as f64;
        self.samples.add(figure, difference / COUNTED_CALLS as f64);
        Ok(())
    }
}

/// All programs in turn, so that all see the machine in the same states.
fn measure_in_turn(
    ours: &mut Program,
    peers: &mut [(Peer, Program)],
    arguments: &[OsString],
    rounds: u32,
) -> Result<(), Failure> {
    for round in 1..=rounds {
        println!("round {round} of {rounds}");
        ours.measure(arguments)?;
        for (_, program) in peers.iter_mut() {
            program.measure(arguments)?;
        }
    }
    Ok(())
}

fn count_in_turn(
    ours: &mut Program,
    peers: &mut [(Peer, Program)],
    figures: &[Definition],
) -> Result<(), Failure> {
    for figure in figures {
        let Some([measured, bare]) = &figure.counted else { continue };
        println!("counting instructions of {measured}");
        ours.count(&figure.name, measured, bare)?;
        if let Some((_, torch)) = peers.iter_mut().find(|(peer, _)| *peer == Peer::Torch) {
            torch.count(&figure.name, measured, bare)?;
        }
    }
    Ok(())
}

/// Every schema that the peer has registered, in a file, so that both sides parse the same text.
fn exported_schemas(workspace: &Workspace, peer: &Path) -> Result<PathBuf, Failure> {
    let file = workspace.target()?.join("torch").join("schemas.txt");
    output(Command::new(peer).arg("export").arg(&file))?;
    Ok(file)
}

/// The networks whose names begin so, exported by the peer into a folder that keeps them.
fn exported_programs(workspace: &Workspace, peer: &Program, beginning: &str) -> Result<PathBuf, Failure> {
    let folder = workspace.target()?.join("torch").join(GRAPH);
    let script = workspace.root().join(EXPORTER);
    output(Command::new(&peer.path).arg(script).arg("export").arg(&folder).arg(beginning))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_understood_in_any_order() {
        let options = parse("--json a.json kernels --rounds 3 --only add --against candle,torch").unwrap();
        let expected = Options {
            suite: "kernels".into(),
            against: vec![Peer::Torch, Peer::Candle],
            json: Some("a.json".into()),
            rounds: 3,
            cold: false,
            only: "add".into(),
            all: false,
        };
        assert_eq!(options, expected);
        assert_eq!(parse("dispatch").unwrap().rounds, ROUNDS);
        assert!(parse("kernels --all").unwrap().all);
        let builds = parse("build --cold").unwrap();
        assert_eq!((builds.rounds, builds.cold), (ROUNDS_OF_BUILDS, true));
    }

    #[test]
    fn torch_is_held_to_the_level_that_is_asked_for() {
        assert!(held_to(Some("v3")).contains(&("ATEN_CPU_CAPABILITY", "avx2")));
        assert!(held_to(Some("v4")).contains(&("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")));
        assert!(
            held_to(Some("v2"))
                .iter()
                .any(|(name, value)| *name == "GLIBC_TUNABLES" && value.contains("-FMA"))
        );
        assert!(held_to(None).is_empty() && held_to(Some("avx2")).is_empty());
    }

    #[test]
    fn wrong_command_lines_name_what_there_is() {
        for (line, part) in [
            (
                "",
                "no suite given; suites are: dispatch, graph, kernels, linalg, operators, plugins, python, train, transforms, build",
            ),
            (
                "speed",
                "unknown suite `speed`; suites are: dispatch, graph, kernels, linalg, operators, plugins, python, train, transforms, build",
            ),
            (
                "dispatch --against numpy",
                "unknown peer `numpy`; peers are: torch, torchscript, candle, ndarray",
            ),
            ("kernels --against torch,", "unknown peer ``"),
            ("dispatch --against torch,ndarray", "`ndarray` is measured by the suite `kernels` only"),
            ("dispatch --against", "`--against` needs a peer"),
            ("dispatch --fast", "options are"),
            ("dispatch --rounds 0", "from 1 on, found `0`"),
            ("dispatch python", "found `python` too"),
            ("dispatch --cold", "is for the suite `build`"),
            ("dispatch --all", "is for the suite `kernels`"),
            ("build --against torch", "leave `--against` out"),
            ("plugins --against torch", "compared with our own kernels; leave `--against` out"),
        ] {
            let failure = parse(line).unwrap_err();
            assert!(failure.is_usage() && failure.to_string().contains(part), "{line}: {failure}");
        }
    }
}

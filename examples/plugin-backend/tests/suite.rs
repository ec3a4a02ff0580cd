//! The plugin passes the suite that every backend has to pass, although host and plugin share no Rust type.

use std::path::PathBuf;

use opgrid::dispatch::SlowPath;
use opgrid::ops;
use opgrid::prelude::*;
use opgrid_testing::Suite;
// The library is built because the tests depend on it; what they use is the file.
use plugin_backend as _;

/// The plugin's file, beside the test's program.
fn file() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let places = program.ancestors().skip(1).take(2).map(|folder| folder.join("libplugin_backend.so"));
    places.into_iter().find(|path| path.is_file()).expect("cargo builds the library beside its tests")
}

/// One test for all: the plugin's code knows one dispatcher at a time, and programs run their tests side by side.
fn subject() -> Result<(Dispatcher, Registration, opgrid::plugin::Plugin, Device)> {
    let dispatcher = Dispatcher::new();
    let operators = opgrid::ops::register(&dispatcher)?;
    let plugin = dispatcher.load(file())?;
    Ok((dispatcher, operators, plugin, "vault:0".parse()?))
}

#[test]
fn a_backend_in_a_binary_plugin_passes_the_suite() -> Result<()> {
    let (dispatcher, _operators, plugin, device) = subject()?;
    let report = Suite::new(ops::samples()).device(device).run(&dispatcher);
    assert!(report.passed(), "{report}");
    drop(plugin);
    its_own_kernel_runs_where_it_fits_and_tensors_print()
}

fn its_own_kernel_runs_where_it_fits_and_tensors_print() -> Result<()> {
    let (dispatcher, _operators, plugin, device) = subject()?;
    let to =
        |tensor: &Tensor| dispatcher.call(ops::ToCopy, (tensor, None, None, Some(device), None, false, None));
    let x = to(&Tensor::from_slice(&[1.0f32, -2.0, 3.0], &[3])?)?;
    assert_eq!(x.to_string(), "tensor([ 1., -2.,  3.], device='vault:0')");
    let relu = dispatcher.call(ops::Relu, (&x,))?;
    assert_eq!(relu.to_string(), "tensor([1., 0., 3.], device='vault:0')");
    assert_eq!(dispatcher.stats().count(SlowPath::CPU_COPY, "aten::relu"), 0);
    let wide = to(&Tensor::from_slice(&[1i64, -2], &[2])?)?;
    assert_eq!(dispatcher.call(ops::Relu, (&wide,))?.to_string(), "tensor([1, 0], device='vault:0')");
    assert_eq!(dispatcher.stats().count(SlowPath::CPU_COPY, "aten::relu"), 1);
    let other =
        dispatcher.call(ops::EmptyMemoryFormat, (&[2][..], None, None, Some("vault:1".parse()?), None, None));
    assert!(other.unwrap_err().to_string().contains("there is no device vault:1"));
    drop(plugin);
    // Tensors outlive the registrations: the memory frees itself in the plugin's code.
    assert_eq!(x.to_vec::<f32>()?, [1.0, -2.0, 3.0]);
    assert!(dispatcher.call(ops::Relu, (&x,)).is_err());
    Ok(())
}

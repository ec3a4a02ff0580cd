//! Chains of views: each is taken of the one before.

use opgrid_core::Device;

use super::build::Builder;
use super::case::Case;
use super::layouts;
use super::run::Setting;

/// The families whose results are views, or may be.
const VIEWS: [&str; 13] = [
    "as_strided",
    "contiguous",
    "expand",
    "flatten",
    "permute",
    "reshape",
    "select",
    "slice",
    "squeeze",
    "t",
    "transpose",
    "unsqueeze",
    "view",
];

/// The chain of a seed.
pub fn chain(setting: &Setting, seed: u64) -> Case {
    let mut builder = Builder::new(&setting.ours, seed);
    builder.shape = layouts::shape(&mut builder.random);
    builder.first();
    let views: Vec<_> = setting.of_families(&VIEWS).collect();
    let Ok(mut run) = setting.ours.begin(&builder.case, Device::CPU) else { return builder.case };
    for at in 0..builder.random.below(6) + 2 {
        builder.current = Some(at);
        builder.shape = run.last().map(|tensor| tensor.sizes().to_vec()).unwrap_or_default();
        let (operator, family) = *builder.random.pick(&views);
        builder.call(operator, family);
        if let Some(call) = builder.case.calls.last() {
            run.call(call);
        }
    }
    builder.case
}

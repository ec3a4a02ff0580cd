//! Chains of views: each is taken of the one before.

use opgrid_core::Device;

use super::build::Builder;
use super::case::Case;
use super::layouts;
use super::run::Setting;

/// The chain of a seed.
pub fn chain(setting: &Setting, seed: u64) -> Option<Case> {
    if !setting.is_about_all() {
        return None;
    }
    let mut builder = Builder::new(&setting.ours, seed);
    builder.shape = layouts::shape(&mut builder.random);
    builder.first();
    let views = setting.views();
    let Ok(mut run) = setting.ours.start(&builder.case, Device::CPU) else { return Some(builder.case) };
    for _ in 0..builder.random.below(6) + 2 {
        builder.current = Some(builder.case.calls.len());
        builder.shape = run.last().map(|tensor| tensor.sizes().to_vec()).unwrap_or_default();
        let (operator, maker) = *builder.random.pick(&views);
        builder.call(operator, maker);
        if builder.case.tensors.len() > 1 {
            // A further tensor would have the number of the first view.
            builder.case.tensors.truncate(1);
            builder.case.calls.pop();
            continue;
        }
        if let Some(call) = builder.case.calls.last() {
            let is_refused = run.call(call).outcome.is_err();
            // Most of what one side refuses the other refuses, too, and says nothing of views.
            if is_refused && builder.random.chance(80) {
                builder.case.calls.pop();
                run.forget_last();
            }
        }
    }
    Some(builder.case)
}

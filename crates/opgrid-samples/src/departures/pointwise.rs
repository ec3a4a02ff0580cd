//! Of element-wise operators.

use opgrid_array::{Geometry, TensorSpec};
use opgrid_core::{DType, Device, MemoryFormat};

use crate::differences::{Difference, Part, Seen};

/// The differences from torch that come of what stands here.
pub const DIFFERENCES: &[Difference] = &[Difference {
    id: "converted-inputs-lie-as-they-are",
    what: "torch decides the memory format of a result by the copies that it makes of inputs of other \
         dtypes; here the inputs themselves decide",
    why: "the memory format of a result must not depend on dtypes",
    test: (
        "opgrid-operators/tests/all/differences/layouts.rs",
        "converted_inputs_decide_on_the_order_as_they_lie",
    ),
    when: |seen| seen.part == Part::Strides && is_order_of_copies(seen),
    directed: None,
}];

/// Whether the strides of torch's result are those that come of dense copies of the inputs that are not of the dtype
/// that is computed in, whichever that is.
fn is_order_of_copies(seen: &Seen<'_>) -> bool {
    let inputs = seen.inputs();
    let strides =
        |is_copied: &dyn Fn(usize, DType) -> bool, number: bool, reversed: bool| -> Option<String> {
            let mut geometries = Vec::new();
            for (place, input) in inputs.iter().enumerate() {
                geometries.push(if is_copied(place, input.dtype) {
                    input.geometry.like(MemoryFormat::Preserve).ok()?
                } else {
                    input.geometry.clone()
                });
            }
            if number {
                geometries.push(Geometry::contiguous(&[]).ok()?);
            }
            if reversed {
                geometries.reverse();
            }
            let spec =
                TensorSpec::elementwise(&geometries.iter().collect::<Vec<_>>(), DType::F32, Device::CPU)
                    .ok()?;
            Some(format!("{:?}", spec.strides()))
        };
    let is_torch = |is_copied: &dyn Fn(usize, DType) -> bool| {
        let orders = [(false, false), (false, true), (true, false), (true, true)];
        orders
            .iter()
            .any(|(number, reversed)| strides(is_copied, *number, *reversed).as_deref() == Some(seen.torch))
    };
    // This side's order is that of the inputs as they lie.
    let is_ours = [(false, false), (false, true), (true, false), (true, true)]
        .iter()
        .any(|(number, reversed)| strides(&|_, _| false, *number, *reversed).as_deref() == Some(seen.ours));
    if !is_ours {
        return false;
    }
    let dtypes = inputs.iter().map(|input| input.dtype).chain([seen.default, DType::Bool]);
    // The condition before two values stays what it is.
    let condition = usize::from(inputs.len() == 3);
    let is_order = |computed| {
        is_torch(&|_, dtype| dtype != computed)
            || condition > 0 && is_torch(&|place, dtype| place >= condition && dtype != computed)
    };
    dtypes.into_iter().any(is_order) || is_torch(&|_, _| true)
}

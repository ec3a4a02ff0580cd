//! How a value is put back into what it is a view of.

use opgrid_core::schema::FunctionSchema;
use opgrid_core::{Dispatcher, OperatorHandle};

use crate::tensor::Geometry;

/// The operator `NAME_scatter` of a view `NAME`: it takes the whole, what the view becomes, and what the view was taken by.
pub fn scatter_of(dispatcher: &Dispatcher, view: &FunctionSchema) -> Option<OperatorHandle> {
    let scatter = dispatcher.find(&format!("{}_scatter", view.name.name)).ok()?;
    let schema = scatter.find_schema()?;
    let names = |arguments: &[opgrid_core::schema::Argument]| {
        arguments.iter().map(|argument| argument.name.clone()).collect::<Vec<_>>()
    };
    (names(schema.arguments.get(2..)?) == names(view.arguments.get(1..)?)).then_some(scatter)
}

/// The order of dimensions that has a view show the row-major whole as it is, if it shows its dimensions in another order.
pub fn order(whole: &Geometry, view: &Geometry) -> Option<Vec<i64>> {
    if whole.dims() != view.dims() || view.offset() != 0 {
        return None;
    }
    let mut is_taken = vec![false; view.dims()];
    let mut order = Vec::with_capacity(view.dims());
    for dim in 0..whole.dims() {
        let is_it = |other: &usize| {
            let size = whole.sizes()[dim];
            !is_taken[*other]
                && view.sizes()[*other] == size
                && (size == 1 || view.strides()[*other] == whole.strides()[dim])
        };
        let found = (0..view.dims()).find(is_it)?;
        is_taken[found] = true;
        order.push(found as i64);
    }
    Some(order)
}

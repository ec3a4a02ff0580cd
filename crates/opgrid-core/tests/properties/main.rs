//! Properties of registration, resolution and boxed calls, against naive models.

mod bare;
mod input;
mod model;
mod program;
mod stacks;

use opgrid_core::{DispatchKey, Dispatcher, Kernel, Reason};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// The dispatcher and the naive model agree after every step of a random program.
    #[test]
    fn programs_of_registrations(bytes in vec(any::<u8>(), 0..400)) {
        program::run(&bytes);
    }

    /// Boxed calls with random values end in results or in errors about values.
    #[test]
    fn boxed_calls_with_random_values(bytes in vec(any::<u8>(), 0..200)) {
        stacks::run(&bytes);
    }

    /// The order in which libraries come does not matter, as long as no kernel replaces another.
    #[test]
    fn tables_do_not_depend_on_the_order_of_registration(
        (first, second) in registrations().prop_flat_map(|items| (Just(items.clone()), Just(items).prop_shuffle()))
    ) {
        prop_assert_eq!(table(&first), table(&second));
    }
}

/// What is registered, each thing by a library of its own: the definition, kernels and fallbacks, one for a key.
type Items = Vec<(Option<DispatchKey>, bool, usize)>;

fn registrations() -> impl Strategy<Value = Items> {
    let keys: Vec<_> = DispatchKey::all()
        .filter(|key| key.is_alias() || key.is_runtime() && *key != DispatchKey::Undefined)
        .collect();
    vec((select(keys), any::<bool>()), 0..12).prop_map(|cells| {
        let mut items: Items = vec![(None, false, 0)];
        for (number, (key, is_fallback)) in cells.into_iter().enumerate() {
            // Aliases of fallbacks may meet in a column.
            let is_fallback = is_fallback && !key.is_alias();
            if items.iter().all(|(known, other, _)| (*known, *other) != (Some(key), is_fallback)) {
                items.push((Some(key), is_fallback, number));
            }
        }
        items
    })
}

/// The table after everything is registered in this order.
fn table(items: &Items) -> Vec<(Reason, Option<String>)> {
    let dispatcher = Dispatcher::new();
    for &(key, is_fallback, number) in items {
        let kernel = Kernel::boxed(|_| Ok(())).describe(&number.to_string());
        let mut library = match (key, is_fallback) {
            (None, _) => dispatcher.fragment("order"),
            (Some(key), true) => dispatcher.implementations("_", key),
            (Some(key), false) => dispatcher.implementations("order", key),
        };
        match (key, is_fallback) {
            (None, _) => drop(library.define("op(Tensor x) -> ()")),
            (_, true) => drop(library.fallback(kernel)),
            (_, false) => drop(library.implement("op").add(kernel)),
        }
        library.finish().expect("every key is used once").keep();
    }
    let operator = dispatcher.find("order::op").expect("the operator is defined");
    operator.check_invariants().expect("invariants hold");
    let columns = operator.table().expect("the operator is there");
    columns
        .into_iter()
        .map(|column| (column.reason, column.kernel.and_then(|kernel| kernel.description)))
        .collect()
}

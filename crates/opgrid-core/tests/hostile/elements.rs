//! ValueType types that lie about themselves.

use std::sync::atomic::{AtomicUsize, Ordering};

use opgrid_core::schema::Type;
use opgrid_core::{DispatchKey, DispatchKeySet, Dispatcher, Kernel, Result, Value, ValueRef, ValueType};

use crate::common::{define, implement};

static ASKED: AtomicUsize = AtomicUsize::new(0);

/// An element whose type in schemas is another one each time, which brings every key, and whose concrete type has this
/// one as its own.
#[derive(Clone, Debug, PartialEq)]
struct Shifty<const N: usize>(i64);

macro_rules! shifty {
    ($number:literal, $other:literal) => {
        impl ValueType for Shifty<$number> {
            type Concrete = Shifty<$other>;

            fn schema_type() -> Type {
                let kinds = [Type::SymInt, Type::Float, Type::Tensor, Type::Str];
                kinds[ASKED.fetch_add(1, Ordering::SeqCst) % kinds.len()].clone()
            }

            fn into_value(self) -> Value {
                Value::from("no number")
            }

            fn from_value(value: ValueRef<'_>) -> Result<Self> {
                Ok(Self(value.as_int().unwrap_or(-1)))
            }

            fn slice_keys(_: &[Self]) -> DispatchKeySet {
                DispatchKeySet::from_parts(u64::MAX, u32::MAX)
            }
        }
    };
}

shifty!(1, 2);
shifty!(2, 1);
shifty!(3, 1);

type Of<const N: usize> = fn(Vec<Shifty<N>>) -> i64;

fn first<const N: usize>(items: &[Shifty<N>]) -> Result<i64> {
    Ok(items.first().map_or(0, |item| item.0))
}

#[test]
fn elements_that_lie_reach_kernels_of_their_own_signature_alone() {
    let dispatcher = Dispatcher::bare();
    let _defined = define(&dispatcher, "f(SymInt[] x) -> int").unwrap();
    let key = DispatchKey::CompositeExplicitAutograd;
    // Which type it names when it is asked for is a matter of the moment; the registry keeps what it heard.
    let kernels = [
        implement(&dispatcher, "f", key, Kernel::function::<Of<1>>(first)),
        implement(&dispatcher, "f", key, Kernel::function::<Of<2>>(first)),
        implement(&dispatcher, "f", key, Kernel::function::<Of<3>>(first)),
    ];
    assert!(kernels.iter().filter(|kernel| kernel.is_ok()).count() <= 1);
    let operator = dispatcher.find("test::f").unwrap();
    let handles = (operator.typed::<Of<1>>(), operator.typed::<Of<2>>(), operator.typed::<Of<3>>());
    let found = [
        handles.0.and_then(|typed| typed.redispatch(DispatchKey::Cpu.key_set(), (&[Shifty(7)],))),
        handles.1.and_then(|typed| typed.redispatch(DispatchKey::Cpu.key_set(), (&[Shifty(7)],))),
        handles.2.and_then(|typed| typed.call((&[Shifty(7)],))),
    ];
    assert!(found.iter().flatten().all(|number| *number == 7), "{found:?}");
    let boxed = operator.redispatch_boxed(
        DispatchKey::Cpu.key_set(),
        &[ValueRef::from(&[7i64][..])],
        &mut opgrid_core::Returns::new(),
    );
    assert!(boxed.is_ok() || kernels.iter().all(Result::is_err), "{boxed:?}");
    let every = DispatchKeySet::from_parts(u64::MAX, u32::MAX);
    let _ =
        operator.redispatch_boxed(every, &[ValueRef::from(&[7i64][..])], &mut opgrid_core::Returns::new());
}

//! Only the dispatcher implements what stands in signatures.

use opgrid_core::schema::Type;
use opgrid_core::{Argument, ValueRef, Result, Return, Returns};

struct Mine;

impl Argument for Mine {
    type At<'a> = i64;
    type Hold = ();
    type Concrete = Self;

    fn schema_type() -> Type {
        Type::Int
    }

    fn shorten<'long: 'short, 'short>(argument: i64) -> i64 {
        argument
    }

    fn pack<'a>(argument: i64, _: &'a mut ()) -> ValueRef<'a> {
        argument.into()
    }

    fn unpack<'a>(value: &ValueRef<'a>, hold: &'a mut ()) -> Result<i64> {
        i64::unpack(value, hold)
    }
}

impl Return for Mine {
    type Output = i64;
    const COUNT: usize = 1;

    const TYPES: &'static [fn() -> Type] = &[|| Type::Int];

    fn push(output: i64, _: &[ValueRef<'_>], returns: &mut Returns) {
        returns.push(output);
    }

    fn pop(returns: &mut Returns, start: usize) -> Result<i64> {
        i64::pop(returns, start)
    }
}

fn main() {}

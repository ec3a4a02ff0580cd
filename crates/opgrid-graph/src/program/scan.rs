//! Blocks that run once for each row of some tensors: `scan`, which carries values from row to row, and `map`, which does not.

use opgrid_core::{Dispatcher, List, OperatorHandle, Result, TensorType as _, Value};
use opgrid_tensor::Tensor;

use super::plan::Plan;
use crate::error;

/// A block and what it runs over.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) block: Plan,
    /// How many of the values that are given are carried from row to row; they come first.
    pub(super) carried: usize,
    /// How many of those behind them are taken row by row; the others are the same for every row.
    pub(super) scanned: usize,
    select: OperatorHandle,
    stack: OperatorHandle,
}

impl Scan {
    /// # Errors
    ///
    /// The dispatcher lacks what takes rows and puts them together.
    pub(super) fn new(dispatcher: &Dispatcher, block: Plan, carried: usize, scanned: usize) -> Result<Self> {
        let (select, stack) = (dispatcher.find("aten::select.int")?, dispatcher.find("aten::stack")?);
        Ok(Self { block, carried, scanned, select, stack })
    }

    /// The carried values behind the last row, and then, for each further result of the block, its values for all rows as one tensor.
    ///
    /// # Errors
    ///
    /// Tensors with other numbers of rows, or none; those of the block; results of rows that are no tensors of one shape.
    pub(super) fn run(
        &self,
        mut given: Vec<Value>,
        mut block: impl FnMut(&Plan, Vec<Value>) -> Result<Vec<Value>>,
    ) -> Result<Vec<Value>> {
        let constant = given.split_off(self.carried + self.scanned);
        let scanned = given.split_off(self.carried);
        let mut carried = given;
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for row in 0..count(&scanned)? {
            let mut args = carried;
            for tensor in &scanned {
                let taken = self.select.call_values(vec![tensor.clone(), Value::Int(0), Value::Int(row)])?;
                args.extend(taken.into_iter().next());
            }
            args.extend(constant.iter().cloned());
            let mut results = block(&self.block, args)?;
            let given = results.split_off(self.carried.min(results.len()));
            carried = results;
            rows.resize(given.len(), Vec::new());
            rows.iter_mut().zip(given).for_each(|(row, value)| row.push(value));
        }
        for values in rows {
            let tensors = values.into_iter().map(|value| match value {
                Value::Tensor(tensor) => Ok(tensor),
                other => Err(error::value(format!("the block gives {other} for a row, expected a tensor"))),
            });
            let list = Value::from(List::Tensors(tensors.collect::<Result<Vec<_>>>()?));
            carried.extend(self.stack.call_values(vec![list, Value::Int(0)])?);
        }
        Ok(carried)
    }
}

/// How many rows the tensors have.
fn count(scanned: &[Value]) -> Result<i64> {
    let mut count = None;
    for value in scanned {
        let tensor = if let Value::Tensor(tensor) = value { Tensor::from_any_ref(tensor) } else { None };
        let rows = tensor.and_then(|tensor| tensor.sizes().first().copied());
        let rows = rows.ok_or_else(|| {
            error::value("found a value without rows to run over, expected a tensor with dimensions")
        })?;
        if *count.get_or_insert(rows) != rows {
            return Err(error::value(format!(
                "found tensors of {} and of {rows} rows to run over, expected as many",
                count.unwrap_or_default()
            )));
        }
    }
    count
        .filter(|rows| *rows > 0)
        .ok_or_else(|| error::value("found no rows to run over, expected one or more"))
}

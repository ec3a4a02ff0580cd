//! The programs of `tests/models`: `NAME.pt2` as torch exported it, with inputs and results in `NAME.npz`.

use std::path::{Path, PathBuf};

use opgrid::{Tensor, Value, files};
use opgrid_graph::{Archive, Graph, ValueType, read};

/// The folder of the programs.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

/// The names of all programs, in order.
pub fn names() -> Vec<String> {
    let names =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter_map(|name| name.strip_suffix(".pt2").map(str::to_owned)).collect();
    names.sort();
    assert!(names.len() >= 14, "{names:?}");
    names
}

/// The file of a program.
pub fn path(name: &str) -> PathBuf {
    folder().join(format!("{name}.pt2"))
}

/// A program as it is read.
pub fn archive(name: &str) -> Archive {
    read(&path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The arrays beside a program whose names are a word and a number, in the order of the numbers.
pub fn arrays(name: &str, word: &str) -> Vec<Tensor> {
    let all = files::npz::read_all(&folder().join(format!("{name}.npz"))).unwrap();
    let numbered = (0..).map_while(|index| {
        let wanted = format!("{word}{index}");
        all.iter().find(|(name, _)| *name == wanted).map(|(_, array)| array.clone())
    });
    numbered.map(|array| Tensor::from_array(array).unwrap()).collect()
}

/// The inputs beside a program: tensors, and the numbers in those that stand for one.
pub fn inputs(graph: &Graph, name: &str) -> Vec<Value> {
    let arrays = arrays(name, "in");
    let kinds: Vec<_> = graph.user_inputs().map(|input| input.kind.clone()).collect();
    assert_eq!(arrays.len(), kinds.len(), "inputs of {name}");
    arrays.into_iter().zip(&kinds).map(|(tensor, kind)| given(tensor, kind)).collect()
}

/// What an input of a kind wants: the tensor, or the number in it.
pub fn given(tensor: Tensor, kind: &ValueType) -> Value {
    match kind {
        ValueType::Int(_) => Value::Int(tensor.to_vec::<i64>().unwrap()[0]),
        _ => Value::from(&tensor),
    }
}

//! Programs whose weights are mapped give what those give that are read, and writes to weights stay in the process.
#![allow(unsafe_code)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use opgrid::{DType, Device, Tensor};
use opgrid_graph::{Archive, Program};

use crate::exported;

/// A file that is removed again.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("opgrid-graph-mapped-{}-{name}.pt2", std::process::id())))
    }

    fn map(&self) -> Program {
        // SAFETY: nobody else knows the file, and the tests replace it.
        unsafe { Program::map(&self.0).unwrap() }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn stored(program: &Program) -> Vec<String> {
    let all = program.parameters().into_iter().chain(program.buffers());
    all.map(|(name, tensor)| format!("{name} {:?} {tensor}", tensor.array().unwrap().spec())).collect()
}

#[test]
fn mapped_weights_are_those_that_are_read() {
    for entry in std::fs::read_dir(exported::folder()).unwrap() {
        let original = entry.unwrap().path();
        if original.extension().is_none_or(|ending| ending != "pt2") {
            continue;
        }
        let read = Program::load(&original).unwrap();
        // As in the repository, where members lie anywhere, and as they are written, at multiples of 64 bytes.
        let written = File::new(original.file_stem().unwrap().to_str().unwrap());
        read.save(&written.0).unwrap();
        // SAFETY: nobody writes the files of the tests.
        let unaligned = unsafe { Program::map(&original).unwrap() };
        for mapped in [unaligned, written.map()] {
            assert_eq!(stored(&mapped), stored(&read), "{}", original.display());
            assert_eq!(mapped.graph(), read.graph());
        }
    }
}

#[test]
fn writes_stay_in_the_process_and_the_file_may_be_replaced() {
    let file = File::new("replaced");
    Program::load(exported::folder().join("mlp.pt2")).unwrap().save(&file.0).unwrap();
    let before = std::fs::read(&file.0).unwrap();
    let program = file.map();
    program.parameters()[0].1.fill_(0.25).unwrap();
    assert!(std::fs::read(&file.0).unwrap() == before);
    // Onto the file that is mapped.
    program.save(&file.0).unwrap();
    assert_eq!(file.map().parameters()[0].1.to_vec::<f32>().unwrap(), [0.25; 128]);
    std::fs::remove_file(&file.0).unwrap();
    assert_eq!(program.parameters()[0].1.to_vec::<f32>().unwrap(), [0.25; 128]);
}

#[test]
fn a_hundred_megabytes_are_mapped_without_being_read() {
    let file = File::new("large");
    let text = "graph(%w: float32[5000, 5000] = parameter \"w\", %x: float32[1, 5000] = input) gives * {
        %y: float32[1, 5000] = aten::mm(%x, %w)
        return %y }";
    let weight = Tensor::ones(&[5000, 5000], DType::F32, Device::CPU).unwrap();
    Archive::new(text.parse().unwrap(), [("w".to_owned(), weight)].into()).write(&file.0).unwrap();
    assert!(std::fs::metadata(&file.0).unwrap().len() > 100_000_000);
    file.map();
    let fastest = (0..5).map(|_| {
        let start = Instant::now();
        let program = file.map();
        let took = start.elapsed();
        drop(program);
        took
    });
    let fastest = fastest.min().unwrap();
    println!("mapped in {fastest:?}");
    // Reading takes tens of milliseconds at least.
    assert!(fastest < Duration::from_millis(5), "{fastest:?}");
    let x = Tensor::ones(&[1, 5000], DType::F32, Device::CPU).unwrap();
    assert_eq!(file.map().run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap()[7], 5000.0);
}

//! Any bytes as the text of a graph, as JSON, as an archive, and as changes of a sound one: what is read is written and read again as
//! the same, and everything else is an error. The first byte chooses.
#![no_main]

use std::io::{Cursor, Read, Write};
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use opgrid_graph::{Graph, check, read};
use opgrid_operators as _;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A file of this process's own, in memory where the system has a folder for that.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    folder.join(format!("opgrid-fuzz-graphs-{}.pt2", std::process::id()))
});

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind % 4 {
        0 => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            if let Ok(graph) = text.parse::<Graph>() {
                repeat(&graph);
            }
        }
        1 => {
            let Ok(json) = serde_json::from_slice(bytes) else { return };
            if let Ok(graph) = Graph::from_json(&json) {
                repeat(&graph);
            }
        }
        2 => archive(bytes),
        _ => archive(&changed(bytes)),
    }
});

/// The members of a program that torch wrote.
static SOUND: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let bytes: &[u8] = include_bytes!("../../crates/opgrid-graph/tests/models/mlp.pt2");
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).expect("the archive is sound");
    let mut member = |index| {
        let mut member = zip.by_index(index).expect("the archive is sound");
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).expect("the archive is sound");
        (member.name().expect("names are UTF-8").into_owned(), bytes)
    };
    (0..11).map(&mut member).collect()
});

/// A sound archive whose JSON is changed: four bytes each say where, how many bytes go, and which one comes. Sums over the bytes are
/// those of what was changed, so that readers come to see it.
fn changed(bytes: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in SOUND.iter() {
        let mut content = content.clone();
        if name.ends_with(".json") {
            for change in bytes.chunks_exact(4) {
                let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % (content.len() + 1);
                let end = (at + usize::from(change[2] % 8)).min(content.len());
                content.splice(at..end, (change[3] != 0).then_some(change[3]));
            }
        }
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        zip.start_file(name, options).expect("memory can be written");
        zip.write_all(&content).expect("memory can be written");
    }
    zip.finish().expect("memory can be written").into_inner()
}

/// What is read of an archive can be written, or is refused by name.
fn archive(bytes: &[u8]) {
    std::fs::write(&*FILE, bytes).expect("the folder can be written");
    match read(&FILE) {
        Ok(archive) => {
            repeat(&archive.graph);
            if archive.write(&*FILE).is_ok() {
                let again = read(&FILE).expect("what is written can be read");
                assert_eq!(again.tensors.len(), archive.tensors.len());
            }
        }
        Err(error) => assert!(error.to_string().contains("opgrid-fuzz-graphs"), "{error}"),
    }
}

/// Strings are compared, because graphs with a number that is none are not equal to themselves.
fn repeat(graph: &Graph) {
    let text = graph.to_string();
    let again: Graph = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.to_string(), text);
    let json = graph.to_json().to_string();
    // Readers of JSON have a bounded stack.
    if let Ok(json) = serde_json::from_str(&json) {
        assert_eq!(Graph::from_json(&json).expect("it was written").to_string(), text);
    }
    let _ = check(graph);
}

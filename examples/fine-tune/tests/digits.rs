//! The exported classifier learns, and a copy that was saved and loaded answers alike.

use std::path::Path;

use fine_tune::{Digits, accuracy, train};
use opgrid::manual_seed;
use opgrid_graph::Program;

#[test]
fn a_classifier_learns_and_is_saved() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let [training, test] = Digits::load(&here.join("../data/digits.npz")).unwrap();
    let program = Program::load(here.join("classifier.pt2")).unwrap();
    assert!(accuracy(&program, &test).unwrap() < 0.5, "it has not learned anything yet");
    manual_seed(1);
    train(&program, &training, 8).unwrap();
    let learned = accuracy(&program, &test).unwrap();
    assert!(learned > 0.9, "{learned}");
    let path = std::env::temp_dir().join(format!("fine-tune-{}.pt2", std::process::id()));
    program.save(&path).unwrap();
    let loaded = Program::load(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(accuracy(&loaded, &test).unwrap(), learned);
}

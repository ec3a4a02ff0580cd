//! The exported model goes on as it does in torch.

use std::path::Path;

use generate_text::{Writer, continue_text, decode, encode};
use opgrid_graph::Program;

fn here(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

#[test]
fn the_likeliest_letters_are_those_of_torch() {
    let recorded = std::fs::read_to_string(here("model.txt")).unwrap();
    let (prompt, expected) = recorded.split_once('\n').unwrap();
    let mut writer = Writer::new(Program::load(here("model.pt2")).unwrap()).unwrap();
    let mut text = String::new();
    let likeliest = |scores: &opgrid::Tensor| scores.argmax(0)?.item()?.to_i64();
    continue_text(&mut writer, prompt, likeliest, |letter| text.push(letter)).unwrap();
    assert_eq!(text, expected);
    let error = writer.read(0).and_then(|_| writer.read(0)).unwrap_err();
    assert!(error.message().starts_with("the cache is full"), "{error}");
}

#[test]
fn an_empty_prompt_is_refused() {
    let mut writer = Writer::new(Program::load(here("model.pt2")).unwrap()).unwrap();
    let error = continue_text(&mut writer, "", |_| Ok(0), |_| ()).unwrap_err();
    assert!(error.message().starts_with("the prompt is empty"), "{error}");
}

#[test]
fn letters_are_encoded_and_decoded() {
    for letter in ' '..='~' {
        assert_eq!(decode(encode(letter)), letter);
    }
    assert_eq!(decode(encode('ä')), '\n');
}

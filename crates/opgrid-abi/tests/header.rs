//! The committed header is made from the sources as they are.

use std::fs;
use std::path::Path;

/// FNV-1a, 64 bits, as the generator computes it.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn the_header_is_of_these_sources() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["values.rs", "descriptions.rs", "table.rs"].map(|file| crate_folder.join("src").join(file));
    let bytes: Vec<u8> = files.iter().flat_map(|file| fs::read(file).unwrap()).collect();
    let header = fs::read_to_string(crate_folder.join("../../python/opgrid/include/opgrid.h")).unwrap();
    let expected = format!("Fingerprint of the sources: {:016x} */", fingerprint(&bytes));
    assert!(header.contains(&expected), "opgrid.h is out of date; run `cargo xtask header`");
}

//! Memory that tensors leave is kept for others, and given back when that is asked for.

use opgrid_tensor::Storage;
use opgrid_tensor::tensor::{cache_statistics, trim};

use crate::alone;

#[test]
fn dropped_memory_is_used_again_until_it_is_trimmed() {
    let _alone = alone();
    let (first, second) = (5000, 3 << 20);
    for bytes in [first, second] {
        drop(Storage::cpu(bytes).unwrap());
        let before = cache_statistics();
        let again = Storage::cpu(bytes).unwrap();
        assert!(cache_statistics().reused > before.reused, "{bytes} bytes");
        // What others have left there does not shine through.
        assert!(again.read().unwrap().bytes().iter().all(|byte| *byte == 0));
        again.write().unwrap().bytes().fill(7);
    }
    assert!(Storage::cpu(first).unwrap().read().unwrap().bytes().iter().all(|byte| *byte == 0));
    let live = Storage::cpu(1 << 20).unwrap();
    trim();
    assert!(live.read().unwrap().bytes().iter().all(|byte| *byte == 0));
    assert!(cache_statistics().live_bytes >= 1 << 20);
}

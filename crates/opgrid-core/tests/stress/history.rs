//! Which answer was right when: the one writer notes what it is about to change, callers look up what was current.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many changes are remembered. A call that lasts longer than so many changes cannot be judged.
const REMEMBERED: usize = 1 << 14;

/// What a caller learns about its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    Right,
    /// No answer that was current between the start and the end of the call.
    Wrong,
    /// The call lasted so long that what was current at its start is forgotten.
    Unknown,
}

/// The answers of one operator, by version.
pub struct History {
    /// The version that is being published or has been.
    begun: AtomicU64,
    /// The version whose publication has ended.
    done: AtomicU64,
    answers: Vec<AtomicU32>,
}

impl History {
    pub fn new(answer: u32) -> Self {
        let answers = (0..REMEMBERED).map(|_| AtomicU32::new(answer)).collect();
        Self { begun: AtomicU64::new(0), done: AtomicU64::new(0), answers }
    }

    fn answer(&self, version: u64) -> &AtomicU32 {
        &self.answers[version as usize % REMEMBERED]
    }

    /// Runs `body`, which makes `answer` the current one. Only one thread changes things.
    pub fn change<X>(&self, answer: u32, body: impl FnOnce() -> X) -> X {
        let version = self.begun.load(Ordering::Relaxed) + 1;
        self.answer(version).store(answer, Ordering::Release);
        self.begun.store(version, Ordering::SeqCst);
        let result = body();
        self.done.store(version, Ordering::SeqCst);
        result
    }

    /// The oldest version that a call which begins now may see.
    pub fn start(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// Whether `found` was current at some time since `start`.
    pub fn judge(&self, start: u64, found: u32) -> Judgement {
        let end = self.begun.load(Ordering::SeqCst);
        let right = (start..=end)
            .rev()
            .take(REMEMBERED)
            .any(|version| self.answer(version).load(Ordering::Acquire) == found);
        // What was overwritten while it was read counts for nothing.
        let forgotten = self.begun.load(Ordering::SeqCst) - start >= REMEMBERED as u64 - 1;
        match (right, forgotten) {
            (_, true) => Judgement::Unknown,
            (true, false) => Judgement::Right,
            (false, false) => Judgement::Wrong,
        }
    }
}

#[test]
fn only_what_was_current_during_a_call_is_right() {
    let history = History::new(5);
    assert_eq!(history.judge(0, 5), Judgement::Right);
    let before = history.start();
    history.change(6, || {
        assert_eq!(history.start(), before);
        assert_eq!(history.judge(before, 5), Judgement::Right);
        assert_eq!(history.judge(before, 6), Judgement::Right);
    });
    let after = history.start();
    assert_eq!(history.judge(before, 5), Judgement::Right);
    assert_eq!(history.judge(after, 5), Judgement::Wrong, "a call that began later must not see it");
    assert_eq!(history.judge(after, 7), Judgement::Wrong, "nobody published it");
    (0..REMEMBERED as u32).for_each(|number| history.change(number, || ()));
    assert_eq!(history.judge(after, 6), Judgement::Unknown);
}

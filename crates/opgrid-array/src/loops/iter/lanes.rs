//! States side by side: a loop in lanes, which becomes vector code, and lanes joined as a tree.

/// What `step` makes of the elements of slices of one length, each in the state of its lane, all joined as a tree: of
/// `of` and `beside`, which may be one of the same again where nothing else is wanted.
#[inline(always)]
pub fn in_lanes<A: Copy, B: Copy, S: Copy, const K: usize, const N: usize>(
    (of, beside): ([&[A]; K], &[B]),
    start: [S; N],
    step: impl Fn(S, [A; K], B) -> S,
    join: impl Fn(S, S) -> S,
) -> S {
    let n = beside.len();
    let (of, beside) = (of.map(|of| of[..n].as_chunks::<N>()), beside.as_chunks::<N>());
    // One after the other: where a lane were known at run time only, all of them would live in memory.
    let mut state = start[0];
    for (at, beside) in beside.1.iter().enumerate() {
        state = step(state, of.map(|(_, rest)| rest[at]), *beside);
    }
    if beside.0.is_empty() {
        return state;
    }
    let mut lanes = start;
    for (number, beside) in beside.0.iter().enumerate() {
        let group = of.map(|(groups, _)| &groups[number]);
        for lane in 0..N {
            lanes[lane] = step(lanes[lane], group.map(|group| group[lane]), beside[lane]);
        }
    }
    let joined = match (lanes.first_chunk::<16>(), lanes.last_chunk::<16>()) {
        (Some(sixteen), _) if const { N == 16 } => join_sixteen(sixteen, &join),
        (Some(sixteen), Some(others)) if const { N == 32 } => {
            let mut both = *sixteen;
            for lane in 0..16 {
                both[lane] = join(both[lane], others[lane]);
            }
            join_sixteen(&std::hint::black_box(both), &join)
        }
        _ => join_lanes(&lanes, &join),
    };
    join(joined, state)
}

/// The state of all lanes, joined as a tree.
///
/// It is never inlined: beside the tree the compiler would keep lanes in the order in which they are joined, a few to a
/// vector, and the loop before would shuffle them in every step.
#[inline(never)]
pub(in crate::loops) fn join_lanes<S: Copy, const N: usize>(lanes: &[S; N], join: impl Fn(S, S) -> S) -> S {
    let mut lanes = *lanes;
    let mut width = N;
    while width > 1 {
        width /= 2;
        for lane in 0..width {
            lanes[lane] = join(lanes[lane], lanes[lane + width]);
        }
    }
    lanes[0]
}

/// `join_lanes` in the vectors that the lanes are in, down to four of them.
///
/// Those go by way of memory, for the same reason; that costs less than a call, and the compiler takes whole vectors there.
#[inline(always)]
pub fn join_sixteen<S: Copy>(lanes: &[S; 16], join: impl Fn(S, S) -> S) -> S {
    let (mut eight, mut four) = ([lanes[0]; 8], [lanes[0]; 4]);
    for lane in 0..8 {
        eight[lane] = join(lanes[lane], lanes[lane + 8]);
    }
    for lane in 0..4 {
        four[lane] = join(eight[lane], eight[lane + 4]);
    }
    let four = std::hint::black_box(four);
    join(join(four[0], four[2]), join(four[1], four[3]))
}

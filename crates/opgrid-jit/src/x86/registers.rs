//! Gives values registers, in the order in which code computes them.
//!
//! When no register is free, the value that is needed last gives up its own: one that is in memory anyway is read again later, another
//! is spilled to memory of the caller's.

use crate::expression::Value;

/// Bytes of memory for spilled values, and how many registers that is.
pub(super) const SPILL_BYTES: usize = 8192;
const SPILL_PLACES: usize = SPILL_BYTES / 64;

/// One register's share of a value: a copy of it, and its lower or upper half. Values that are the same for all elements have one share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub value: Value,
    pub part: u8,
}

/// The number of shares that a value may have: four copies of two halves.
pub(super) const PARTS: usize = 8;

/// What has to be done for a value to get a register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    /// The register's value goes to a place for spilled values.
    Spill { register: usize, place: usize },
    /// A spilled value is read.
    Reload { register: usize, place: usize },
    /// A value is read from where it comes from.
    Fetch { register: usize },
}

/// Where values are.
pub(super) struct Registers {
    /// The value in each register.
    holds: Vec<Option<Share>>,
    /// Registers that keep their values, one bit each: for the current instruction, and for the whole loop.
    pinned: u32,
    hoisted: u32,
    /// The register and the place of each share.
    register_of: Vec<[Option<u8>; PARTS]>,
    spilled_at: Vec<[Option<u8>; PARTS]>,
    /// The steps at which each value is used, in order.
    uses: Vec<Vec<u32>>,
    /// Values that can be read again.
    is_fetched: Vec<bool>,
    places: usize,
    now: u32,
}

impl Registers {
    pub(super) fn new(count: usize, uses: Vec<Vec<u32>>, is_fetched: Vec<bool>) -> Self {
        let values = uses.len();
        Self {
            holds: vec![None; count],
            pinned: 0,
            hoisted: 0,
            register_of: vec![[None; PARTS]; values],
            spilled_at: vec![[None; PARTS]; values],
            uses,
            is_fetched,
            places: 0,
            now: 0,
        }
    }

    /// Forgets all values but hoisted ones: a loop's body begins.
    pub(super) fn start_body(&mut self) {
        for (register, held) in self.holds.iter_mut().enumerate() {
            if self.hoisted >> register & 1 == 0
                && let Some(share) = held.take()
            {
                self.register_of[share.value.index()][share.part as usize] = None;
            }
        }
        self.spilled_at.fill([None; PARTS]);
        (self.places, self.pinned, self.now) = (0, 0, 0);
    }

    /// Goes on to a step.
    pub(super) fn step(&mut self, now: u32) {
        self.now = now;
    }

    /// The register that holds a share, if one does, which keeps it for the current instruction.
    pub(super) fn held(&mut self, share: Share) -> Option<usize> {
        let register = self.register_of[share.value.index()][share.part as usize]? as usize;
        self.pinned |= 1 << register;
        Some(register)
    }

    /// A register for a share that none holds, and the moves that bring it there: what was there is spilled, and the share is reloaded or
    /// fetched if it is `read`. `None` if there is no place left for spilled values.
    pub(super) fn allocate(
        &mut self,
        share: Option<Share>,
        read: bool,
    ) -> Option<(usize, [Option<Move>; 2])> {
        let free = (0..self.holds.len())
            .find(|register| self.holds[*register].is_none() && self.pinned >> register & 1 == 0);
        let (register, spill) = match free {
            Some(register) => (register, None),
            None => self.evict()?,
        };
        self.pinned |= 1 << register;
        let mut brought = None;
        if let Some(share) = share {
            self.holds[register] = Some(share);
            let (value, part) = (share.value.index(), share.part as usize);
            self.register_of[value][part] = Some(register as u8);
            brought = read.then(|| match self.spilled_at[value][part] {
                Some(place) => Move::Reload { register, place: place as usize },
                None => Move::Fetch { register },
            });
        }
        Some((register, [spill, brought]))
    }

    /// Takes the register of the value that is needed last.
    fn evict(&mut self) -> Option<(usize, Option<Move>)> {
        let kept = self.pinned | self.hoisted;
        let candidates = (0..self.holds.len()).filter(|register| kept >> register & 1 == 0);
        let register = candidates
            .max_by_key(|register| self.holds[*register].map_or(0, |share| self.next_use(share)))?;
        let share = self.holds[register].take()?;
        let (value, part) = (share.value.index(), share.part as usize);
        self.register_of[value][part] = None;
        let is_safe = self.is_fetched[value] || self.spilled_at[value][part].is_some();
        if is_safe || self.next_use(share) == u32::MAX {
            return Some((register, None));
        }
        if self.places == SPILL_PLACES {
            return None;
        }
        let place = self.places;
        self.places += 1;
        self.spilled_at[value][part] = Some(place as u8);
        Some((register, Some(Move::Spill { register, place })))
    }

    /// The step of the next use, this one's included.
    fn next_use(&self, share: Share) -> u32 {
        self.uses[share.value.index()].iter().copied().find(|at| *at >= self.now).unwrap_or(u32::MAX)
    }

    /// Ends an instruction sequence: registers that hold no value are free again.
    pub(super) fn unpin(&mut self) {
        self.pinned = 0;
    }

    /// Frees the register of a share that this step is the last one to use.
    pub(super) fn release(&mut self, share: Share) {
        let value = share.value.index();
        if self.uses[value].last().is_none_or(|last| *last <= self.now)
            && let Some(register) = self.register_of[value][share.part as usize]
            && self.hoisted >> register & 1 == 0
        {
            self.holds[register as usize] = None;
            self.register_of[value][share.part as usize] = None;
        }
    }

    /// Keeps the values that are in registers now for the whole loop.
    pub(super) fn hoist(&mut self) {
        for (register, held) in self.holds.iter().enumerate() {
            if held.is_some() {
                self.hoisted |= 1 << register;
            }
        }
        self.pinned = 0;
    }
}

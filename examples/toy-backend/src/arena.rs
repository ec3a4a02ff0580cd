//! The device: an arena of bytes that are addressed by number and hidden from the host.
//!
//! Every byte is kept XORed with a mask that depends on its address, so that whoever took the arena for memory of the
//! host would read nonsense. Blocks come from the first gap that is large enough.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opgrid::{Allocation, Allocator, DeviceMemory, Error, ErrorKind, Result};

/// Blocks begin at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// The memory of a device. Clones are the same memory.
#[derive(Clone)]
pub struct Arena(Arc<Mutex<State>>);

struct State {
    /// XORed with their masks.
    cells: Vec<u8>,
    /// The gaps: from where, how many bytes. No two touch.
    gaps: BTreeMap<usize, usize>,
}

impl Arena {
    /// A device with this many bytes.
    pub fn new(bytes: usize) -> Self {
        let state = State { cells: vec![0; bytes], gaps: BTreeMap::from([(0, bytes)]) };
        Self(Arc::new(Mutex::new(state)))
    }

    /// The device, for as long as one kernel or copy uses it.
    pub fn lock(&self) -> Session<'_> {
        // A kernel that panicked may have left wrong elements, but no wrong bookkeeping.
        Session(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many bytes are free.
    pub fn free_bytes(&self) -> usize {
        self.lock().0.gaps.values().sum()
    }

    fn block(&self, bytes: usize) -> Result<Block> {
        let range = self.lock().0.take(bytes)?;
        Ok(Block { arena: self.clone(), start: range.start, bytes, taken: range })
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "arena with {} free bytes", self.free_bytes())
    }
}

impl Allocator for Arena {
    fn name(&self) -> &str {
        "toy"
    }

    fn allocate(&self, bytes: usize) -> Result<Allocation> {
        Ok(Allocation::on_device(self.block(bytes)?, bytes))
    }
}

impl State {
    /// Takes a block out of the first gap that holds it; at least one unit, so that no two blocks share an address.
    fn take(&mut self, bytes: usize) -> Result<Range<usize>> {
        let need = bytes.max(1).checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX);
        let fitting = self.gaps.iter().find(|(_, len)| **len >= need);
        let Some((start, len)) = fitting.map(|(start, len)| (*start, *len)) else {
            return Err(self.exhausted(bytes));
        };
        self.gaps.remove(&start);
        if len > need {
            self.gaps.insert(start + need, len - need);
        }
        Ok(start..start + need)
    }

    /// Makes a block a gap again, in one with those that it touches.
    fn give(&mut self, block: Range<usize>) {
        let (mut start, mut end) = (block.start, block.end);
        if let Some((&before, &len)) = self.gaps.range(..start).next_back()
            && before + len == start
        {
            start = before;
        }
        if let Some(len) = self.gaps.remove(&end) {
            end += len;
        }
        self.gaps.insert(start, end - start);
    }

    #[cold]
    fn exhausted(&self, bytes: usize) -> Error {
        let (free, largest) =
            (self.gaps.values().sum::<usize>(), self.gaps.values().max().copied().unwrap_or(0));
        let message = format!(
            "device toy:0 has no memory for {bytes} bytes: {free} of {} are free, {largest} of them in one piece; drop tensors or work in smaller pieces",
            self.cells.len()
        );
        Error::new(ErrorKind::Kernel, message)
    }
}

/// The mask of the byte at an address.
fn mask(address: usize) -> u8 {
    0xA5 ^ address as u8
}

/// The device in use by one kernel or copy. Addresses count bytes from the start of the arena.
pub struct Session<'a>(MutexGuard<'a, State>);

impl Session<'_> {
    /// The byte as it lies there.
    pub fn raw(&self, address: usize) -> u8 {
        self.0.cells[address]
    }

    /// Copies bytes out.
    pub fn read(&self, address: usize, out: &mut [u8]) {
        let cells = &self.0.cells[address..address + out.len()];
        for (place, (out, cell)) in out.iter_mut().zip(cells).enumerate() {
            *out = cell ^ mask(address + place);
        }
    }

    /// Copies bytes in.
    pub fn write(&mut self, address: usize, bytes: &[u8]) {
        let cells = &mut self.0.cells[address..address + bytes.len()];
        for (place, (cell, byte)) in cells.iter_mut().zip(bytes).enumerate() {
            *cell = byte ^ mask(address + place);
        }
    }

    /// Element number `index` of the floats at an address.
    pub fn float(&self, address: usize, index: usize) -> f32 {
        let mut bytes = [0; 4];
        self.read(address + 4 * index, &mut bytes);
        f32::from_le_bytes(bytes)
    }

    /// Sets element number `index` of the floats at an address.
    pub fn set_float(&mut self, address: usize, index: usize, value: f32) {
        self.write(address + 4 * index, &value.to_le_bytes());
    }
}

/// A tensor's place in the arena.
pub struct Block {
    arena: Arena,
    start: usize,
    bytes: usize,
    /// With what was added to align the next one.
    taken: Range<usize>,
}

impl Block {
    /// The address of its first byte.
    pub fn address(&self) -> usize {
        self.start
    }

    fn check(&self, start: usize, bytes: usize) -> Result<()> {
        if start.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(());
        }
        let message = format!(
            "device toy:0: {bytes} bytes from byte {start} on lie outside of a block of {} bytes, expected a range inside of it",
            self.bytes
        );
        Err(Error::new(ErrorKind::Argument, message))
    }
}

impl DeviceMemory for Block {
    fn read(&self, start: usize, out: &mut [u8]) -> Result<()> {
        self.check(start, out.len())?;
        self.arena.lock().read(self.start + start, out);
        Ok(())
    }

    fn write(&self, start: usize, bytes: &[u8]) -> Result<()> {
        self.check(start, bytes.len())?;
        self.arena.lock().write(self.start + start, bytes);
        Ok(())
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.arena.lock().0.give(self.taken.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_and_gaps_grow_together() {
        let arena = Arena::new(256);
        let blocks: Vec<_> = (0..4).map(|_| arena.block(64).unwrap()).collect();
        assert_eq!(blocks.iter().map(Block::address).collect::<Vec<_>>(), [0, 64, 128, 192]);
        let [first, second, third, fourth] = <[Block; 4]>::try_from(blocks).ok().unwrap();
        drop((first, third));
        let error = arena.block(100).err().unwrap().to_string();
        let expected = "no memory for 100 bytes: 128 of 256 are free, 64 of them in one piece";
        assert!(error.contains(expected), "{error}");
        drop(second);
        assert_eq!(arena.block(192).unwrap().address(), 0);
        drop(fourth);
        assert_eq!((arena.free_bytes(), arena.lock().0.gaps.len()), (256, 1));
        assert!(arena.block(usize::MAX).is_err());
    }

    #[test]
    fn bytes_lie_hidden_and_come_back() {
        let arena = Arena::new(128);
        let block = arena.block(8).unwrap();
        block.write(2, &[7, 7, 7]).unwrap();
        let mut out = [0; 3];
        block.read(2, &mut out).unwrap();
        assert_eq!(out, [7, 7, 7]);
        let raw: Vec<u8> = (2..5).map(|address| arena.lock().raw(block.address() + address)).collect();
        assert_eq!(raw, [7 ^ 0xA5 ^ 2, 7 ^ 0xA5 ^ 3, 7 ^ 0xA5 ^ 4]);
        let error = block.read(6, &mut out).unwrap_err().to_string();
        assert!(error.contains("3 bytes from byte 6 on lie outside of a block of 8 bytes"), "{error}");
        assert!(block.write(usize::MAX, &[1]).is_err());
    }
}

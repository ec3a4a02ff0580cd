//! The device: an arena of bytes that are addressed by number and hidden from the host.
//!
//! Every byte is kept XORed with a mask that depends on its address, so that whoever took the arena for memory of the
//! host would read nonsense. Blocks come from the first gap that is large enough. A block that is dropped while queued
//! work uses it is a gap only when that work has ended.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opgrid::devices::Stream;
use opgrid::tensor::{Allocation, Allocator, DeviceMemory};
use opgrid::{Error, ErrorKind, Result};

use crate::queue::{Queue, Ticket};

/// Blocks begin at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// The memory of a device. Clones are the same memory.
#[derive(Clone)]
pub struct Arena(Arc<Inner>);

struct Inner {
    name: String,
    state: Mutex<State>,
}

struct State {
    /// XORed with their masks.
    cells: Vec<u8>,
    /// The gaps: from where, how many bytes. No two touch.
    gaps: BTreeMap<usize, usize>,
    /// Blocks that were dropped, each with the places in queues until which work uses it.
    leaving: Vec<(Range<usize>, Vec<Ticket>)>,
}

impl Arena {
    /// The memory of the device of that name, of so many bytes.
    pub fn new(name: &str, bytes: usize) -> Self {
        let state = State { cells: vec![0; bytes], gaps: BTreeMap::from([(0, bytes)]), leaving: Vec::new() };
        Self(Arc::new(Inner { name: name.to_owned(), state: Mutex::new(state) }))
    }

    /// The name of the device.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The device, for as long as one kernel or copy uses it.
    pub fn lock(&self) -> Session<'_> {
        // A kernel that panicked may have left wrong elements, but no wrong bookkeeping.
        Session(self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many bytes are free.
    pub fn free_bytes(&self) -> usize {
        let mut session = self.lock();
        session.0.sweep();
        session.0.gaps.values().sum()
    }

    fn block(&self, bytes: usize) -> Result<Block> {
        loop {
            let mut session = self.lock();
            session.0.sweep();
            if let Some(taken) = session.0.take(bytes) {
                return Ok(Block {
                    arena: self.clone(),
                    start: taken.start,
                    bytes,
                    taken,
                    used: Mutex::default(),
                });
            }
            let exhausted = session.0.exhausted(self.name(), bytes);
            let Some((_, first)) = session.0.leaving.first() else { return Err(exhausted) };
            let first = first.clone();
            // Without the lock, which the work needs that is waited for.
            drop(session);
            for ticket in first {
                ticket.wait().map_err(|_| self.lock().0.exhausted(self.name(), bytes))?;
            }
        }
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
    fn take(&mut self, bytes: usize) -> Option<Range<usize>> {
        let need = bytes.max(1).checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX);
        let fitting = self.gaps.iter().find(|(_, len)| **len >= need);
        let (start, len) = fitting.map(|(start, len)| (*start, *len))?;
        self.gaps.remove(&start);
        if len > need {
            self.gaps.insert(start + need, len - need);
        }
        Some(start..start + need)
    }

    /// Makes gaps of the blocks that no work uses any more.
    fn sweep(&mut self) {
        let is_left = |(_, tickets): &mut (Range<usize>, Vec<Ticket>)| tickets.iter().all(Ticket::is_done);
        for (block, _) in self.leaving.extract_if(.., is_left).collect::<Vec<_>>() {
            self.give(block);
        }
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
    fn exhausted(&self, name: &str, bytes: usize) -> Error {
        let (free, largest) =
            (self.gaps.values().sum::<usize>(), self.gaps.values().max().copied().unwrap_or(0));
        let message = format!(
            "device {name} has no memory for {bytes} bytes: {free} of {} are free, {largest} of them in one piece; drop tensors or work in smaller pieces",
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
    used: Mutex<Used>,
}

/// Which queues use a block.
#[derive(Default)]
struct Used {
    /// Until which place of each queue kernels do.
    until: Vec<Ticket>,
    /// Places in queues on which a program uses it, until the block is dropped.
    recorded: Vec<Ticket>,
}

impl Block {
    /// The memory that the block is a part of.
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Notes that work up to a place in a queue uses the block.
    pub fn used_until(&self, ticket: &Ticket) {
        let mut used = self.used();
        used.until.retain(|earlier| !earlier.is_beside(ticket));
        used.until.push(ticket.clone());
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no queued work uses the block.
    fn wait(&self) -> Result<()> {
        let used = {
            let used = self.used();
            let recorded = used.recorded.iter().map(Ticket::at_the_end);
            used.until.iter().cloned().chain(recorded).collect::<Vec<_>>()
        };
        used.iter().try_for_each(Ticket::finish)
    }

    /// The address of its first byte.
    pub fn address(&self) -> usize {
        self.start
    }

    fn check(&self, start: usize, bytes: usize) -> Result<()> {
        if start.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(());
        }
        let message = format!(
            "device {}: {bytes} bytes from byte {start} on lie outside of a block of {} bytes, expected a range inside of it",
            self.arena.name(),
            self.bytes
        );
        Err(Error::new(ErrorKind::Argument, message))
    }
}

impl DeviceMemory for Block {
    fn read(&self, start: usize, out: &mut [u8]) -> Result<()> {
        self.check(start, out.len())?;
        self.wait()?;
        self.arena.lock().read(self.start + start, out);
        Ok(())
    }

    fn write(&self, start: usize, bytes: &[u8]) -> Result<()> {
        self.check(start, bytes.len())?;
        self.wait()?;
        self.arena.lock().write(self.start + start, bytes);
        Ok(())
    }

    fn record_stream(&self, stream: &Stream) -> Result<()> {
        let queue = stream.backend::<Queue>().ok_or_else(|| {
            let message =
                format!("record_stream: found {stream:?}, expected a stream of {}", self.arena.name());
            Error::new(ErrorKind::Argument, message)
        })?;
        self.used().recorded.push(queue.end());
        Ok(())
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let Used { mut until, recorded } = std::mem::take(&mut *self.used());
        until.extend(recorded.iter().map(Ticket::at_the_end));
        until.retain(|ticket| !ticket.is_done());
        let (mut session, taken) = (self.arena.lock(), self.taken.clone());
        if until.is_empty() { session.0.give(taken) } else { session.0.leaving.push((taken, until)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_and_gaps_grow_together() {
        let arena = Arena::new("toy:0", 256);
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
        let arena = Arena::new("toy:0", 128);
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

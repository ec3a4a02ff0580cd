//! Which keys and sets the programs are made of.

use opgrid_core::{BackendComponent, DispatchKey, DispatchKeySet, torch_columns};

use crate::random::Random;

/// Keys between which the rules decide most.
const INTERESTING: [DispatchKey; 14] = {
    use DispatchKey as Key;
    use opgrid_core::Functionality as Layer;
    [
        Key::Cpu,
        Key::Cuda,
        Key::Xla,
        Key::Meta,
        Key::AutogradCpu,
        Key::AutogradCuda,
        Key::AutogradOther,
        Key::AutogradNestedTensor,
        Key::Fpga,
        Key::NestedTensorCpu,
        Key::runtime(Layer::Quantized, BackendComponent::Cpu),
        Key::runtime(Layer::Sparse, BackendComponent::Cuda),
        Key::FuncTorchBatched,
        Key::BackendSelect,
    ]
};

/// The keys for which torch has no fallback, so that programs can register one.
pub fn keys_without_fallback() -> Vec<DispatchKey> {
    let dispatcher = opgrid_core::Dispatcher::with_reference_fallbacks();
    let mut library = dispatcher.fragment("probe");
    library.define("probe() -> ()");
    let _registration = library.finish().expect("the dispatcher is empty");
    let operator = dispatcher.find("probe::probe").expect("it was defined above");
    let table = operator.table().expect("the operator is there");
    let free = table.iter().filter(|column| column.kernel.is_none() && column.key != DispatchKey::Undefined);
    free.map(|column| column.key).collect()
}

/// All keys to choose from.
#[derive(Debug)]
pub struct Keys {
    columns: Vec<DispatchKey>,
    aliases: Vec<DispatchKey>,
    /// Keys that can have a fallback of a program's own.
    pub without_fallback: Vec<DispatchKey>,
    building_blocks: Vec<DispatchKey>,
}

impl Keys {
    /// The keys of torch.
    pub fn of_torch() -> Self {
        Self {
            columns: torch_columns().into_iter().skip(1).collect(),
            aliases: DispatchKey::aliases().collect(),
            without_fallback: keys_without_fallback(),
            building_blocks: DispatchKey::all().filter(|key| key.is_building_block()).collect(),
        }
    }

    /// A key with a column.
    pub fn column(&self, random: &mut Random) -> DispatchKey {
        *random.pick(&self.columns)
    }

    /// A key for kernels: with a column, or an alias.
    pub fn for_kernels(&self, random: &mut Random) -> DispatchKey {
        match random.below(10) {
            0..4 => self.column(random),
            4..7 => *random.pick(&self.aliases),
            _ => *random.pick(&INTERESTING),
        }
    }

    /// An alias.
    pub fn alias(&self, random: &mut Random) -> DispatchKey {
        *random.pick(&self.aliases)
    }

    /// A key that stands for a functionality alone.
    pub fn building_block(&self, random: &mut Random) -> DispatchKey {
        *random.pick(&self.building_blocks)
    }

    /// Any key.
    pub fn any(&self, random: &mut Random) -> DispatchKey {
        match random.below(12) {
            0 => DispatchKey::Undefined,
            1 => self.alias(random),
            2 => self.building_block(random),
            _ => self.column(random),
        }
    }

    /// A set of a few keys, of one key, of none, or of random bits.
    pub fn set(&self, random: &mut Random) -> DispatchKeySet {
        match random.below(8) {
            0 => DispatchKeySet::EMPTY,
            1 => {
                let bits = random.bits() & random.bits() & (DispatchKeySet::FULL.to_torch_bits());
                DispatchKeySet::from_torch_bits(bits).unwrap_or(DispatchKeySet::EMPTY)
            }
            2 => self.any(random).key_set(),
            _ => (0..1 + random.below(4)).map(|_| self.for_kernels(random)).collect(),
        }
    }
}

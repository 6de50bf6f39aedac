//! Cases: a launch and its data.

use crate::check::{Expect, Mismatch, compare};
use crate::half::Half;

/// How much work a case does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// Fast enough for a test, but at least 64 workgroups, and uneven where the kernel allows that.
    Small,
    /// Large enough to measure.
    Bench,
}

impl Size {
    /// One of two values by size.
    pub(crate) fn pick<T>(self, small: T, bench: T) -> T {
        match self {
            Size::Small => small,
            Size::Bench => bench,
        }
    }
}

/// The element type of a buffer; little-endian, as all data on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Bytes.
    U8,
    /// 32-bit integers.
    U32,
    /// 64-bit integers.
    U64,
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Element {
    /// Bytes in one element.
    pub const fn bytes(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::F16 => 2,
            Element::U32 | Element::F32 => 4,
            Element::U64 | Element::F64 => 8,
        }
    }
}

/// The value of a kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A pointer to global memory with `data` as its initial contents. It must be aligned to 256
    /// bytes.
    Buffer {
        /// Contents before the launch.
        data: Vec<u8>,
        /// The element type.
        element: Element,
    },
    /// A 32-bit integer.
    U32(u32),
    /// A 64-bit integer.
    U64(u64),
    /// A single precision number.
    F32(f32),
    /// A double precision number.
    F64(f64),
    /// A structure of dwords passed by value.
    Bytes(Vec<u8>),
    /// A pointer to LDS of the workgroup with this size in bytes (a multiple of 4; 16-byte
    /// aligned). The argument is its 32-bit offset after the kernel's fixed LDS.
    Local(u32),
}

/// A kernel argument, in the order of the kernel's signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// Its name in the source.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// A buffer among the arguments of a case.
#[derive(Clone, Copy, Debug)]
pub struct BufferArg<'a> {
    /// The argument's name.
    pub name: &'static str,
    /// Contents before the launch.
    pub data: &'a [u8],
    /// The element type.
    pub element: Element,
}

/// One launch of a kernel: the code, the grid, the arguments, and (through [`Case::check`]) the
/// correct results.
#[derive(Clone, Debug)]
pub struct Case {
    /// The case's unique name.
    pub name: &'static str,
    /// The name of the code object for [`crate::fixture`].
    pub object: &'static str,
    /// The kernel's name in the object; the symbol of its descriptor adds `.kd`.
    pub kernel: &'static str,
    /// Dimensions of the grid, 1 to 3: the value of the dispatch packet's setup field.
    pub dims: u32,
    /// Work-items in each dimension; not always a multiple of the workgroup's size.
    pub global: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    pub local: [u32; 3],
    /// The first global id in each dimension.
    pub offset: [u64; 3],
    /// Arguments in order.
    pub args: Vec<Arg>,
    /// Number of consecutive workgroups that wait for one another, so they must run at the same
    /// time: 1 for all cases except the litmus tests.
    pub together: u32,
    /// Whether the result depends on timing, so that two correct runs may differ.
    pub racy: bool,
    /// Whether waves poll for actions of other waves, so that the number of instructions depends on
    /// timing.
    pub spins: bool,
    pub(crate) reference: fn(&Case) -> Vec<Expect>,
}

impl Case {
    /// A case in one dimension: `groups` workgroups of `local` items, no arguments yet.
    pub(crate) fn new(name: &'static str, object: &'static str, reference: fn(&Case) -> Vec<Expect>) -> Case {
        Case {
            name,
            object,
            kernel: name,
            dims: 1,
            global: [1; 3],
            local: [1; 3],
            offset: [0; 3],
            args: Vec::new(),
            together: 1,
            racy: false,
            spins: false,
            reference,
        }
    }

    /// Sets a one-dimensional grid of whole workgroups that has at least `items` work-items.
    pub(crate) fn cover(mut self, items: u32, local: u32) -> Case {
        self.local = [local, 1, 1];
        self.global = [items.next_multiple_of(local), 1, 1];
        self
    }

    /// Sets a two-dimensional grid of whole workgroups that has at least `items` work-items in each
    /// dimension.
    pub(crate) fn cover_2d(mut self, items: [u32; 2], local: [u32; 2]) -> Case {
        self.dims = 2;
        self.local = [local[0], local[1], 1];
        self.global = [items[0].next_multiple_of(local[0]), items[1].next_multiple_of(local[1]), 1];
        self
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, name: &'static str, value: Value) -> Case {
        self.args.push(Arg { name, value });
        self
    }

    /// Adds a 32-bit integer.
    pub(crate) fn u32(self, name: &'static str, value: u32) -> Case {
        self.arg(name, Value::U32(value))
    }

    /// Adds a single precision number.
    pub(crate) fn f32(self, name: &'static str, value: f32) -> Case {
        self.arg(name, Value::F32(value))
    }

    /// Adds a double precision number.
    pub(crate) fn f64(self, name: &'static str, value: f64) -> Case {
        self.arg(name, Value::F64(value))
    }

    /// Adds a buffer.
    pub(crate) fn buffer<T: Plain>(self, name: &'static str, contents: &[T]) -> Case {
        self.arg(name, Value::Buffer { data: bytes_of(contents), element: T::ELEMENT })
    }

    /// Workgroups in each dimension, including partial ones at the far edges.
    pub fn groups(&self) -> [u32; 3] {
        std::array::from_fn(|d| self.global[d].div_ceil(self.local[d]))
    }

    /// Number of all workgroups.
    pub fn group_count(&self) -> u64 {
        self.groups().into_iter().map(u64::from).product()
    }

    /// Number of all work-items.
    pub fn work_items(&self) -> u64 {
        self.global.into_iter().map(u64::from).product()
    }

    /// The buffers among the arguments, in the order in which [`Case::check`] expects their
    /// contents.
    pub fn buffers(&self) -> impl Iterator<Item = BufferArg<'_>> {
        self.args.iter().filter_map(|arg| match &arg.value {
            Value::Buffer { data, element } => Some(BufferArg { name: arg.name, data, element: *element }),
            _ => None,
        })
    }

    /// Compares the contents of all buffers after the launch, in the order of [`Case::buffers`],
    /// with the reference. Each call computes the reference on the host. Buffers that the kernel
    /// must not write are compared, too.
    ///
    /// # Errors
    /// The first wrong element with the number of wrong ones, or a mismatch between the buffers and
    /// the case.
    pub fn check(&self, buffers: &[impl AsRef<[u8]>]) -> Result<(), Mismatch> {
        let contents: Vec<&[u8]> = buffers.iter().map(AsRef::as_ref).collect();
        compare(self, &contents, &(self.reference)(self))
    }

    /// The contents of the buffer argument `name` before the launch. The names come from the code
    /// that made the case, so a missing one is a bug there.
    pub(crate) fn input<T: Plain>(&self, name: &str) -> Vec<T> {
        match self.value(name) {
            Value::Buffer { data, .. } => values_of(data),
            other => panic!("argument {name} of {} is not a buffer but {other:?}", self.name),
        }
    }

    /// The integer argument `name`.
    pub(crate) fn get_u32(&self, name: &str) -> u32 {
        match self.value(name) {
            Value::U32(value) => *value,
            other => panic!("argument {name} of {} is not an integer but {other:?}", self.name),
        }
    }

    /// The 64-bit integer argument `name`.
    pub(crate) fn get_u64(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::U64(value) => *value,
            other => panic!("argument {name} of {} is not a 64-bit integer but {other:?}", self.name),
        }
    }

    /// The array inside the structure argument `name`.
    pub(crate) fn get_array<T: Plain>(&self, name: &str) -> Vec<T> {
        match self.value(name) {
            Value::Bytes(bytes) => values_of(bytes),
            other => panic!("argument {name} of {} is not a structure but {other:?}", self.name),
        }
    }

    /// The floating point argument `name`.
    pub(crate) fn get_f32(&self, name: &str) -> f32 {
        match self.value(name) {
            Value::F32(value) => *value,
            other => panic!("argument {name} of {} is not a float but {other:?}", self.name),
        }
    }

    /// The double precision argument `name`.
    pub(crate) fn get_f64(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::F64(value) => *value,
            other => panic!("argument {name} of {} is not a double but {other:?}", self.name),
        }
    }

    fn value(&self, name: &str) -> &Value {
        match self.args.iter().find(|arg| arg.name == name) {
            Some(arg) => &arg.value,
            None => panic!("{} has no argument {name}", self.name),
        }
    }
}

/// An element type of buffers.
pub(crate) trait Plain: Copy {
    /// Its kind.
    const ELEMENT: Element;
    /// Appends its bytes.
    fn put(self, out: &mut Vec<u8>);
    /// From exactly `ELEMENT.bytes()` bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($type:ty => $element:ident),+) => {$(
        impl Plain for $type {
            const ELEMENT: Element = Element::$element;
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut raw = [0; size_of::<$type>()];
                raw.copy_from_slice(bytes);
                <$type>::from_le_bytes(raw)
            }
        }
    )+};
}
plain!(u8 => U8, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

impl Plain for Half {
    const ELEMENT: Element = Element::F16;
    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_le_bytes());
    }
    fn get(bytes: &[u8]) -> Self {
        Half(u16::from_le_bytes([bytes[0], bytes[1]]))
    }
}

/// The bytes of an array on the device.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut out = Vec::with_capacity(size_of_val(values));
    for value in values {
        value.put(&mut out);
    }
    out
}

/// The array in a buffer; an incomplete element at the end is omitted.
pub(crate) fn values_of<T: Plain>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::ELEMENT.bytes()).map(T::get).collect()
}

//! Memory that goes through the table of functions: by DLPack in both directions, by its address, and when the code behind it
//! goes.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CString, c_void};
use std::ptr;

use opgrid_abi::{OpgridDevice, OpgridError, OpgridTensor};
use opgrid_core::{AnyTensor, DType, Device, ErrorKind, TensorType};
use opgrid_plugin::Load;
use opgrid_plugin::foreign::{open_table, take_error};
use opgrid_plugin::fuzzing::api;
use opgrid_tensor::Tensor;

use crate::common::{build, root, subject};

/// `DLTensor`, as the standard has it.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_kind: i32,
    device_index: i32,
    dims: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    sizes: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned`, as the standard has it.
#[repr(C)]
struct Managed {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    tensor: DlTensor,
}

const READ_ONLY: u64 = 1;

/// What a lender lends; it counts how often that is given back.
struct Lender {
    elements: [f32; 6],
    sizes: [i64; 2],
    strides: [i64; 2],
    given_back: Cell<u32>,
}

unsafe extern "C" fn give_back(managed: *mut Managed) {
    // SAFETY: `Lender::lend` made both, and the lender lives longer than what it lends.
    let lender = unsafe { &*(*managed).context.cast::<Lender>() };
    lender.given_back.set(lender.given_back.get() + 1);
    // SAFETY: `Lender::lend` made the box; who deletes it, deletes it once, or the count is wrong.
    drop(unsafe { Box::from_raw(managed) });
}

impl Lender {
    fn new() -> Box<Self> {
        let elements = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        Box::new(Self { elements, sizes: [2, 3], strides: [3, 1], given_back: Cell::new(0) })
    }

    /// Lends the elements, as `change` says.
    fn lend(&mut self, change: impl FnOnce(&mut Managed)) -> Box<Managed> {
        let mut managed = Box::new(Managed {
            major: 1,
            minor: 0,
            context: ptr::from_mut(self).cast(),
            deleter: Some(give_back),
            flags: 0,
            tensor: DlTensor {
                data: self.elements.as_mut_ptr().cast(),
                device_kind: 1,
                device_index: 0,
                dims: 2,
                code: 2,
                bits: 32,
                lanes: 1,
                sizes: self.sizes.as_mut_ptr(),
                strides: self.strides.as_mut_ptr(),
                byte_offset: 0,
            },
        });
        change(&mut managed);
        managed
    }
}

/// What a function of the table has written: a tensor, or the error.
fn made(
    status: i32,
    tensor: *mut OpgridTensor,
    error: *mut OpgridError,
) -> Result<Tensor, opgrid_core::Error> {
    if status != 0 {
        assert!(tensor.is_null(), "a tensor and an error");
        return Err(take_error(error.addr()).expect("an error"));
    }
    let raw = ptr::NonNull::new(tensor.cast::<()>()).expect("a tensor");
    // SAFETY: the table wrote a handle, which belongs to this test.
    let tensor = unsafe { AnyTensor::from_raw(raw) };
    Ok(Tensor::from_any_ref(&tensor).expect("one of ours").clone())
}

fn borrowed(managed: *mut Managed) -> Result<Tensor, opgrid_core::Error> {
    let (mut tensor, mut error) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the structure is the standard's; the rest is here.
    let status = unsafe { (api().tensor_from_dlpack)(managed.cast(), &raw mut tensor, &raw mut error) };
    made(status, tensor, error)
}

/// A tensor of ours as the table takes it.
fn raw(tensor: &Tensor) -> *const OpgridTensor {
    tensor.as_any().as_raw().as_ptr().cast()
}

fn lent(tensor: &Tensor) -> Result<*mut Managed, opgrid_core::Error> {
    let (mut managed, mut error) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the tensor lives; the rest is here.
    let status = unsafe { (api().tensor_to_dlpack)(raw(tensor), &raw mut managed, &raw mut error) };
    if status == 0 { Ok(managed.cast()) } else { Err(take_error(error.addr()).expect("an error")) }
}

#[test]
fn what_is_lent_comes_back_as_the_same_memory() {
    let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    let view = x.view_as(opgrid_tensor::Geometry::strided(&[3, 2], &[1, 3], 0).unwrap()).unwrap();
    let managed = lent(&view).unwrap();
    // SAFETY: the table wrote it, and it is deleted below.
    let described = unsafe { &(*managed).tensor };
    assert_eq!((described.dims, described.code, described.bits, described.lanes), (2, 2, 32, 1));
    // SAFETY: there are as many as dimensions.
    let (sizes, strides) = unsafe {
        (std::slice::from_raw_parts(described.sizes, 2), std::slice::from_raw_parts(described.strides, 2))
    };
    assert_eq!((sizes, strides), (&[3i64, 2][..], &[1i64, 3][..]));
    let handles = x.as_any().handle_count();
    let back = borrowed(managed).unwrap();
    assert_eq!(back.to_string(), view.to_string());
    x.copy_(&Tensor::from_slice(&[7.0f32, 8.0, 9.0, 10.0, 11.0, 12.0], &[2, 3]).unwrap()).unwrap();
    assert_eq!(back.to_vec::<f32>().unwrap(), [7.0, 10.0, 8.0, 11.0, 9.0, 12.0]);
    drop(back);
    assert_eq!(x.as_any().handle_count(), handles, "what was lent was given back");

    let empty = Tensor::zeros(&[0, 3], DType::I64, Device::CPU).unwrap();
    assert_eq!(borrowed(lent(&empty).unwrap()).unwrap().sizes(), [0, 3]);
}

#[test]
fn what_cannot_be_lent_is_an_error() {
    let meta = Tensor::zeros(&[2], DType::F32, Device::META).unwrap();
    let error = lent(&meta).unwrap_err();
    assert!(error.to_string().contains("memory of device meta cannot be exported"), "{error}");
    let quantized = Tensor::zeros(&[2], DType::QInt8, Device::META).map_err(|error| error.kind());
    if let Ok(quantized) = quantized {
        let error = lent(&quantized).unwrap_err();
        assert!(error.to_string().contains("DLPack has no dtype"), "{error}");
    }
    let (mut managed, mut error) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: null is refused; the rest is here.
    let status = unsafe { (api().tensor_to_dlpack)(ptr::null(), &raw mut managed, &raw mut error) };
    assert!(status != 0 && managed.is_null());
    assert_eq!(take_error(error.addr()).unwrap().message(), "a tensor is null, expected one");
    // Nowhere to write to: what was made is deleted.
    let x = Tensor::from_slice(&[1.0f32], &[1]).unwrap();
    // SAFETY: the tensor is here; null is refused as the place of a result, and is none for an error.
    let status = unsafe { (api().tensor_to_dlpack)(raw(&x), ptr::null_mut(), ptr::null_mut()) };
    assert_ne!(status, 0);
    assert_eq!(x.as_any().handle_count(), 1);
}

#[test]
fn memory_of_others_is_borrowed_and_given_back_once() {
    let mut lender = Lender::new();
    let tensor = borrowed(Box::into_raw(lender.lend(|_| ()))).unwrap();
    assert_eq!(tensor.to_string(), "tensor([[1., 2., 3.],\n        [4., 5., 6.]])");
    let view = tensor.view_as(opgrid_tensor::Geometry::strided(&[2], &[3], 1).unwrap()).unwrap();
    drop(tensor);
    assert_eq!((view.to_vec::<f32>().unwrap(), lender.given_back.get()), (vec![2.0, 5.0], 0));
    drop(view);
    assert_eq!(lender.given_back.get(), 1);

    // Row-major without strides, from an offset on.
    let managed = lender.lend(|managed| {
        managed.tensor.strides = ptr::null_mut();
        managed.tensor.dims = 1;
        managed.tensor.byte_offset = 4;
    });
    assert_eq!(borrowed(Box::into_raw(managed)).unwrap().to_vec::<f32>().unwrap(), [2.0, 3.0]);
    assert_eq!(lender.given_back.get(), 2);

    // A newer minor version says more, nothing else.
    let managed = lender.lend(|managed| managed.minor = 9);
    drop(borrowed(Box::into_raw(managed)).unwrap());
    // What may not be written is copied.
    let copy = borrowed(Box::into_raw(lender.lend(|managed| managed.flags = READ_ONLY))).unwrap();
    assert_eq!(lender.given_back.get(), 4);
    copy.copy_(&Tensor::zeros(&[2, 3], DType::F32, Device::CPU).unwrap()).unwrap();
    assert_eq!(lender.elements[0], 1.0);

    // Without elements there need not be memory.
    let mut empty = Lender::new();
    empty.sizes = [0, 3];
    let managed = empty.lend(|managed| managed.tensor.data = ptr::null_mut());
    assert_eq!(borrowed(Box::into_raw(managed)).unwrap().sizes(), [0, 3]);
    assert_eq!(empty.given_back.get(), 1);
}

/// Changes the first of a lender's numbers.
fn set(numbers: *mut i64, number: i64) {
    // SAFETY: the numbers are the lender's, which lives in the test that lends them.
    unsafe { numbers.write(number) };
}

/// Something that a lender changes, and what the error says.
type Lie = (fn(&mut Managed), &'static str);

#[test]
fn descriptions_that_lie_are_errors_and_are_given_back_once() {
    let lies: [Lie; 11] = [
        (|managed| managed.major = 2, "found DLPack version 2.0"),
        (|managed| managed.major = 0, "found DLPack version 0.0"),
        (|managed| managed.tensor.device_kind = 2, "DLPack's device 2"),
        (|managed| managed.tensor.code = 3, "(3, 32 bits, 1 lanes)"),
        (|managed| managed.tensor.bits = 48, "(2, 48 bits, 1 lanes)"),
        (|managed| managed.tensor.lanes = 4, "(2, 32 bits, 4 lanes)"),
        (|managed| managed.tensor.dims = -1, "found -1 dimensions"),
        (|managed| managed.tensor.sizes = ptr::null_mut(), "but no sizes"),
        (|managed| managed.tensor.data = ptr::null_mut(), "no memory behind"),
        (|managed| set(managed.tensor.strides, -3), "negative"),
        (|managed| set(managed.tensor.sizes, i64::MAX), "elements"),
    ];
    for (lie, expected) in lies {
        let mut lender = Lender::new();
        let error = borrowed(Box::into_raw(lender.lend(lie))).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert_eq!(lender.given_back.get(), 1, "{error}");
    }
    let error = borrowed(ptr::null_mut()).unwrap_err().to_string();
    assert!(error.contains("null"), "{error}");
    let error = borrowed(ptr::without_provenance_mut(0x1001)).unwrap_err().to_string();
    assert!(error.contains("DLPack"), "{error}");
    // Elements at an odd address are copied, and their memory is given back at once.
    let mut lender = Lender::new();
    let odd = borrowed(Box::into_raw(lender.lend(|managed| {
        managed.tensor.byte_offset = 2;
        managed.tensor.dims = 1;
    })));
    let odd = odd.unwrap();
    let bytes: Vec<u8> = lender.elements.iter().flat_map(|element| element.to_ne_bytes()).collect();
    // Three elements, or twelve bytes, lie from one of both to the other.
    let expected = [2, 14].map(|at| f32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap()));
    assert_eq!(odd.to_vec::<f32>().unwrap(), expected);
    assert_eq!(lender.given_back.get(), 1);
    // Who has no deleter wants nothing back.
    let mut lender = Lender::new();
    let managed = Box::into_raw(lender.lend(|managed| managed.deleter = None));
    drop(borrowed(managed).unwrap());
    // SAFETY: nobody has deleted it.
    drop(unsafe { Box::from_raw(managed) });
}

unsafe extern "C" fn count(context: *mut c_void) {
    // SAFETY: the tests give the address of a cell that lives.
    let count = unsafe { &*context.cast::<Cell<u32>>() };
    count.set(count.get() + 1);
}

/// A tensor of two floats on memory; its context counts.
fn from_memory(data: *mut c_void, bytes: usize, freed: &Cell<u32>) -> Result<Tensor, opgrid_core::Error> {
    let (sizes, device) = ([2i64], OpgridDevice { kind: 0, index: -1 });
    let (mut tensor, mut error) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: every pointer is null, or of something here.
    let status = unsafe {
        (api().tensor_from_memory)(
            data,
            bytes,
            1,
            sizes.as_ptr(),
            ptr::null(),
            DType::F32.number() as i32,
            device,
            ptr::from_ref(freed).cast_mut().cast(),
            Some(count),
            &raw mut tensor,
            &raw mut error,
        )
    };
    made(status, tensor, error)
}

#[test]
fn memory_is_taken_by_its_address_where_it_fits() {
    let (mut floats, freed) = ([1.0f32, 2.0, 3.0], Cell::new(0));
    let data: *mut c_void = floats.as_mut_ptr().cast();
    let tensor = from_memory(data, 8, &freed).unwrap();
    assert_eq!((tensor.to_vec::<f32>().unwrap(), freed.get()), (vec![1.0, 2.0], 0));
    drop(tensor);
    assert_eq!(freed.get(), 1);
    for (data, bytes, expected) in [
        (ptr::null_mut(), 8, "the memory of a tensor is null"),
        (data, 7, "bytes"),
        (data.wrapping_byte_add(1), 8, "not a multiple of 4"),
    ] {
        freed.set(0);
        let error = from_memory(data, bytes, &freed).unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert_eq!(freed.get(), 1, "{error}");
    }
}

/// Whether the process has a file in its address space.
fn is_mapped(path: &std::path::Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().any(|line| line.ends_with(name))
}

#[test]
fn code_is_given_back_to_the_system_when_that_is_asked_for() {
    let path = build("examples/plugin-c/plugin.c", "unmapped", &[]);
    let (dispatcher, _operators) = subject();
    let plugin = dispatcher.load(&path).unwrap();
    assert!(is_mapped(&path));
    let x = opgrid_core::Value::from(&Tensor::from_slice(&[1.0f32], &[1]).unwrap());
    let handle = dispatcher.find("demo_c::scale_add").unwrap();
    handle.call_values(vec![x.clone(), x, 2.0.into()]).unwrap();
    // SAFETY: nothing of the plugin is held: its result was dropped above.
    unsafe { plugin.unmap() }.unwrap();
    assert!(!is_mapped(&path));
    assert_eq!(handle.call_values(Vec::new()).unwrap_err().kind(), ErrorKind::Stale);
    // The file can be loaded again, and its code stays when the plugin is only dropped.
    drop(dispatcher.load(&path).unwrap());
    assert!(is_mapped(&path));
}

#[test]
fn code_that_runs_is_not_given_back() {
    let path = build("examples/plugin-c/plugin.c", "running_code", &[]);
    let (dispatcher, _operators) = subject();
    let plugin = std::sync::Mutex::new(Some(dispatcher.load(&path).unwrap()));
    let mut library = dispatcher.library("table");
    library.define("unmap() -> ()").boxed(opgrid_core::DispatchKey::CompositeExplicitAutograd, move |_| {
        let plugin = plugin.lock().unwrap().take().expect("one call");
        // SAFETY: nothing of the plugin is held.
        unsafe { plugin.unmap() }
    });
    let _registration = library.finish().unwrap();
    let error = dispatcher.find("table::unmap").unwrap().call_values(Vec::new()).unwrap_err();
    assert!(!error.to_string().is_empty());
    assert!(is_mapped(&path), "{error}");
    assert!(dispatcher.find("demo_c::scale_add").is_err());
}

#[test]
fn the_header_names_every_dtype() {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/opgrid/include/opgrid.h");
    let header = std::fs::read_to_string(header).unwrap();
    for dtype in DType::ALL {
        let line = format!("#define OPGRID_DTYPE_{} {}\n", dtype.name().to_uppercase(), dtype.number());
        assert!(header.contains(&line), "add to opgrid-abi, then `cargo xtask header`: {line}");
    }
    assert_eq!(header.matches("#define OPGRID_DTYPE_").count(), DType::ALL.len());
}

#[test]
fn programs_are_loaded_where_the_host_has_them() {
    let (dispatcher, _operators) = subject();
    let (mut table, mut library) = (ptr::null(), ptr::null_mut());
    let (mut program, mut error) = (ptr::null_mut(), ptr::null_mut());
    let opened = || Ok(dispatcher.clone());
    // SAFETY: every address is that of a variable above.
    let status = unsafe { open_table(opened, "a test", &raw mut table, &raw mut library, &raw mut error) };
    assert_eq!(status, 0);
    assert!(ptr::eq(table, api()));

    let path = root().join("crates/opgrid-graph/tests/models/mlp.pt2");
    let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: the path is a string, and every other address is that of a variable above.
    let status = unsafe { (api().program_load)(library, path.as_ptr(), 0, &raw mut program, &raw mut error) };
    if cfg!(feature = "programs") {
        assert_eq!(status, 0);
        // SAFETY: functions of programs take any handle.
        let counts = unsafe { [(api().program_input_count)(program), (api().program_result_count)(program)] };
        assert_eq!(counts, [1, 1]);
        // SAFETY: functions of programs take any handle.
        unsafe { (api().program_release)(program) };
    } else {
        assert!(status != 0 && program.is_null());
        let error = take_error(error.addr()).expect("an error");
        assert_eq!(error.kind(), ErrorKind::NotImplemented);
        assert!(error.message().contains("mlp.pt2: the host was built without programs"), "{error}");
    }
    // SAFETY: functions of programs take any handle.
    assert_eq!(unsafe { (api().program_input_count)(program) }, 0);
}

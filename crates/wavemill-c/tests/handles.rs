//! Devices, buffers, modules and kernels, and what is wrong with handles and pointers.

use std::ffi::{CStr, c_void};
use std::ptr;

use wavemill_c::*;

use crate::calls::*;

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(text(wm_version()), env!("CARGO_PKG_VERSION"));
}

/// The message of a device that cannot be made.
fn rejected(options: &wm_device_options_t) -> String {
    let mut device = ptr::dangling_mut();
    // SAFETY: the pointers lead to what the function expects.
    let message = error(unsafe { wm_device_new(options, &mut device) });
    assert_eq!(device, ptr::dangling_mut(), "the variable is unchanged");
    message
}

#[test]
fn devices_are_targets_or_products() {
    for (name, target, units) in [(c"gfx90a:xnack-", "gfx90a:xnack-", 104), (c"mi300a", "gfx942", 228)] {
        let device = device(name);
        let mut found = ptr::null();
        // SAFETY: the pointers lead to variables.
        ok(unsafe { wm_device_target(device, &mut found) });
        assert_eq!(text(found), target);
        let mut info = sized::<wm_device_info_t>();
        // SAFETY: the pointer leads to a structure.
        ok(unsafe { wm_device_info(device, &mut info) });
        assert_eq!((info.compute_units, info.lds_size, info.max_workgroup_size), (units, 65536, 1024));
        ok(wm_device_free(device));
    }
    let options = device_options(c"gfx942");
    assert_eq!(
        rejected(&device_options(c"mi9000")),
        "expected a target like gfx942 or a product like mi300x, found `mi9000`"
    );
    assert!(rejected(&device_options(c"gfx1100")).contains("gfx1100, which Wavemill does not run"));
    assert_eq!(
        rejected(&wm_device_options_t { target: ptr::null(), ..options }),
        "expected the name of a target, found NULL"
    );
    assert_eq!(
        rejected(&device_options(c"gfx\xff")),
        "expected the name of a target in UTF-8, but its byte 3 is not part of a character"
    );
    assert_eq!(
        rejected(&wm_device_options_t { address_mode: 2, ..options }),
        "address_mode is 2; expected WM_ADDRESS_SANDBOX (0) or WM_ADDRESS_IDENTITY (1)"
    );
    assert_eq!(
        rejected(&wm_device_options_t { host_memory: 2, ..options }),
        "host_memory is 2; expected WM_HOST_MEMORY_BUFFERS (0) or WM_HOST_MEMORY_PROCESS (1)"
    );
    assert_eq!(
        rejected(&wm_device_options_t { host_memory: 1, ..options }),
        "host_memory is WM_HOST_MEMORY_PROCESS, which needs WM_ADDRESS_IDENTITY (1); found address_mode 0"
    );
    assert_eq!(
        rejected(&wm_device_options_t { reserved: 5, ..options }),
        "the reserved field of a wm_device_options_t is 5; set it to 0"
    );
    // SAFETY: null is checked.
    unsafe {
        assert_eq!(
            error(wm_device_new(&options, ptr::null_mut())),
            "expected a pointer to a variable for the device, found NULL"
        );
        assert_eq!(
            error(wm_device_new(ptr::null(), &mut ptr::null_mut())),
            "expected a wm_device_options_t, found NULL"
        );
    }
}

#[test]
fn buffers_hold_bytes() {
    let mut options =
        wm_device_options_t { poison_buffers: 1, poison: 0xfffa_fffa, ..device_options(c"gfx906") };
    options.address_mode = wm_address_mode_t::WM_ADDRESS_IDENTITY as u32;
    let mut device = ptr::null_mut();
    let mut host = [1u32, 2, 3, 4];
    // SAFETY: the pointers lead to what the functions expect.
    unsafe {
        ok(wm_device_new(&options, &mut device));
        let own = buffer(device, c"own", 16);
        assert_eq!(read::<u32>(own, 4), [0xfffa_fffa; 4]);
        ok(wm_buffer_write(own, 8, [7u32].as_ptr().cast(), 4));
        assert_eq!(read::<u32>(own, 4), [0xfffa_fffa, 0xfffa_fffa, 7, 0xfffa_fffa]);
        let mut size = 0;
        ok(wm_buffer_size(own, &mut size));
        assert_eq!(size, 16);

        // Beyond the end: nothing is written or read.
        let mut into = [9u32; 2];
        let message = error(wm_buffer_write(own, 12, into.as_ptr().cast(), 8));
        assert!(message.contains("own") && message.contains("16"), "{message}");
        assert_eq!(read::<u32>(own, 4)[3], 0xfffa_fffa);
        error(wm_buffer_read(own, 12, into.as_mut_ptr().cast(), 8));
        error(wm_buffer_read(own, u64::MAX, into.as_mut_ptr().cast(), 8));
        assert_eq!(into, [9; 2]);
        let expected = "expected 4 bytes of contents for a buffer, found NULL";
        assert_eq!(error(wm_buffer_write(own, 0, ptr::null(), 4)), expected);
        let expected = "expected 4 bytes of room for the contents of a buffer, found NULL";
        assert_eq!(error(wm_buffer_read(own, 0, ptr::null_mut(), 4)), expected);
        let expected = format!("{} bytes of contents for a buffer are more than any object has", usize::MAX);
        assert_eq!(error(wm_buffer_write(own, 0, into.as_ptr().cast(), usize::MAX)), expected);
        ok(wm_buffer_write(own, 16, ptr::null(), 0));

        // The memory of the host is where it is, and is changed there.
        let memory = host.as_mut_ptr();
        let mut imported = ptr::null_mut();
        ok(wm_buffer_import(device, ptr::null(), memory.cast(), 16, &mut imported));
        assert_eq!(address(imported), memory.addr() as u64);
        assert_eq!(read::<u32>(imported, 4), [1, 2, 3, 4]);
        ok(wm_buffer_write(imported, 4, [5u32].as_ptr().cast(), 4));
        assert_eq!(memory.add(1).read(), 5);
        let mut again = ptr::null_mut();
        error(wm_buffer_import(device, c"again".as_ptr(), memory.add(3).cast(), 4, &mut again));
        let null = ptr::null_mut::<c_void>();
        let message = error(wm_buffer_import(device, c"none".as_ptr(), null, 4, &mut again));
        assert_eq!(message, "expected 4 bytes of memory for `none`, found NULL");
        let message = error(wm_buffer_import(device, c"all".as_ptr(), memory.cast(), u64::MAX, &mut again));
        assert!(message.ends_with("for `all` go beyond the end of memory"), "{message}");
        // Kernels have no such addresses.
        let far = ptr::without_provenance_mut(0xffff_8000_0000_0000);
        let message = error(wm_buffer_import(device, c"far".as_ptr(), far, 16, &mut again));
        let expected =
            "16 bytes at 0xffff800000000000 for `far` are not within the addresses that kernels can use";
        assert_eq!(message, expected);
        assert!(again.is_null());

        // A device that is freed first leaves its buffers.
        ok(wm_device_free(device));
        assert_eq!(read::<u32>(own, 4)[2], 7);
        ok(wm_buffer_free(own));
        ok(wm_buffer_free(imported));
    }
}

#[test]
fn kernels_are_as_their_code_object_says() {
    let add = VectorAdd::new();
    // SAFETY: the pointers lead to what the functions expect.
    unsafe {
        let mut target = ptr::null();
        let object = object("vector_add");
        ok(wm_target_of(object.as_ptr().cast(), object.len(), &mut target));
        assert_eq!(text(target), "gfx942");

        let mut count = 0;
        ok(wm_module_kernel_count(add.module, &mut count));
        assert_eq!(count, 1);
        let mut name = ptr::null();
        ok(wm_module_kernel_name(add.module, 0, &mut name));
        assert_eq!(text(name), "vector_add");
        let expected = "there is no kernel number 1: the module has 1 kernels";
        assert_eq!(error(wm_module_kernel_name(add.module, 1, &mut name)), expected);

        // The numbers are those of the metadata, which llvm-readelf prints.
        let mut info = sized::<wm_kernel_info_t>();
        ok(wm_kernel_info(add.kernel, &mut info));
        assert_eq!(info.struct_size, size_of::<wm_kernel_info_t>());
        assert_eq!(text(info.name), "vector_add");
        assert_eq!((info.has_metadata, info.parameter_count, info.kernarg_size), (1, 4, 288));
        assert_eq!((info.lds_size, info.private_size, info.max_workgroup_size), (0, 0, 256));
        assert_eq!(info.required_workgroup_size, [0; 3]);
        assert!(info.sgprs >= 14 && info.vgprs >= 8, "{info:?}");
        for (index, (name, type_name, kind, offset, size, read_only)) in [
            ("a", "float*", 1, 0, 8, 1),
            ("b", "float*", 1, 8, 8, 1),
            ("c", "float*", 1, 16, 8, 0),
            ("n", "uint", 0, 24, 4, 0),
        ]
        .into_iter()
        .enumerate()
        {
            let mut parameter = sized::<wm_parameter_t>();
            ok(wm_kernel_parameter(add.kernel, index, &mut parameter));
            assert_eq!(
                (text(parameter.name).as_str(), text(parameter.type_name).as_str()),
                (name, type_name)
            );
            let found = (parameter.kind, parameter.offset, parameter.size, parameter.read_only);
            assert_eq!(found, (kind, offset, size, read_only), "{name}");
        }
        let expected = "there is no parameter number 4: the kernel has 4 parameters";
        assert_eq!(error(wm_kernel_parameter(add.kernel, 4, &mut sized())), expected);

        let mut kernel = ptr::null_mut();
        let message = error(wm_kernel_get(add.module, c"vector_ad".as_ptr(), &mut kernel));
        assert!(message.starts_with("no kernel `vector_ad` in the code object (did you mean `vector_add`?)"));
        assert_eq!(
            error(wm_kernel_get(add.module, ptr::null(), &mut kernel)),
            "expected the name of a kernel, found NULL"
        );
        let mut module = ptr::null_mut();
        error(wm_module_load(add.device, b"no code object".as_ptr().cast(), 14, &mut module));
        let message =
            error(wm_module_load(device(c"gfx906"), object.as_ptr().cast(), object.len(), &mut module));
        assert_eq!(message, "the code object is for gfx942, but the device is gfx906");
        assert!(module.is_null() && kernel.is_null());
    }
}

/// A handle that leads to nothing, to something else, or to something that was freed, is an error.
#[test]
fn wrong_handles_are_errors() {
    let add = VectorAdd::new();
    let freed = buffer(add.device, c"freed", 4);
    ok(wm_buffer_free(freed));
    let mut number = 5u64;
    let unknown =
        |found: *const c_void| format!("expected a buffer, found {found:p}, which is no handle or was freed");
    // SAFETY: handles are checked.
    unsafe {
        for (handle, expected) in [
            (ptr::null(), "expected a buffer, found NULL".to_owned()),
            (add.device.cast_const().cast(), "expected a buffer, found a device".to_owned()),
            (add.module.cast_const().cast(), "expected a buffer, found a module".to_owned()),
            (add.kernel.cast_const().cast(), "expected a buffer, found a kernel".to_owned()),
            (freed.cast_const().cast(), unknown(freed.cast())),
            ((&raw const number).cast(), unknown((&raw const number).cast())),
        ] {
            let handle: *const wm_buffer_t = handle;
            assert_eq!(error(wm_buffer_address(handle, &raw mut number)), expected);
            assert_eq!(error(wm_buffer_read(handle, 0, ptr::null_mut(), 0)), expected);
            if !handle.is_null() {
                assert_eq!(error(wm_buffer_free(handle.cast_mut())), expected);
            }
        }
        assert_eq!(number, 5);
        let buffer = add.buffers[0];
        let mut name: *const std::ffi::c_char = ptr::null();
        assert_eq!(error(wm_device_target(buffer.cast(), &mut name)), "expected a device, found a buffer");
        assert_eq!(
            error(wm_module_kernel_name(buffer.cast(), 0, &mut name)),
            "expected a module, found a buffer"
        );
        assert_eq!(error(wm_kernel_info(buffer.cast(), &mut sized())), "expected a kernel, found a buffer");
        assert_eq!(error(wm_device_free(buffer.cast())), "expected a device, found a buffer");
    }
    // As `free` does.
    ok(wm_buffer_free(ptr::null_mut()));
    ok(wm_device_free(ptr::null_mut()));
    ok(wm_module_free(ptr::null_mut()));
    ok(wm_kernel_free(ptr::null_mut()));
}

#[test]
fn each_thread_has_messages_of_its_own() {
    let fail = |name: &CStr| {
        let options = device_options(name);
        // SAFETY: the pointers lead to what the function expects.
        unsafe { wm_device_new(&options, &mut ptr::null_mut()) }
    };
    let here = fail(c"here");
    std::thread::scope(|scope| {
        scope.spawn(|| assert!(error(fail(c"there")).ends_with("`there`")));
    });
    assert!(error(here).ends_with("`here`"));
}

//! Structures whose callers know fewer fields than the library, or more.

use std::ptr;

use wavemill_c::*;

use crate::calls::*;

/// A structure as a newer version has it.
#[repr(C)]
struct Newer<T> {
    known: T,
    new: [u64; 2],
}

#[test]
fn an_older_caller_has_defaults() {
    let mut options = device_options(c"gfx942");
    // Up to `threads`; what follows is not the library's to read.
    options.struct_size = std::mem::offset_of!(wm_device_options_t, poison_buffers);
    options.poison_buffers = 1;
    options.poison = 0x1234_5678;
    options.reserved = 9;
    let mut device = ptr::null_mut();
    // SAFETY: the pointers lead to what the functions expect.
    unsafe {
        ok(wm_device_new(&options, &mut device));
        assert_eq!(read::<u32>(buffer(device, c"zeros", 8), 2), [0, 0]);

        // The library writes no more than the caller knows.
        let mut info = sized::<wm_device_info_t>();
        info.struct_size = std::mem::offset_of!(wm_device_info_t, lds_size);
        (info.lds_size, info.max_workgroup_size) = (1, 2);
        ok(wm_device_info(device, &mut info));
        assert_eq!((info.compute_units, info.lds_size, info.max_workgroup_size), (304, 1, 2));
        assert_eq!(info.struct_size, std::mem::offset_of!(wm_device_info_t, lds_size));
    }
    ok(wm_device_free(device));
}

#[test]
fn a_newer_caller_may_leave_new_fields_alone() {
    let options = wm_device_options_t {
        struct_size: size_of::<Newer<wm_device_options_t>>(),
        ..device_options(c"mi60")
    };
    let mut device = ptr::null_mut();
    // SAFETY: the pointers lead to what the functions expect.
    unsafe {
        let newer = Newer { known: options, new: [0; 2] };
        ok(wm_device_new((&raw const newer).cast(), &mut device));
        let newer = Newer { known: options, new: [0, 1 << 40] };
        let own = size_of::<wm_device_options_t>();
        let at = own + 8 + 5;
        assert_eq!(
            error(wm_device_new((&raw const newer).cast(), &mut device)),
            format!(
                "byte {at} of a wm_device_options_t is not 0, but this version of Wavemill knows {own} bytes of it: the \
                 program needs a newer version"
            )
        );

        let known = wm_device_info_t { struct_size: size_of::<Newer<wm_device_info_t>>(), ..sized() };
        let mut newer = Newer { known, new: [7; 2] };
        ok(wm_device_info(device, (&raw mut newer).cast()));
        assert_eq!((newer.known.compute_units, newer.new), (64, [0; 2]));
        assert_eq!(newer.known.struct_size, size_of::<Newer<wm_device_info_t>>());
    }
    ok(wm_device_free(device));
}

#[test]
fn a_size_that_no_version_had_is_an_error() {
    let own = size_of::<wm_device_options_t>();
    for size in [0, 1, size_of::<usize>() - 1, own - 1, 4097, usize::MAX] {
        let options = wm_device_options_t { struct_size: size, ..device_options(c"gfx942") };
        // SAFETY: the size is checked.
        let message = error(unsafe { wm_device_new(&options, &mut ptr::null_mut()) });
        assert_eq!(
            message,
            format!(
                "struct_size of a wm_device_options_t is {size}; set it to sizeof(wm_device_options_t), which is {own} \
                 in this version of Wavemill"
            )
        );
    }
    let device = device(c"gfx942");
    let mut info = wm_device_info_t { struct_size: 3, ..sized() };
    // SAFETY: the size is checked.
    let message = error(unsafe { wm_device_info(device, &mut info) });
    assert!(message.starts_with("struct_size of a wm_device_info_t is 3;"), "{message}");
    assert_eq!(info.compute_units, 0);
    ok(wm_device_free(device));
}

#[test]
fn arguments_may_be_larger_in_a_newer_program() {
    let add = VectorAdd::new();
    let n = 1024u32;
    write(add.buffers[0], &[1.5f32; 1024]);
    write(add.buffers[1], &[2.0f32; 1024]);
    let mut arguments: Vec<Newer<wm_argument_t>> = add
        .arguments(&n)
        .into_iter()
        .map(|mut known| {
            known.struct_size = size_of::<Newer<wm_argument_t>>();
            Newer { known, new: [0; 2] }
        })
        .collect();
    let launch = wm_launch_t { arguments: arguments.as_ptr().cast(), argument_count: 4, ..add.launch(&[]) };
    // SAFETY: the pointers lead to what the functions expect.
    ok(unsafe { wm_launch(&launch, ptr::null_mut()) });
    assert_eq!(read::<f32>(add.buffers[2], 1024), [3.5; 1024]);

    arguments[2].known.struct_size = size_of::<wm_argument_t>();
    let launch = wm_launch_t { arguments: arguments.as_ptr().cast(), ..launch };
    // SAFETY: the pointers lead to what the functions expect.
    let message = error(unsafe { wm_launch(&launch, ptr::null_mut()) });
    let (own, newer) = (size_of::<wm_argument_t>(), size_of::<Newer<wm_argument_t>>());
    assert_eq!(
        message,
        format!("struct_size of wm_argument_t number 2 is {own}, and that of the first one is {newer}")
    );
}

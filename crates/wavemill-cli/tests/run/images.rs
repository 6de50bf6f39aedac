//! Images and samplers as arguments: from pictures to kernels in assembly and back.

use crate::common::{Folder, expect, out, said};

/// Copies texel (x, y) to (y, x), through a sampler if it has one: one work-item a texel.
const SOURCE: &str = "
	.amdgcn_target \"amdgcn-amd-amdhsa--gfx906\"
	.text
	.globl k
	.p2align 8
	.type k,@function
k:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[2:3], s[0:1], 0x10
	s_waitcnt lgkmcnt(0)
	s_load_dwordx8 s[8:15], s[4:5], 0x0
	s_load_dwordx8 s[16:23], s[6:7], 0x0
	s_load_dwordx4 s[24:27], s[2:3], 0x0
	v_mov_b32 v2, v1
	v_mov_b32 v3, v0
	v_cvt_f32_u32 v0, v0
	v_cvt_f32_u32 v1, v1
	s_waitcnt lgkmcnt(0)
	image_sample_lz v[4:7], v[0:1], s[8:15], s[24:27] dmask:0xf
	s_waitcnt vmcnt(0)
	image_store v[4:7], v[2:3], s[16:23] dmask:0xf unorm
	s_endpgm
	.amdhsa_kernel k
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_vgpr_workitem_id 1
		.amdhsa_next_free_vgpr 8
		.amdhsa_next_free_sgpr 32
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx906
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .args:
      - {.name: from, .type_name: image2d_t, .offset: 0, .size: 8, .value_kind: image}
      - {.name: to, .type_name: image2d_t, .offset: 8, .size: 8, .value_kind: image}
      - {.name: s, .type_name: sampler_t, .offset: 16, .size: 8, .value_kind: sampler}
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .private_segment_fixed_size: 0
    .sgpr_count: 32
    .vgpr_count: 8
    .wavefront_size: 64
	.end_amdgpu_metadata
";

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("k.s", SOURCE);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 8, 8);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels: Vec<u8> = (0..64u8).flat_map(|n| [n, 2 * n, 255 - n]).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    folder.file("in.png", file);
    folder
}

const RUN: [&str; 6] = ["run", "k.s", "--grid", "1", "--block", "8x8"];

#[test]
fn a_picture_becomes_a_picture() {
    let folder = folder("images_picture");
    for (format, mode) in
        [("rgba8", "linear"), ("rgba8", "64kb_s"), ("bgra8", "4kb_d"), ("rgba32f", "256b_s")]
    {
        let from = format!("from:image2d[{format}]=@in.png");
        let to = format!("to:image2d[rgba8,8x8,{mode}]=zeros");
        let args = [from.as_str(), &to, "s:sampler[nearest]", "--print", "to[1,2]", "--out", "to=out.png"];
        let output = expect(&folder, 0, &[&RUN[..], &args].concat());
        // The texel in row 1 and column 2 is number 2 * 8 + 1 of the picture.
        assert_eq!(out(&output), "to[1,2] = [17, 34, 238, 255]\n", "{format} {mode}");
        let written = std::fs::File::open(folder.0.join("out.png")).unwrap();
        let mut reader = png::Decoder::new(std::io::BufReader::new(written)).read_info().unwrap();
        let mut pixels = vec![0; 256];
        reader.next_frame(&mut pixels).unwrap();
        assert_eq!(pixels[4 * (8 + 2)..][..4], [17, 34, 238, 255]);
    }
    // Texels of floats, numbers instead of a picture, and a border.
    let args = ["from:image2d[r32f,2x2]=[1,2,3,4]", "to:image2d[r32f,8x8]", "s:sampler[clamp]"];
    let output = expect(&folder, 0, &[&RUN[..], &args, &["--expect", "to[:2,:3]=[1,3,0,2,4,0]"]].concat());
    assert_eq!(out(&output), "to[:2,:3]: 6 elements as expected\n");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder("images_wrong");
    let run = |code, args: &[&str]| said(&folder, code, &[&RUN[..], args].concat());
    let (from, to, s) = ("from:image2d=@in.png", "to:image2d[rgba8,8x8]", "s:sampler");
    for (args, part) in [
        ([from, "to:f32[64]", s], "parameter `to` is an image; expected to:image2d[rgba8,640x480]=zeros"),
        (
            [from, to, "s=1"],
            "parameter `s` is a sampler; expected s:sampler[linear,clamp_to_edge,normalized]",
        ),
        (
            [from, "to:image2d[rgba8]", s],
            "the size of the image is missing; expected to:image2d[rgba8,640x480]=...",
        ),
        (["from:image2d[rgba8,9x8]=@in.png", to, s], "the picture has 8 x 8 pixels, but the image has 9 x 8"),
        (
            ["from:image2d[rg16]=@in.png", to, s],
            "a picture has 8 bits for each channel, which is not the format rg16",
        ),
        ([from, "to:image1d[r8,64,64kb_s]", s], "an image of one dimension is linear"),
        ([from, "to:image2d[rgba8,8x8x8]", s], "is not the size of an image2d; expected WIDTHxHEIGHT"),
        ([from, "to:image2d[rgba88,8x8]", s], "did you mean `rgba8`?"),
        ([from, to, "s:sampler[closest]"], "says nothing about a sampler"),
    ] {
        let message = run(2, &args);
        assert!(message.contains(part), "{message}");
    }
    let message = said(&folder, 2, &[&RUN[..], &[from, to]].concat());
    assert!(message.contains("s:sampler[nearest,clamp_to_edge]"), "{message}");
    folder.file("not.png", "text");
    let message = run(3, &["from:image2d=@not.png", to, s]);
    assert!(message.contains("cannot read `not.png`"), "{message}");
}

/// A resource that the kernel makes itself is checked field by field.
#[test]
fn a_bad_descriptor_is_a_fault_that_names_the_field() {
    let folder = folder("images_fault");
    let source = SOURCE.replace(
        "v_mov_b32 v2, v1",
        "s_waitcnt lgkmcnt(0)\n\ts_or_b32 s11, s11, 0x1900000\n\tv_mov_b32 v2, v1",
    );
    folder.file("k.s", source);
    let args = ["from:image2d=@in.png", "to:image2d[rgba8,8x8]", "s:sampler"];
    let message = said(&folder, 4, &[&RUN[..], &args].concat());
    let line = "image resource with SW_MODE 25 (bits 120:116): the swizzle mode is not implemented";
    assert!(message.contains(line), "{message}");
    assert!(message.contains("image_sample_lz"), "{message}");
}

/// Reads the texel (x, y) of an image and stores it in another image: one work-item a texel. The
/// column of the load has an offset.
const COPY: &str = "
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dword s2, s[0:1], 0x10
	s_waitcnt lgkmcnt(0)
	s_load_dwordx8 s[8:15], s[4:5], 0x0
	s_load_dwordx8 s[16:23], s[6:7], 0x0
	v_mov_b32 v2, v0
	v_mov_b32 v3, v1
	v_add_u32 v0, s2, v0
	s_waitcnt lgkmcnt(0)
	image_load v[4:7], v[0:1], s[8:15] dmask:0xf unorm
	s_waitcnt vmcnt(0)
	image_store v[4:7], v[2:3], s[16:23] dmask:0xf unorm
	s_endpgm
";

/// [`COPY`] in the frame of [`SOURCE`].
pub(crate) fn copying(name: &str) -> Folder {
    let folder = folder(name);
    let (head, rest) = SOURCE.split_once("k:\n").unwrap();
    let (_, tail) = rest.split_once("s_endpgm\n").unwrap();
    let argument = "{.name: offset, .type_name: int, .offset: 16, .size: 4, .value_kind: by_value}";
    let tail: String =
        tail.lines()
            .map(|line| {
                if line.contains("sampler_t") { format!("      - {argument}\n") } else { format!("{line}\n") }
            })
            .collect();
    folder.file("k.s", format!("{head}k:\n{COPY}{tail}"));
    folder
}

/// Loads, stores and atomics outside an image are faults under `--strict`, on both engines.
#[test]
fn strict_runs_stay_inside_images() {
    let folder = copying("images_strict");
    let run = |code, args: &[&str]| {
        let interpreted = said(&folder, code, &[&RUN[..], args].concat());
        let checked = said(&folder, code, &[&RUN[..], args, &["--engine", "reference"]].concat());
        assert_eq!(interpreted, checked);
        interpreted
    };
    let (from, to) = ("from:image2d=@in.png", "to:image2d[rgba8,8x8]");
    let mut all = String::new();
    for (name, args) in [
        ("load_right", [from, to, "offset:i32=3"]),
        ("load_left", [from, to, "offset:i32=-2"]),
        ("load_of_floats", ["from:image2d[r32f,4x8]", to, "offset:i32=-4"]),
        ("store_below", [from, "to:image2d[rgba8ui,8x5,4kb_s]", "offset:i32=0"]),
    ] {
        // Without the check, nothing is said.
        let silent = run(0, &args);
        assert!(!silent.contains("warning") && !silent.contains("error"), "{silent}");
        assert_eq!(silent, run(0, &[&args[..], &["--strict=lds,buffers"]].concat()));
        let report = run(4, &[&args[..], &["--strict"]].concat());
        assert_eq!(report, run(4, &[&args[..], &["--strict=images"]].concat()));
        all += &format!("# {name}\n{}\n\n", report.trim_end());
    }
    insta::assert_snapshot!("strict_images", all);
    // Inside, strict runs are the same; so are samples outside.
    let inside = ["--strict", "--expect", "to[1,2]=[10,20,245,255]"];
    let inside = expect(&folder, 0, &[&RUN[..], &[from, to, "offset=0"], &inside].concat());
    assert_eq!(out(&inside), "to[1,2]: 4 elements as expected\n");
    folder.file("k.s", SOURCE);
    run(0, &["from:image2d[r8,2x2]", to, "s:sampler[clamp]", "--strict"]);
}

/// The statistics count what is outside, in lanes, as the report as data does.
#[test]
fn texels_outside_are_counted() {
    let folder = copying("images_counted");
    let args = ["from:image2d=@in.png", "to:image2d[rgba8,8x5]", "offset=3"];
    let json = ["--stats", "--message-format", "json"];
    for engine in ["interpreter", "reference"] {
        let line = [&RUN[..], &args, &json, &["--engine", engine]].concat();
        let text = crate::common::err(&expect(&folder, 0, &line));
        let messages = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let stats = messages.into_iter().find(|message| message["kind"] == "stats").unwrap();
        // Three columns of eight rows are loaded outside, and three rows of eight columns stored.
        let counts = serde_json::json!({ "lds": 0, "lds_granule": 0, "buffer": 0, "image": 48 });
        assert_eq!(stats["out_of_range"], counts, "{engine}");
    }
    let text = said(&folder, 0, &[&RUN[..], &args, &["--stats"]].concat());
    assert!(text.contains("\nout of range  48 accesses outside an image\n"), "{text}");
    let line = [&RUN[..], &args, &["--strict", "--message-format", "json"]].concat();
    let text = crate::common::err(&expect(&folder, 4, &line));
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let fault = &last["fault"];
    let image = serde_json::json!({
        "coordinate": "x",
        "end": 8,
        "address": fault["memory"]["holds"]["address"],
        "level": 0,
        "size": [8, 8, 1],
        "format": "8_8_8_8.unorm",
    });
    assert_eq!((&fault["space"], &fault["image"]), (&serde_json::json!("image"), &image));
    assert_eq!(fault["lanes"][1], serde_json::json!({ "lane": 6, "coordinate": 9 }));
    assert_eq!(fault["lanes"].as_array().unwrap().len(), 24);
}

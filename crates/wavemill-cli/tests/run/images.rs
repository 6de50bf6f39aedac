//! Images and samplers as arguments: from pictures to kernels in assembly and back.

use crate::common::{Folder, err, expect, out, repository, said};

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

/// Border colours that the descriptor does not have itself: images of floats and of integers.
#[test]
fn borders_have_any_colour() {
    let folder = folder("images_border");
    for (format, words, wanted) in [
        ("r32f", "border=-7.5:0:0:1", "[1,3,-7.5,2,4,-7.5]"),
        ("r32i", "border_int=-7:1:1:1", "[1,3,-7,2,4,-7]"),
        ("r32ui", "border_int=4000000000:1:1:1", "[1,3,4000000000,2,4,4000000000]"),
    ] {
        let from = format!("from:image2d[{format},2x2]=[1,2,3,4]");
        let to = format!("to:image2d[{format},8x8]");
        let sampler = format!("s:sampler[clamp,{words}]");
        let args = [from.as_str(), &to, &sampler, "--expect", &format!("to[:2,:3]={wanted}")];
        let output = expect(&folder, 0, &[&RUN[..], &args].concat());
        assert_eq!(out(&output), "to[:2,:3]: 6 elements as expected\n", "{format}");
    }
}

/// A picture of two pixels.
fn two_pixels(color: png::ColorType, depth: png::BitDepth, numbers: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 2, 1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    encoder.write_header().unwrap().write_image_data(numbers).unwrap();
    file
}

/// Numbers of 16 bits stay, and those of 8 bits are the nearest.
#[test]
fn pictures_of_16_bits_keep_them() {
    let folder = folder("images_16_bits");
    let wide = [0x1234u16, 0x80ff, 0xff7f, 0xff80, 0, 0xffff, 0x0080, 0x0081];
    let wide: Vec<u8> = wide.into_iter().flat_map(u16::to_be_bytes).collect();
    folder.file("wide.png", two_pixels(png::ColorType::Rgba, png::BitDepth::Sixteen, &wide));
    let grey: Vec<u8> = [0x1234u16, 0x80ff].into_iter().flat_map(u16::to_be_bytes).collect();
    folder.file("grey.png", two_pixels(png::ColorType::Grayscale, png::BitDepth::Sixteen, &grey));
    let narrow = [0, 1, 128, 255, 254, 127, 2, 100];
    folder.file("narrow.png", two_pixels(png::ColorType::Rgba, png::BitDepth::Eight, &narrow));
    for (format, file, texels) in [
        // 0x1234 / 257 = 18.13, 0x80ff / 257 = 128.49, 0xff7f / 257 = 254.502.
        ("rgba8", "wide.png", "[18,128,255,255,0,255,0,1]"),
        ("rgba16", "wide.png", "[4660,33023,65407,65408,0,65535,128,129]"),
        ("rgba16ui", "wide.png", "[4660,33023,65407,65408,0,65535,128,129]"),
        ("depth16", "grey.png", "[4660,33023]"),
        ("r16", "grey.png", "[4660,33023]"),
        ("rgba16", "grey.png", "[4660,4660,4660,65535,33023,33023,33023,65535]"),
        ("rgba8", "narrow.png", "[0,1,128,255,254,127,2,100]"),
        // Numbers of 8 bits go from 0 to 1 as well: 257 times as much.
        ("rgba16", "narrow.png", "[0,257,32896,65535,65278,32639,514,25700]"),
        // (2126 * 254 + 7152 * 127 + 722 * 2) / 10000 = 144.98, and for the first pixel 9.96.
        ("r8", "narrow.png", "[10,145]"),
    ] {
        let (from, check) = (format!("from:image2d[{format}]=@{file}"), format!("from={texels}"));
        let args = [from.as_str(), "to:image2d[rgba8,8x8]", "s:sampler", "--expect", &check];
        expect(&folder, 0, &[&RUN[..], &args].concat());
    }
    // 0x1234 / 65535 and 0x80ff / 65535, in f32 and in f16.
    for (format, print) in [
        ("depth32f", "[0.071107045, 0.5038987]"),
        ("r32f", "[0.071107045, 0.5038987]"),
        ("r16f", "[0.07110596, 0.50390625]"),
    ] {
        let from = format!("from:image2d[{format}]=@grey.png");
        let args = [from.as_str(), "to:image2d[rgba8,8x8]", "s:sampler", "--print", "from[0]"];
        let output = expect(&folder, 0, &[&RUN[..], &args].concat());
        assert_eq!(out(&output), format!("from[0] = {print}\n"), "{format}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let folder = folder("images_wrong");
    let run = |code, args: &[&str]| said(&folder, code, &[&RUN[..], args].concat());
    let (from, to, s) = ("from:image2d=@in.png", "to:image2d[rgba8,8x8]", "s:sampler");
    for (args, part) in [
        (
            [from, "to:f32[64]", s],
            "parameter `to` is an image; expected to:image2d[rgba8,64x64]=zeros or =@picture.png",
        ),
        (
            [from, to, "s=1"],
            "parameter `s` is a sampler; expected s:sampler[linear,clamp_to_edge,normalized]",
        ),
        (
            [from, "to:image2d[rgba8]", s],
            "the size of the image is missing; expected to:image2d[rgba8,64x64]=...",
        ),
        (
            ["from:image2d[rg16]=@in.png", to, s],
            "a picture does not fit the format rg16; expected one of rgba8, ",
        ),
        ([from, "to:image1d[r8,64,64kb_s]", s], "an image of one dimension is linear"),
        ([from, "to:image2d[rgba8,8x8x8]", s], "`8x8x8` is not a size of image2d; expected WIDTHxHEIGHT"),
        (
            [from, "to:image3d[rgba8,8x8x8]", s],
            "parameter `to` is `image2d_t` in the source, but the argument is image3d; \
             expected to:image2d[rgba8,64x64]=zeros",
        ),
        (
            [from, "to:image2d[rgba8,8x8,samples=4]", s],
            "`image2d_t` in the source, but the argument is image2d with several samples",
        ),
        (
            [from, "to:image2d[rgba8,8x8,mips=5]", s],
            "it has 5 mip levels; expected 1 to 4, because level 3 of 8 x 8 has one texel",
        ),
        ([from, "to:image2d[rgba8,8x8,samples=4,linear]", s], "an image with several samples is not linear"),
        ([from, "to:image2d[rgba88,8x8]", s], "did you mean `rgba8`?"),
        ([from, to, "s:sampler[closest]"], "says nothing about a sampler"),
        ([from, to, "s:sampler[linear,nearest]"], "`nearest`: the sampler already has a filter"),
        ([from, to, "s:sampler[clamp,repeat]"], "`repeat`: the sampler already has a mode of addresses"),
    ] {
        let message = run(2, &args);
        assert!(message.contains(part), "{message}");
    }
    let message = said(&folder, 2, &[&RUN[..], &[from, to]].concat());
    assert!(message.contains("s:sampler[nearest,clamp_to_edge]"), "{message}");
    // A file of the wrong size is an input that does not fit, as a .npy file is.
    let message = run(3, &["from:image2d[rgba8,9x8]=@in.png", to, s]);
    assert!(message.contains("the picture has 8 x 8 pixels, but the image has 9 x 8"), "{message}");
    folder.file("not.png", "text");
    let message = run(3, &["from:image2d=@not.png", to, s]);
    assert!(message.contains("cannot read `not.png`"), "{message}");
}

/// What `--init` writes for a kernel without buffers runs, and prints the last image.
#[test]
fn a_launch_file_of_images_runs() {
    let folder = folder("images_init");
    expect(&folder, 0, &["run", "k.s", "--init=launch.toml"]);
    let output = expect(&folder, 0, &["run", "launch.toml"]);
    assert!(out(&output).starts_with("to[0,:4] =\n"), "{}", out(&output));
}

/// OpenCL defines repetition for coordinates from 0 to 1.
#[test]
fn undefined_samplers_are_noted() {
    let folder = folder("images_samplers");
    for (sampler, mode) in [
        ("s:sampler[repeat]", Some("repeat")),
        ("s:sampler[linear,mirrored_repeat]", Some("mirrored_repeat")),
        ("s:sampler[repeat,normalized]", None),
        ("s:sampler[clamp]", None),
    ] {
        let args = ["from:image2d=@in.png", "to:image2d[rgba8,8x8]", sampler];
        let message = said(&folder, 0, &[&RUN[..], &args].concat());
        let note =
            mode.map(|mode| format!("note: sampler `s` has `{mode}` without `normalized`, which OpenCL"));
        assert_eq!(message.contains("note: sampler"), mode.is_some(), "{message}");
        assert!(note.is_none_or(|note| message.contains(&note)), "{message}");
    }
}

/// A target without image instructions: a note about mip levels would be beside the point.
#[test]
fn targets_without_images_are_said() {
    let folder = folder("images_gfx942");
    let (head, rest) = SOURCE.split_once("k:\n").unwrap();
    let (_, tail) = rest.split_once("s_endpgm\n").unwrap();
    let tail = tail.replace("\t.end_amdhsa", "\t\t.amdhsa_accum_offset 8\n\t.end_amdhsa");
    folder.file("k.s", format!("{head}k:\n\ts_endpgm\n{tail}").replace("gfx906", "gfx942"));
    let args = ["from:image2d[rgba8,8x8,mips=2]", "to:image2d[rgba8,8x8]", "s:sampler"];
    let message = said(&folder, 2, &[&RUN[..], &args].concat());
    assert!(
        message.contains("error: argument `from`: cannot create the image: gfx942 has no image instructions"),
        "{message}"
    );
    assert!(!message.contains("note:"), "{message}");
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

/// A folder with the kernels of a source of `kernels/images`.
fn compiled(name: &str, target: &str, object: &str) -> Folder {
    let folder = Folder::new(name);
    let path = repository().join("kernels/bin").join(target).join("images").join(format!("{object}.co"));
    folder.file("k.co", std::fs::read(path).unwrap());
    folder
}

/// A launch of a kernel with one workgroup.
fn launch<'a>(kernel: &'a str, items: &'a str) -> [&'a str; 8] {
    ["run", "k.co", "--kernel", kernel, "--grid", "1", "--block", items]
}

/// Reads a 4 x 2 image at levels 0, 1 and 2, in the middle of its left half.
const LEVELS: [&str; 4] = [
    "smp:sampler[normalized]",
    "at:f32[3,4]=[0.3,0.3,0,0,0.3,0.3,0,0,0.3,0.3,0,0]",
    "level=[0,1,2]",
    "out:f32[3,4]",
];

#[test]
fn mip_levels_are_given_averaged_and_printed() {
    let folder = compiled("images_mips", "gfx906", "mips");
    let run = |image: &str, args: &[&str]| {
        expect(&folder, 0, &[&launch("f_2d", "3")[..], &[image][..], &LEVELS, args].concat())
    };
    // The numbers of all levels in order, level 0 first: 8, 2 and 1.
    for mode in ["linear", "4kb_s", "64kb_d"] {
        let image = format!("image:image2d[r32f,4x2,mips=3,{mode}]=iota(10)");
        run(&image, &["--expect", "out[:,0]=[11,18,20]", "--expect", "image.mip1=[18,19]"]);
    }
    // Those of level 0; the others are means of 2 x 2 and of 2 x 1.
    let image = "image:image2d[r32f,4x2,mips=3]=[0,1,2,3,4,5,6,7]";
    let output =
        run(image, &["--expect", "out[:,0]=[1,2.5,3.5]", "--print", "image.mip1", "--print", "image[1,2]"]);
    assert!(
        out(&output).starts_with("image.mip1 =\n  [0,0]  2.5  4.5\nimage[1,2] = 6.0\n"),
        "{}",
        out(&output)
    );
    // A raw file of level 0, and one of all levels.
    let bytes = |n: u8| (0..n).flat_map(|x| f32::from(x).to_le_bytes()).collect::<Vec<u8>>();
    folder.file("first.bin", bytes(8));
    folder.file("all.bin", bytes(11));
    run("image:image2d[r32f,4x2,mips=3]=@first.bin", &["--expect", "image.mip2=3.5"]);
    run("image:image2d[r32f,4x2,mips=3]=@all.bin", &["--expect", "image.mip2=10"]);
    // A level goes into a file, and a picture of it is a picture.
    let args = ["--out", "image.mip1=level.npy", "--out", "image=level0.bin"];
    run("image:image2d[r32f,4x2,mips=3]=iota", &args);
    assert_eq!(std::fs::read(folder.0.join("level0.bin")).unwrap(), bytes(8));
    let npy = std::fs::read(folder.0.join("level.npy")).unwrap();
    assert!(String::from_utf8_lossy(&npy).contains("(1, 2)"), "rows, then texels");
    assert!(npy.ends_with(&[8f32, 9.0].map(f32::to_le_bytes).concat()));
}

#[test]
fn a_picture_is_level_0() {
    let folder = self::folder("images_mips_picture");
    let path = repository().join("kernels/bin/gfx906/images/mips.co");
    folder.file("k.co", std::fs::read(path).unwrap());
    // The picture has the pixels [n, 2 n, 255 - n] for n = 0, 1, ... in rows of 8. The first texel
    // of level 1 is the mean of n = 0, 1, 8, 9: 4.5, 9, 250.5, 255. Direct3D's conversion rounds
    // ties up.
    let args =
        ["image:image2d[rgba8,mips=4]=@in.png", "--print", "image.mip1[0,0]", "--out", "image.mip1=half.png"];
    let output = expect(&folder, 0, &[&launch("f_2d", "3")[..], &args[..1], &LEVELS, &args[1..]].concat());
    assert_eq!(out(&output), "image.mip1[0,0] = [5, 9, 251, 255]\n");
    let written = std::fs::File::open(folder.0.join("half.png")).unwrap();
    let reader = png::Decoder::new(std::io::BufReader::new(written)).read_info().unwrap();
    assert_eq!((reader.info().width, reader.info().height), (4, 4));
}

#[test]
fn a_kernel_writes_one_level() {
    let folder = compiled("images_mips_written", "gfx906", "mips");
    let args =
        ["image:image2d[rgba8ui,4x4,mips=3]", "at:i32[2,4]=[1,0,0,0,0,1,0,0]", "values:u32[2,4]=iota(1)"];
    let checks = ["level=1", "--expect", "image=0", "--expect", "image.mip2=0"];
    let all = "image.mip1=[0,0,0,0,1,2,3,4,5,6,7,8,0,0,0,0]";
    expect(&folder, 0, &[&launch("write_ui_2d", "2")[..], &args[..], &checks, &["--expect", all]].concat());
}

#[test]
fn wrong_levels_are_said() {
    let folder = compiled("images_mips_wrong", "gfx906", "mips");
    folder.file("three.bin", [0; 12]);
    folder.file("turned.npy", {
        let mut file = b"\x93NUMPY\x01\0\x46\0".to_vec();
        file.extend(
            format!("{:<69}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 2), }").bytes(),
        );
        file.extend([0; 32]);
        file
    });
    let (all, first) = ("Contents are the 11 numbers of all mip levels", "or the 8 of the first level");
    for (code, image, print, parts) in [
        (
            2,
            "image:image2d[r32f,4x2,mips=3]=[1,2,3]",
            "image",
            ["3 numbers given for 11 elements of f32", all],
        ),
        (
            3,
            "image:image2d[r32f,4x2,mips=3]=@three.bin",
            "image",
            ["`three.bin` contains 3 elements of f32", first],
        ),
        (
            2,
            "image:image2d[r32f,4x2,mips=3]",
            "image.mip3",
            ["no mip level 3 of `image`, which has 3 levels", ""],
        ),
        (
            2,
            "image:image2d[r32f,4x2,mips=3]",
            "imag",
            ["the buffers are image, image.mip1, image.mip2, at", ""],
        ),
        (2, "image:image2d[r32f,4x2]", "image.mip1", ["no mip level 1 of `image`, which has 1 level", ""]),
        (
            3,
            "image:image2d[r32f,4x2]=@turned.npy",
            "image",
            ["`turned.npy` has the shape 4x2, but the image has 2x4", "Rows come first"],
        ),
    ] {
        let args = [&launch("f_2d", "3")[..], &[image][..], &LEVELS, &["--print", print]].concat();
        let message = said(&folder, code, &args);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

#[test]
fn samples_of_a_texel_are_next_to_each_other() {
    for target in ["gfx906", "gfx90a"] {
        let folder = compiled(&format!("images_samples_{target}"), target, "samples");
        let line = ["run", "k.co", "--kernel", "resolve", "--global-size", "3x2", "--block", "3x2"];
        for mode in ["", ",4kb_s", ",64kb_d"] {
            let from = format!("from:image2d[r32f,3x2,samples=4{mode}]=iota");
            let args = [from.as_str(), "to:image2d[r32f,3x2]", "samples=4", "--print", "from[1,2]"];
            // The mean of 4 n, ..., 4 n + 3.
            let output =
                expect(&folder, 0, &[&line[..], &args[..], &["--expect", "to=iota(1.5,4)"]].concat());
            assert!(out(&output).starts_with("from[1,2] = [20.0, 21.0, 22.0, 23.0]\n"), "{}", out(&output));
        }
        let message = said(
            &folder,
            2,
            &[&line[..], &["from:image2d[r32f,3x2]", "to:image2d[r32f,3x2]", "samples=4"][..]].concat(),
        );
        let expected = "expected from:image2d[rgba8,64x64,samples=4]=zeros";
        assert!(message.contains(expected), "{message}");
        folder.file("p.png", std::fs::read(self::folder("images_samples_png").0.join("in.png")).unwrap());
        let args = ["from:image2d[samples=4]=@p.png", "to:image2d[r32f,8x8]", "samples=4"];
        let message = said(&folder, 2, &[&line[..], &args[..]].concat());
        assert!(message.contains("a picture has one sample a texel, but the image has 4"), "{message}");
    }
}

#[test]
fn a_buffer_of_texels_is_an_argument() {
    for target in ["gfx906", "gfx90a"] {
        let folder = compiled(&format!("images_buffer_{target}"), target, "buffer");
        let args =
            ["image:image1d_buffer[rg8,5]=[0,255,51,102,0,0,255,255,153,204]", "at=[3,1]", "out:f32[2,4]"];
        let check = ["--expect", "out=[1,1,0,1,0.2,0.4,0,1]"];
        expect(&folder, 0, &[&launch("read_f", "2")[..], &args[..], &check].concat());
        let message =
            said(&folder, 2, &[&launch("read_f", "2")[..], &["image:image1d[rg8,5]"], &args[1..]].concat());
        let expected = "expected image:image1d_buffer[rgba8,1024]=zeros";
        assert!(message.contains(expected), "{message}");
    }
}

/// gfx90a lacks the instructions, so ROCm's libraries compile such reads to nothing.
#[test]
fn levels_without_instructions_are_noted() {
    for (target, image, notes) in [("gfx906", "mips=2", 0), ("gfx90a", "mips=2", 1), ("gfx90a", "mips=1", 0)]
    {
        let folder = compiled(&format!("images_note_{target}_{}", notes), target, "read");
        let image = format!("image:image2d[r32f,4x4,{image}]");
        let args = [image.as_str(), "smp:sampler", "at:f32[1,4]", "out:f32[1,4]", "how=2"];
        let output = expect(&folder, 0, &[&launch("f_2d", "1")[..], &args[..]].concat());
        let note =
            "note: image `image` has mip levels, but gfx90a has no instruction that samples at a level";
        assert_eq!(err(&output).matches(note).count(), notes, "{}", err(&output));
    }
}

#[test]
fn depths_are_an_image() {
    let folder = compiled("images_depth", "gfx90a", "read");
    let args =
        ["image:image2d[depth16,2x2]=[0,65535,13107,39321]", "smp:sampler[linear]", "at:f32[1,4]=[1,1,0,0]"];
    let check = ["out:f32[1]", "how=0", "--expect", "out=0.45", "--tolerance", "abs=1e-6"];
    expect(&folder, 0, &[&launch("f_2d_depth", "1")[..], &args[..], &check].concat());
}

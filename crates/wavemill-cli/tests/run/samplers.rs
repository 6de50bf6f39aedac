//! Samplers as arguments: every word of them changes what samples are, on Cayman and on gfx906.

use crate::common::{Folder, expect, out, said};

/// A program of Cayman with one fetch to r8, which it exports.
fn program_with(fetch: &str) -> String {
    format!(
        "    .program p
    .gprs 9
    tc f
    export_done param0, r8.xyzw
    end
f:  {fetch}
"
    )
}

/// A program of Cayman with one fetch through sampler 3, of texture 20, to r8.
fn program(fetch: &str) -> String {
    program_with(&format!("{fetch} res:20 smp:3"))
}

/// The numbers of a printed array. Rows have their index before them.
fn numbers(text: &str) -> Vec<f32> {
    let text = text.split_once('=').expect("an array").1;
    let is_between = |c: char| matches!(c, '[' | ']' | ',') || c.is_whitespace();
    let row = |line: &str| match line.trim_start().split_once(']') {
        Some((index, rest)) if index.starts_with('[') && !rest.is_empty() => rest.to_owned(),
        _ => line.to_owned(),
    };
    let rows: Vec<String> = text.lines().map(row).collect();
    rows.iter().flat_map(|row| row.split(is_between)).filter_map(|part| part.parse().ok()).collect()
}

/// Samples an image at points, the fourth component of which is a level or a reference. Gives a
/// channel of all results.
fn sampled(
    folder: &Folder,
    fetch: &str,
    [image, sampler]: [&str; 2],
    points: &[[f32; 4]],
    channel: &str,
) -> Vec<f32> {
    let all = arguments(folder, fetch, [image, sampler], points, channel);
    let line: Vec<&str> = all.iter().map(String::as_str).collect();
    numbers(&out(&expect(folder, 0, &line)))
}

fn arguments(
    folder: &Folder,
    fetch: &str,
    [image, sampler]: [&str; 2],
    points: &[[f32; 4]],
    channel: &str,
) -> Vec<String> {
    folder.file("p.s", program(fetch));
    let count = points.len();
    let mut all: Vec<String> =
        ["run", "p.s", "--target", "cayman", "--grid", "1"].map(str::to_owned).to_vec();
    all.extend([format!("--block={count}"), format!("im:{image}"), format!("s:sampler[{sampler}]")]);
    all.push(format!("o:f32[{count},4]"));
    for location in ["tex20=im", "smp3=s", "param0=o"] {
        all.push(format!("--bind={location}"));
    }
    for (n, letter) in ["x", "y", "z", "w"].into_iter().enumerate() {
        let list: Vec<String> = points.iter().map(|point| format!("{:?}", point[n])).collect();
        all.push(format!("{letter}:f32[{count}]=[{}]", list.join(",")));
        all.push(format!("--bind=r4.{letter}={letter}"));
    }
    all.push(format!("--print=o[:,{channel}]"));
    all
}

/// The comparisons, and whether a reference below, equal to and above a texel passes (HD 6900 ISA
/// 8.3, SAMPLE_C: a passing comparison is 1.0).
const COMPARISONS: [(&str, [bool; 3]); 8] = [
    ("compare_never", [false, false, false]),
    ("compare_less", [true, false, false]),
    ("compare_equal", [false, true, false]),
    ("compare_less_equal", [true, true, false]),
    ("compare_greater", [false, false, true]),
    ("compare_not_equal", [true, false, true]),
    ("compare_greater_equal", [false, true, true]),
    ("compare_always", [true, true, true]),
];

const DEPTHS: [f32; 4] = [0.25, 0.5, 0.625, 0.75];

/// Points in the middle of the texels of a row, each with references below, equal to and above its
/// depth.
fn references() -> Vec<[f32; 4]> {
    let of = |n: usize| [-0.125, 0.0, 0.125].map(|more| [(n as f32 + 0.5) / 4.0, 0.5, 0.0, DEPTHS[n] + more]);
    (0..4).flat_map(of).collect()
}

#[test]
fn shadows_compare_with_every_function() {
    let folder = Folder::new("samplers_compare");
    let image = "image2d[depth32f,4x1]=[0.25,0.5,0.625,0.75]";
    for (word, passes) in COMPARISONS {
        let wanted: Vec<f32> = passes.map(|passes| f32::from(u8::from(passes))).repeat(4);
        let sampler = format!("normalized,{word}");
        for fetch in ["sample_c_lz r8.xyzw, r4.xy0w", "gather4_c r8.xyzw, r4.xy0w"] {
            // A gather takes four texels: beside each other, the same row twice.
            let is_gather = fetch.starts_with("gather");
            let found = sampled(&folder, &format!("{fetch} ct:nnnn"), [image, &sampler], &references(), "0");
            if !is_gather {
                assert_eq!(found, wanted, "{word}");
                continue;
            }
            assert!(found.iter().all(|one| matches!(*one, 0.0 | 1.0)), "{word}: {found:?}");
            let is_constant = matches!(word, "compare_never" | "compare_always");
            assert_eq!(is_constant, found.iter().all(|one| *one == found[0]), "{word}: {found:?}");
        }
    }
}

/// Blended comparisons are the part of the texels that pass.
#[test]
fn shadows_are_blended() {
    let folder = Folder::new("samplers_blend");
    let image = "image2d[depth32f,4x1]=[0.25,0.5,0.625,0.75]";
    let points = [[0.25, 0.5, 0.0, 0.375], [0.4375, 0.5, 0.0, 0.5625]];
    let found = sampled(
        &folder,
        "sample_c_lz r8.xyzw, r4.xy0w ct:nnnn",
        [image, "linear,normalized,compare_less"],
        &points,
        "0",
    );
    // Halfway between texels 0 and 1, of which the second passes; three quarters of texel 1, and one
    // of texel 2, which passes.
    assert_eq!(found, [0.5, 0.25]);
}

/// Without a comparison, the launch says what to add.
#[test]
fn a_sampler_without_a_comparison_is_refused() {
    let folder = Folder::new("samplers_without");
    let image = "image2d[depth32f,4x1]=[0.25,0.5,0.625,0.75]";
    let line = |fetch: &str, sampler: &str, code: i32| {
        let all = arguments(&folder, fetch, [image, sampler], &references(), "0");
        said(&folder, code, &all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let message = line("sample_c_lz r8.xyzw, r4.xy0w ct:nnnn", "normalized", 2);
    let wanted = "smp3 is a sampler without a comparison, and `sample_c_lz` compares through it; add a comparison, \
                  such as sampler[compare_less_equal]";
    assert!(message.contains(wanted), "{message}");
    // Other samples need none, and a comparison that never holds is one.
    line("sample_lz r8.xyzw, r4.xy0w ct:nnnn", "normalized", 0);
    line("sample_c_lz r8.xyzw, r4.xy0w ct:nnnn", "normalized,compare_never", 0);
}

#[test]
fn borders_have_colours() {
    let folder = Folder::new("samplers_border");
    let points = [[-0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.5, 2.0, 0.0, 0.0]];
    for (word, colour) in [
        ("clamp", [0.0; 4]),
        ("clamp,transparent_black", [0.0; 4]),
        ("opaque_black,clamp", [0.0, 0.0, 0.0, 1.0]),
        ("clamp,opaque_white", [1.0; 4]),
        ("clamp,border=1:0.5:-2:0.25", [1.0, 0.5, -2.0, 0.25]),
        // Integers are the bits of channels: those of 1.0 and 2.0.
        ("clamp,border_int=1065353216:0:0:1073741824", [1.0, 0.0, 0.0, 2.0]),
    ] {
        let found = sampled(
            &folder,
            "sample_lz r8.xyzw, r4.xy00 ct:nnnn",
            ["image2d[rgba32f,1x1]=[5,6,7,8]", &format!("normalized,{word}")],
            &points,
            ":",
        );
        assert_eq!(found, [colour, [5.0, 6.0, 7.0, 8.0], colour].concat(), "{word}");
    }
}

/// Texels in a row of four, of which texel n is n + 1. Each mode has its own texels outside.
#[test]
fn modes_of_addresses() {
    let folder = Folder::new("samplers_modes");
    let at = |texel: f32| [(texel + 0.5) / 4.0, 0.5, 0.0, 0.0];
    let points = [-6.0, -2.0, -1.0, 0.0, 3.0, 4.0, 5.0, 9.0].map(at);
    for (word, wanted) in [
        ("clamp_to_edge", [1.0, 1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0]),
        ("clamp", [0.0, 0.0, 0.0, 1.0, 4.0, 0.0, 0.0, 0.0]),
        ("repeat", [3.0, 3.0, 4.0, 1.0, 4.0, 1.0, 2.0, 2.0]),
        ("mirrored_repeat", [3.0, 2.0, 1.0, 1.0, 4.0, 4.0, 3.0, 2.0]),
        ("mirror_clamp_to_edge", [4.0, 2.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0]),
        ("mirror_clamp", [0.0, 2.0, 1.0, 1.0, 4.0, 0.0, 0.0, 0.0]),
    ] {
        let image = "image2d[r32f,4x1]=[1,2,3,4]";
        for sampler in [format!("normalized,{word}"), format!("normalized,x={word}")] {
            let fetch = "sample_lz r8.xyzw, r4.xy00 ct:nnnn";
            assert_eq!(sampled(&folder, fetch, [image, &sampler], &points, "0"), wanted, "{sampler}");
        }
    }
    // Blended with the border from the edge on: half of the last texel and half of the border.
    for (word, wanted) in [("clamp_half_border", [0.5, 2.0]), ("mirror_clamp_half_border", [2.0, 2.0])] {
        let found = sampled(
            &folder,
            "sample_lz r8.xyzw, r4.xy00 ct:nnnn",
            ["image2d[r32f,4x1]=[1,2,3,4]", &format!("normalized,linear,y=clamp_to_edge,x={word}")],
            &[[-3.0, 0.5, 0.0, 0.0], [3.0, 0.5, 0.0, 0.0]],
            "0",
        );
        assert_eq!(found, wanted, "{word}");
    }
}

/// Each axis has its own mode. Texel (x, y, z) is x + 4 y + 16 z + 1.
#[test]
fn axes_have_their_own_modes() {
    let folder = Folder::new("samplers_axes");
    let point = [[1.125, -0.5, 1.75, 0.0], [-0.375, 1.5, -0.25, 0.0]];
    let texel = |x: u32, y: u32, z: u32| (x + 4 * y + 16 * z + 1) as f32;
    for (words, wanted) in [
        ("x=repeat,y=clamp_to_edge,z=mirrored_repeat", [texel(0, 0, 0), texel(2, 3, 0)]),
        ("repeat,y=clamp", [0.0, 0.0]),
        ("z=clamp_to_edge,repeat", [texel(0, 2, 1), texel(2, 2, 0)]),
        ("clamp_to_edge,x=mirrored_repeat", [texel(3, 0, 1), texel(1, 3, 0)]),
    ] {
        let found = sampled(
            &folder,
            "sample_lz r8.xyzw, r4.xyz0 ct:nnnn",
            ["image3d[r32f,4x4x2]=iota(1)", &format!("normalized,{words}")],
            &point,
            "0",
        );
        assert_eq!(found, wanted, "{words}");
    }
}

/// Levels of 4, 2 and 1 texels, which are 1, 2 and 3. A quad is one texel wide: its level of detail
/// is 0.
#[test]
fn levels_are_limited_and_moved() {
    let folder = Folder::new("samplers_levels");
    let mut levels = vec!["1"; 16];
    levels.extend(["2"; 4]);
    levels.push("3");
    let image = format!("image2d[r32f,4x4,mips=3]=[{}]", levels.join(","));
    let quad = [[0.125, 0.125], [0.375, 0.125], [0.125, 0.375], [0.375, 0.375]];
    for (words, wanted) in [
        ("mip_linear", 1.0),
        ("min_lod=1", 2.0),
        ("mip_linear,min_lod=1.5", 2.5),
        ("lod_bias=1", 2.0),
        ("mip_linear,lod_bias=0.25", 1.25),
        ("lod_bias=5", 3.0),
        ("lod_bias=5,max_lod=1", 2.0),
        ("lod_bias=5,mip_none", 1.0),
        ("lod_bias=-3,mip_linear,min_lod=0.5", 1.5),
    ] {
        let points = quad.map(|[x, y]| [x, y, 0.0, 0.0]);
        let fetch = "sample r8.xyzw, r4.xy00 ct:nnnn";
        let sampler = format!("normalized,{words}");
        assert_eq!(sampled(&folder, fetch, [&image, &sampler], &points, "0"), [wanted; 4], "{words}");
    }
}

/// A quad of an eighth of a texel is magnified, one of two texels is minified.
#[test]
fn filters_where_images_are_magnified_and_minified() {
    let folder = Folder::new("samplers_filters");
    // A quarter of the way from the middle of texel 4 to that of texel 5.
    let first = 4.75;
    for (words, is_blended) in [
        ("linear", [true, true]),
        ("nearest", [false, false]),
        ("mag_linear", [true, false]),
        ("min_linear", [false, true]),
        ("linear,mag_nearest", [false, true]),
        ("min_nearest,linear", [true, false]),
    ] {
        for (step, is_blended) in [0.125, 2.0].into_iter().zip(is_blended) {
            let point = |n: u8| [(first + step * f32::from(n)) / 16.0, 0.5, 0.0, 0.0];
            let found = sampled(
                &folder,
                "sample r8.xyzw, r4.xy00 ct:nnnn",
                ["image2d[r32f,16x1]=iota", &format!("normalized,{words}")],
                &[point(0), point(1), point(0), point(1)],
                "0",
            );
            assert_eq!(found[0], if is_blended { 4.25 } else { 4.0 }, "{words}, step {step}");
        }
    }
}

/// Compares the depth at each texel with a half, and stores the result.
const SHADOW: &str = "
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
	s_load_dwordx4 s[24:27], s[6:7], 0x0
	v_lshlrev_b32 v5, 2, v0
	v_cvt_f32_u32 v2, v0
	v_mov_b32 v1, 0.5
	v_mov_b32 v3, 0
	s_waitcnt lgkmcnt(0)
	image_sample_c_lz v4, v[1:3], s[8:15], s[24:27] dmask:0x1
	s_waitcnt vmcnt(0)
	global_store_dword v5, v4, s[2:3]
	s_endpgm
	.amdhsa_kernel k
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
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
      - {.name: from, .offset: 0, .size: 8, .value_kind: image}
      - {.name: s, .offset: 8, .size: 8, .value_kind: sampler}
      - {.name: to, .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global}
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

#[test]
fn kernels_of_gfx906_compare() {
    let folder = Folder::new("samplers_gfx906");
    folder.file("k.s", SHADOW);
    // Below, equal to and above the reference, which is then above, equal and below.
    let image = "from:image2d[depth32f,3x1]=[0.25,0.5,0.75]";
    let run = |sampler: &str| {
        let sampler = format!("s:sampler[{sampler}]");
        let line =
            ["run", "k.s", "--grid", "1", "--block", "3", image, &sampler, "to:f32[3]", "--print", "to"];
        expect(&folder, 0, &line)
    };
    for (word, [below, equal, above]) in COMPARISONS {
        let wanted = [above, equal, below].map(|passes| f32::from(u8::from(passes)));
        let output = run(word);
        assert_eq!(numbers(&out(&output)), wanted, "{word}");
        assert!(!crate::common::err(&output).contains("note:"), "{word}");
    }
    let text = crate::common::err(&run("nearest"));
    let note = "note: `k` compares samples with a reference, but sampler `s` has no comparison, so the result is 0; \
                add one, such as s:sampler[compare_less_equal]";
    assert!(text.contains(note), "{text}");
}

/// A buffer of texels is bound as a texture, and fetches read it: numbers of textures are those of
/// buffers (HD 6900 ISA 9.3, 9.4).
#[test]
fn buffers_of_texels_are_fetched() {
    let folder = Folder::new("samplers_buffers");
    for number in [5, 20] {
        let source = format!(
            "    .program p
    .gprs 9
    tc f
    export_done param0, r8.xyzw
    end
f:  vfetch r8.x___, r0.x, buf:{number} fmt:32_float
    vfetch r8._xyz, r0.x, buf:{number} use_const_fields
"
        );
        folder.file("p.s", source);
        let bind = format!("tex{number}=b");
        let line = ["run", "p.s", "--target", "cayman", "--grid", "1", "--block", "4"];
        let rest = ["b:image1d_buffer[rg32f,4]=iota", "o:f32[4,4]", "--bind", &bind, "--bind", "param0=o"];
        let found = numbers(&out(&expect(&folder, 0, &[&line[..], &rest, &["--print", "o"]].concat())));
        let wanted: Vec<f32> = (0..4u8).flat_map(|n| [2 * n, 2 * n, 2 * n + 1, 0].map(f32::from)).collect();
        assert_eq!(found, wanted, "tex{number}");
        // It is no texture.
        let load = program(&format!("ld r8.xyzw, r0.x000, res:{number} smp:0 ct:uuuu"));
        folder.file("p.s", load.replace(" res:20 smp:3", ""));
        let message = said(&folder, 4, &[&line[..], &rest].concat());
        assert!(message.contains("image resource with TYPE 0"), "{message}");
    }
}

/// COORD_TYPE of the instruction says what coordinates are; on this chip, samplers do not.
#[test]
fn the_instruction_says_what_coordinates_are() {
    let folder = Folder::new("samplers_coordinates");
    let image = "image2d[r32f,8x1]=iota(10)";
    for sampler in ["nearest", "nearest,unnormalized", "nearest,normalized"] {
        let sample = |fetch, at| sampled(&folder, fetch, [image, sampler], &[[at, 0.0, 0.0, 0.0]], "0")[0];
        assert_eq!(sample("sample_lz r8.xyzw, r4.xyzw ct:nnnn", 0.5), 14.0, "{sampler}");
        assert_eq!(sample("sample_lz r8.xyzw, r4.xyzw ct:uuuu", 2.5), 12.0, "{sampler}");
    }
}

/// Buffers and textures share their numbers, and a fetch from one does not find the other.
#[test]
fn fetches_find_what_they_need() {
    let folder = Folder::new("samplers_kinds");
    for number in [3, 30] {
        let run = |fetch: &str, argument: &str, location: &str| {
            folder.file("p.s", program_with(fetch));
            let bind = format!("{location}{number}=b");
            let line = ["run", "p.s", "--target", "cayman", "--grid", "1", "--block", "4", argument];
            let rest = ["o:f32[4,4]", "--bind", &bind, "--bind", "param0=o"];
            said(&folder, 2, &[&line[..], &rest].concat())
        };
        let message =
            run(&format!("vfetch r8.xyzw, r0.x, buf:{number} fmt:32"), "b:image2d[r32f,4x4]", "tex");
        let wanted = format!("`vfetch` fetches from buffer {number}, but tex{number} is an image");
        assert!(message.contains(&wanted), "{message}");
        let message = run(&format!("ld r8.xyzw, r0.x000, res:{number} smp:0 ct:uuuu"), "b:u32[16]", "buf");
        let wanted = format!("`ld` fetches from texture {number}, but buf{number} is a buffer");
        assert!(message.contains(&wanted), "{message}");
    }
}

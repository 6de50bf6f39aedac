// A textured, lit sphere: a pixel shader for Cayman (Radeon HD 6900).
//
//   wavemill run examples/cayman/sphere.toml
//
// r0.xy are the ids of a pixel in its tile of 16 x 16, r1.xy those of the tile. Parameter 0 is the
// position on the sphere's plane.
        .program sphere
        .stage ps
        alu    position
        alu    normal
        alu    coordinates
        tc     texel
        alu    light
        mem_rat store_typed rat1, r7.xyzw, [r6.x] type:write_ind vpm
        export_done pix0, r7.xyzw vpm
        end

// r6.x = the number of the pixel, r3.xy = I and J, r4.xy = the interpolated position.
position:
        x: lshl_int    r2.x, r1.x, 4
        y: lshl_int    r2.y, r1.y, 4 ;;
        x: add_int     r2.x, pv.x, r0.x
        y: add_int     r2.y, pv.y, r0.y ;;
        x: uint_to_flt r3.x, pv.x
        y: uint_to_flt r3.y, pv.y
        z: lshl_int    r6.z, pv.y, 8 ;;
        x: add_int     r6.x, pv.z, r2.x ;;
        x: add         r3.x, r3.x, 0.5
        y: add         r3.y, r3.y, 0.5 ;;
        x: mul         r3.x, pv.x, 0.00390625
        y: mul         r3.y, pv.y, 0.00390625 ;;
        x: interp_xy   r4.x, r3.y, param0.x bs:210
        y: interp_xy   r4.y, r3.x, param0.x bs:210
        z: interp_xy   _.z, r3.y, param0.x bs:210
        w: interp_xy   _.w, r3.x, param0.x bs:210 ;;
        w: mov         r4.w, 0 ;;

// r5.x = 1 - x x - y y; pixels where it is negative are not on the sphere.
normal:
        x: mul         r5.x, r4.x, r4.x ;;
        x: muladd      r5.x, r4.y, r4.y, pv.x ;;
        x: add         r5.x, 1.0, -pv.x ;;
        x: killgt      _.x, 0, r5.x ;;

// r4.z completes the normal; r5.xy = 0.5 + 0.5 (x, -y) / (1 + z).
coordinates:
        x: sqrt_ieee   _.x, r5.x
        y: sqrt_ieee   _.y, r5.x
        z: sqrt_ieee   r4.z, r5.x ;;
        w: add         r5.w, pv.z, 1.0 ;;
        x: recip_ieee  r5.x, r5.w
        y: recip_ieee  _.y, r5.w
        z: recip_ieee  _.z, r5.w ;;
        z: mul         r5.z, pv.x, 0.5 ;;
        x: muladd      r5.x, r4.x, pv.z, 0.5
        y: muladd      r5.y, -r4.y, pv.z, 0.5 ;;

texel:  sample_lz r8.xyzw, r5.xyzw, res:0 smp:0 ct:nnnn

// Diffuse light from the upper left, a highlight, and the texel.
light:  x: dot4_ieee   r9.x, r4.x, -0.48
        y: dot4_ieee   _.y, r4.y, 0.64
        z: dot4_ieee   _.z, r4.z, 0.6
        w: dot4_ieee   _.w, r4.w, 0 ;;
        x: max         r9.x, pv.x, 0 ;;
        w: muladd      r9.w, pv.x, 0.85, 0.15 ;;
        x: dot4_ieee   r9.x, r4.x, -0.26833
        y: dot4_ieee   _.y, r4.y, 0.35777
        z: dot4_ieee   _.z, r4.z, 0.89443
        w: dot4_ieee   _.w, r4.w, 0 ;;
        x: max         r9.x, pv.x, 0 ;;
        x: mul         r9.x, pv.x, pv.x ;;
        x: mul         r9.x, pv.x, pv.x ;;
        x: mul         r9.x, pv.x, pv.x ;;
        x: mul         r9.x, pv.x, pv.x ;;
        x: mul         r9.x, pv.x, pv.x ;;
        x: mul         r9.x, pv.x, 0.4 ;;
        x: muladd      r7.x, r8.x, r9.w, r9.x
        y: muladd      r7.y, r8.y, r9.w, r9.x
        z: muladd      r7.z, r8.z, r9.w, r9.x
        w: mov         r7.w, 1.0 ;;

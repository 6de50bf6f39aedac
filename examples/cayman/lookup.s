// found[i] = table[index[i]].y on Cayman, with resources at the locations that lookup.toml binds.
        .program lookup
        alu    number
        tc     load
        mem_rat_cacheless store_dword rat1, r4.x, [r5.x] type:write_ind
        end
number: x: mul_uint24 r5.x, r1.x, r6.x ;;
        x: add_int    r5.x, pv.x, r0.x ;;
load:   vfetch r4.y___, r3.x, buf:2 fmt:32_32_32_32_float index:none

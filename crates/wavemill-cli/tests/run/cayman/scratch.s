// Stores the lane's number and its square to scratch memory, and loads the square again.
        .program squares
        alu    values
        mem_wr_scratch r2.xyzw, type:write base:0 size:3 elem:3
        mem_wr_scratch r3.xyzw, type:write base:1 size:3 elem:3
        tc     back
        mem_rat_cacheless store_dword rat0, r4.x, [r0.x] type:write_ind
        end
values: x: mov        r2.x, r0.x ;;
        x: mul_uint24 r3.x, r0.x, r0.x ;;
back:   mem_rd_scratch r4.xyzw, r0.x, fmt:32_32_32_32 int base:1 size:3 elem:3 uncached

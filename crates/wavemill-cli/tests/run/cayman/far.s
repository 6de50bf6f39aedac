        .program far
        mem_rat_cacheless store_dword rat0, r0.x, [r0.x] type:write_ind
        end

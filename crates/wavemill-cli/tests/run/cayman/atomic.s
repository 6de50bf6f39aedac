// Counts the work-items of each parity in the dwords that the first argument points to.
        .program parity
        alu     at, kc0=cb0[0:15]
        mem_rat add rat0, r2.x, [r1.x] type:write_ind
        end
at:     x: and_int r1.x, r0.x, 1
        y: mov r1.y, kc0[2].y ;;
        x: lshl_int r1.x, r1.x, 2 ;;
        x: add_int r1.x, pv.x, r1.y ;;
        x: mov r2.x, 1 ;;

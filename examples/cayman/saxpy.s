// y = a x + y on Cayman (Radeon HD 6900), for the arguments x, y, a and n.
//
//   wavemill run examples/cayman/saxpy.toml
//
// LLVM's convention: r0 are the ids of the work-item, r1 those of the workgroup. Constant buffer 0
// has the size of workgroups in kc0[1].zw and kc0[2].x, then the arguments.
        .program saxpy
        alu_push_before index, kc0=cb0[0:15]
        jump   @done pop:1
        tc     loads
        alu    sum, kc0=cb0[0:15]
        mem_rat_cacheless store_dword rat0, r2.x, [r3.x] type:write_ind
        pop    @done pop:1
done:   end

index:  x: mul_uint24      r1.x, r1.x, kc0[1].z ;;
        x: add_int         r0.x, pv.x, r0.x ;;
        x: pred_setgt_uint _.x, kc0[3].x, r0.x exec
        y: lshl_int        r0.y, r0.x, 2 ;;
        x: add_int         r2.x, r0.y, kc0[2].y
        y: add_int         r2.y, r0.y, kc0[2].z ;;

loads:  vfetch r4.x___, r2.x, buf:1 fmt:32 int index:none
        vfetch r5.x___, r2.y, buf:1 fmt:32 int index:none

sum:    x: lshr_int r3.x, r2.y, 2
        y: mul      r3.y, kc0[2].w, r4.x ;;
        x: add      r2.x, pv.y, r5.x ;;

        .program local
        .lds 64
        alu     store
        end
store:  x: lshl_int r2.x, r0.x, 2
        y: mov r2.y, 7 ;;
        x: lds_write r2.x, r2.y ;;

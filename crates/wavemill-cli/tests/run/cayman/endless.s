        .program forever
        loop_start_dx10 @3
        alu     step
        loop_end @1
        end
step:   x: add_int r2.x, r2.x, 1 ;;

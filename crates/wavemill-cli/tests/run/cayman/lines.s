        .program lines
        alu     sum, kc0=cb0[0:15]
        end
sum:    x: mov r2.x, kc0[3].y ;;
        x: mov r2.x, r0.x
        y: mov r2.y, kc0[16].y ;;

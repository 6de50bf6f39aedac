        .program constants
        alu     sum, kc0=cb5[0:15]
        end
sum:    x: mov r2.x, kc0[3].y ;;

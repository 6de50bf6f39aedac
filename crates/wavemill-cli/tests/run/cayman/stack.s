        .program deep
        .stack 1
again:  push   @done
        jump_any @again
done:   end

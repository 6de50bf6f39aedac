        .program illegal
        push   @2
        .quad 0x9cc0000000000000

; Numbers of as many bytes as they need, of distances that are known only later.
	.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
	.data
a:
	.uleb128 c-b
	.sleb128 b-c
	.uleb128 d-a
b:
	.fill 126
c:
	.p2align 6
	.uleb128 e-d, 5, d-e
d:
	.fill 70
e:
	.uleb128 later
	.sleb128 later-2
	later = 1000
	.text
	s_branch 2f
	.uleb128 2f-1f, .-2f
	.p2align 2
1:	s_nop 1
	.fill 200, 4, 0xbf800000
2:	s_endpgm
	.section .other,"",@progbits
	.set total, .Lend - .Lstart
	.uleb128 total
.Lstart:
	.rept 60
	.uleb128 .Lend - .Lstart
	.sleb128 .Lstart - .Lend
	.endr
.Lend:

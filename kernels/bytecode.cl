// An interpreter for a small stack machine: every work-item runs a program of its own on two numbers. An instruction is a
// word, the operation in the low byte and a signed operand above it.
enum {
    HALT,     // the result is on top of the stack
    PUSH,     // the operand
    INPUT,    // number 0 or 1
    LOAD,     // a variable
    STORE,    // to a variable
    DUP,
    SWAP,
    OVER,     // copies the second value to the top
    ROTATE,   // moves the third value to the top
    DROP,
    ADD,
    SUB,
    MUL,
    DIV,      // all ones if the divisor is 0, as on many machines
    MOD,      // the dividend if the divisor is 0
    AND,
    OR,
    XOR,
    NOT,
    SHL,      // by a count modulo 32
    SHR,
    MIN,
    MAX,
    EQUAL,    // 1 or 0
    LESS,
    JUMP,     // to an instruction of this program
    JUMP_0,   // if the value on top is 0, which goes away
    CALL,     // keeps where to go on on a stack of its own
    RETURN,
};

#define STACK 64
#define CALLS 4
#define VARIABLES 4

// result[i] is what program i, from code[entry[i]] on, has on top of its stack when it halts, and the number of steps that
// it took; a program that goes on for `limit` steps or that has an unknown instruction ends there.
kernel void bytecode(global const uint *restrict code, global const uint *restrict entry,
                     global const uint2 *restrict input, global uint2 *restrict result, uint n, uint limit) {
    const uint i = get_global_id(0);
    if (i >= n)
        return;
    global const uint *program = code + entry[i];
    uint stack[STACK] = {0}, variable[VARIABLES] = {0}, back[CALLS] = {0};
    uint top = 0, calls = 0, pc = 0, steps = 0;

// The value at some depth; the stack is a ring, so nothing goes past its end.
#define AT(depth) stack[(top - 1 - (depth)) % STACK]
#define BINARY(expression)                                                                                             \
    {                                                                                                                  \
        const uint b = AT(0), a = AT(1);                                                                               \
        top--;                                                                                                         \
        AT(0) = (expression);                                                                                          \
        break;                                                                                                         \
    }
    bool running = true;
    while (running && steps < limit) {
        const uint word = program[pc++];
        const int operand = (int)word >> 8;
        steps++;
        switch (word & 0xff) {
        case PUSH: top++; AT(0) = operand; break;
        case INPUT: top++; AT(0) = operand ? input[i].y : input[i].x; break;
        case LOAD: top++; AT(0) = variable[operand % VARIABLES]; break;
        case STORE: variable[operand % VARIABLES] = AT(0); top--; break;
        case DUP: top++; AT(0) = AT(1); break;
        case SWAP: { const uint b = AT(0); AT(0) = AT(1); AT(1) = b; break; }
        case OVER: top++; AT(0) = AT(2); break;
        case ROTATE: { const uint c = AT(2); AT(2) = AT(1); AT(1) = AT(0); AT(0) = c; break; }
        case DROP: top--; break;
        case ADD: BINARY(a + b)
        case SUB: BINARY(a - b)
        case MUL: BINARY(a * b)
        case DIV: BINARY(b == 0 ? ~0u : a / b)
        case MOD: BINARY(b == 0 ? a : a % b)
        case AND: BINARY(a & b)
        case OR: BINARY(a | b)
        case XOR: BINARY(a ^ b)
        case NOT: AT(0) = ~AT(0); break;
        case SHL: BINARY(a << b % 32)
        case SHR: BINARY(a >> b % 32)
        case MIN: BINARY(min(a, b))
        case MAX: BINARY(max(a, b))
        case EQUAL: BINARY(a == b)
        case LESS: BINARY(a < b)
        case JUMP: pc = operand; break;
        case JUMP_0: pc = AT(0) == 0 ? (uint)operand : pc; top--; break;
        case CALL: back[calls++ % CALLS] = pc; pc = operand; break;
        case RETURN: pc = back[--calls % CALLS]; break;
        default: running = false; break;
        }
    }
    result[i] = (uint2)(AT(0), steps);
}

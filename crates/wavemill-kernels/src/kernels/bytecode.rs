//! Interprets programs of a small stack machine.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Operations in the order of their numbers, and whether an operand follows in a program's text.
const OPERATIONS: [(&str, bool); 29] = [
    ("halt", false),
    ("push", true),
    ("input", true),
    ("load", true),
    ("store", true),
    ("dup", false),
    ("swap", false),
    ("over", false),
    ("rotate", false),
    ("drop", false),
    ("add", false),
    ("sub", false),
    ("mul", false),
    ("div", false),
    ("mod", false),
    ("and", false),
    ("or", false),
    ("xor", false),
    ("not", false),
    ("shl", false),
    ("shr", false),
    ("min", false),
    ("max", false),
    ("equal", false),
    ("less", false),
    ("jump", true),
    ("jump_0", true),
    ("call", true),
    ("return", false),
];

/// A program, and a bound for its inputs that keeps its run short.
struct Program {
    text: &'static str,
    masks: [u32; 2],
}

/// Each leaves its result on top of the stack.
const PROGRAMS: [Program; 7] = [
    // The greatest common divisor.
    Program {
        text: "input 0 input 1 again: dup jump_0 end swap over mod jump again end: drop halt",
        masks: [0xfff; 2],
    },
    // The number of steps of Collatz's function from one number to the other, or below 2; at most
    // 4.
    Program {
        text: "input 0 store 0 push 0
               again: load 0 push 2 less push 0 equal jump_0 end
               load 0 input 1 equal not push 1 and jump_0 end
               dup push 4 less jump_0 end push 1 add
               load 0 push 1 and jump_0 even
               load 0 push 3 mul push 1 add store 0 jump again
               even: load 0 push 1 shr store 0 jump again
               end: halt",
        masks: [0x3f, 0xf],
    },
    // The first number to the power of the second, by squaring.
    Program {
        text: "input 0 store 0 input 1 store 1 push 1
               again: load 1 jump_0 end
               load 1 push 1 and jump_0 square load 0 mul
               square: load 0 dup mul store 0 load 1 push 1 shr store 1 jump again
               end: halt",
        masks: [u32::MAX, 0x7],
    },
    // The square root of the first number, rounded down, by Newton's method from above; 0 for 0.
    Program {
        text: "input 0 store 0 load 0 jump_0 zero load 0 store 1
               again: load 0 load 1 div load 1 add push 1 shr
               dup load 1 less jump_0 end store 1 jump again
               end: drop load 1 halt
               zero: push 0 halt",
        masks: [0x3f, 0],
    },
    // The number of bits set in both numbers, counted by a subroutine.
    Program {
        text: "input 0 call count input 1 call count add halt
               count: push 0 swap
               next: dup jump_0 done dup push 1 sub and swap push 1 add swap jump next
               done: drop return",
        masks: [0x0011, 0x0842],
    },
    // Bit tricks without a loop: the median of the two numbers and 1000, and others.
    Program {
        text: "input 0 input 1 push 1000 rotate store 3
               over over max load 3 min rotate rotate min max
               dup push 5 shl swap push 27 shr or push -2 xor not
               input 0 input 1 div xor input 1 input 0 mod add halt",
        masks: [u32::MAX, 0x7ff],
    },
    // Whether the first number is prime: 1 or 0.
    Program {
        text: "input 0 push 2 less jump_0 try push 0 halt
               try: push 2
               next: dup dup mul input 0 swap less jump_0 divide drop push 1 halt
               divide: input 0 over mod jump_0 divided push 1 add jump next
               divided: drop push 0 halt",
        masks: [0x1f, 0],
    },
];

/// The words of a program; a name with a colon is a jump target.
fn assemble(text: &str) -> Vec<u32> {
    let mut places = Vec::new();
    let mut instructions = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if let Some(name) = word.strip_suffix(':') {
            places.push((name, instructions.len() as i32));
            continue;
        }
        let operation = OPERATIONS.iter().position(|(name, _)| *name == word).expect("an operation");
        let operand = if OPERATIONS[operation].1 { words.next() } else { None };
        instructions.push((operation as u32, operand));
    }
    let number = |text: &str| {
        let place = places.iter().find(|(name, _)| *name == text).map(|(_, place)| *place);
        place.unwrap_or_else(|| text.parse().expect("a place or a number"))
    };
    instructions
        .iter()
        .map(|(operation, operand)| operation | (operand.map_or(0, number) << 8) as u32)
        .collect()
}

pub(crate) fn case(size: Size) -> Case {
    let n = size.pick(64 * 64 - 21, 2048 * 64);
    let (mut code, mut starts) = (Vec::new(), Vec::new());
    for program in &PROGRAMS {
        starts.push(code.len() as u32);
        code.extend(assemble(program.text));
    }
    let mut random = Random::new(44);
    let (mut entry, mut input) = (Vec::new(), Vec::new());
    for i in 0..n {
        // Whole groups run one program; in every 16th group, each lane runs an arbitrary one.
        let group = i / 64;
        let which = if group % 16 == 15 { random.below(7) } else { group % 7 } as usize;
        entry.push(starts[which]);
        input.extend(PROGRAMS[which].masks.map(|mask| random.u32() & mask));
    }
    Case::new("bytecode", "bytecode", reference)
        .cover(n, 64)
        .buffer("code", &code)
        .buffer("entry", &entry)
        .buffer("input", &input)
        .buffer("result", &vec![0u32; 2 * n as usize])
        .u32("n", n)
        .u32("limit", size.pick(60, 400))
}

fn reference(case: &Case) -> Vec<Expect> {
    let (code, entry, input) =
        (case.input::<u32>("code"), case.input::<u32>("entry"), case.input::<u32>("input"));
    let limit = case.get_u32("limit");
    let result: Vec<u32> = entry
        .iter()
        .zip(input.as_chunks::<2>().0)
        .flat_map(|(&entry, input)| {
            let (value, steps) = interpret(&code[entry as usize..], *input, limit);
            [value, steps]
        })
        .collect();
    vec![Expect::Unchanged, Expect::Unchanged, Expect::Unchanged, Expect::values(&result)]
}

/// The result of a program, and its number of steps.
fn interpret(code: &[u32], input: [u32; 2], limit: u32) -> (u32, u32) {
    let (mut stack, mut back) = (Vec::new(), Vec::new());
    let mut variables = [0; 4];
    let mut pc = 0;
    for step in 1..=limit {
        let word = code[pc];
        let operand = word.cast_signed() >> 8;
        pc += 1;
        let name = OPERATIONS[(word & 0xff) as usize].0;
        match name {
            "halt" => return (stack.pop().expect("a result"), step),
            "push" => stack.push(operand.cast_unsigned()),
            "input" => stack.push(input[operand as usize]),
            "load" => stack.push(variables[operand as usize]),
            "store" => variables[operand as usize] = stack.pop().expect("a value"),
            "jump" => pc = operand as usize,
            "jump_0" => {
                if stack.pop() == Some(0) {
                    pc = operand as usize;
                }
            }
            "call" => {
                back.push(pc);
                pc = operand as usize;
            }
            "return" => pc = back.pop().expect("a call"),
            _ => {
                let mut pop = || stack.pop().expect("a value");
                let mut results = vec![];
                match name {
                    "drop" => _ = pop(),
                    "not" => results.push(!pop()),
                    "dup" => results.extend([pop()].repeat(2)),
                    "rotate" => {
                        let [c, b, a] = [pop(), pop(), pop()];
                        results.extend([b, c, a]);
                    }
                    _ => {
                        let (b, a) = (pop(), pop());
                        results.extend(match name {
                            "swap" => vec![b, a],
                            "over" => vec![a, b, a],
                            _ => vec![binary(name, a, b)],
                        });
                    }
                }
                stack.extend(results);
            }
        }
    }
    (stack.pop().unwrap_or(0), limit)
}

fn binary(name: &str, a: u32, b: u32) -> u32 {
    match name {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "mul" => a.wrapping_mul(b),
        "div" => a.checked_div(b).unwrap_or(u32::MAX),
        "mod" => a.checked_rem(b).unwrap_or(a),
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "shl" => a << (b % 32),
        "shr" => a >> (b % 32),
        "min" => a.min(b),
        "max" => a.max(b),
        "equal" => u32::from(a == b),
        "less" => u32::from(a < b),
        _ => panic!("{name} has a number, but no meaning"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gcd(a: u32, b: u32) -> u32 {
        if b == 0 { a } else { gcd(b, a % b) }
    }

    fn collatz(mut x: u32, end: u32) -> u32 {
        let mut steps = 0;
        while x >= 2 && x != end && steps < 4 {
            x = if x.is_multiple_of(2) { x / 2 } else { 3 * x + 1 };
            steps += 1;
        }
        steps
    }

    fn mixed(a: u32, b: u32) -> u32 {
        let mut numbers = [a, b, 1000];
        numbers.sort_unstable();
        let turned = !(numbers[1].rotate_left(5) ^ 0xffff_fffe);
        (turned ^ binary("div", a, b)).wrapping_add(binary("mod", b, a))
    }

    #[test]
    fn programs_compute_what_they_are_said_to() {
        let direct: [fn(u32, u32) -> u32; 7] = [
            gcd,
            collatz,
            u32::wrapping_pow,
            |a, _| a.isqrt(),
            |a, b| a.count_ones() + b.count_ones(),
            mixed,
            |a, _| u32::from(a >= 2 && (2..a).all(|d| !a.is_multiple_of(d))),
        ];
        let mut random = Random::new(45);
        for (program, direct) in PROGRAMS.iter().zip(direct) {
            let code = assemble(program.text);
            let zeros = std::iter::once([0, 0]);
            for [a, b] in zeros.chain(random.many(500, |r| program.masks.map(|mask| r.u32() & mask))) {
                let (result, steps) = interpret(&code, [a, b], 400);
                assert_eq!(result, direct(a, b), "{} of {a} and {b}", program.text);
                assert!(steps < 200, "{steps}");
            }
        }
    }

    #[test]
    fn programs_have_every_operation() {
        for (operation, (name, _)) in OPERATIONS.iter().enumerate() {
            let mut words = PROGRAMS.iter().flat_map(|program| assemble(program.text));
            assert!(words.any(|word| (word & 0xff) as usize == operation), "{name}");
        }
    }

    #[test]
    fn most_programs_of_the_case_end_by_themselves() {
        let case = case(Size::Small);
        let Expect::Exactly(result) = &reference(&case)[3] else { panic!("numbers") };
        let results = crate::case::values_of::<u32>(result);
        let (all, stopped) =
            (results.len() / 2, results.iter().skip(1).step_by(2).filter(|s| **s == 60).count());
        assert!(stopped > 0 && stopped < all / 3, "{stopped} of {all} are stopped");
    }

    #[test]
    fn a_program_that_never_ends_is_stopped() {
        assert_eq!(interpret(&assemble("push 7 again: jump again"), [0; 2], 100), (7, 100));
    }
}

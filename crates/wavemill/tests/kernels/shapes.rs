//! What analyses say of the shapes of rows, against the values of rows while kernels run, instruction
//! by instruction.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use wavemill::ir::analysis::{Entry, Full, Graph, Limits, Shape, Shapes, Walk, WaveFacts};
use wavemill::ir::{Block, LANES, Row, Uni};
use wavemill::observe::{Instruction, Interests, Observer, Registers, Reporter, Watcher, WaveId};
use wavemill_isa::Target;
use wavemill_kernels::{Case, fixture_at};
use wavemill_lift::Lift;
use wavemill_lift::gcn::{Gcn, MatrixRule};
use wavemill_object::{CodeObject, Image};
use wavemill_oracle::{Failed, whole_suites};

use crate::launch::{Code, Way, launch_watched};

/// Instructions that are compared in each wave.
fn instructions() -> u64 {
    if whole_suites() { 20_000 } else { 600 }
}

/// Every workgroup whose number in its row is a multiple of this is watched, of the first ones.
const EVERY: u32 = 5;

fn is_watched(wave: WaveId) -> bool {
    let [x, y, z] = wave.workgroup;
    let limit = if whole_suites() { 64 } else { 16 };
    (x + y + z).is_multiple_of(EVERY) && x < limit && y < limit && z < limit
}

/// The state that waves start in, and where.
#[derive(Debug, Default)]
struct Starts(Mutex<Vec<Start>>);

#[derive(Debug)]
struct Start {
    wave: WaveId,
    active: u64,
    cells: Vec<u32>,
    rows: Vec<(Row, [u32; LANES])>,
    facts: WaveFacts,
    /// The first instruction, and the context.
    at: Option<(u64, u32)>,
}

impl Observer for Starts {
    fn interests(&self) -> Interests {
        Interests { instructions: true, ..Interests::default() }
    }

    fn watches(&self, wave: WaveId) -> bool {
        is_watched(wave)
    }

    fn watcher(&self, _: Reporter) -> Box<dyn Watcher + '_> {
        Box::new(Recorder(self))
    }
}

struct Recorder<'a>(&'a Starts);

impl Watcher for Recorder<'_> {
    fn started(&mut self, wave: WaveId, registers: &Registers) {
        self.0.0.lock().expect("no watcher panicked").push(Start {
            wave,
            active: registers.uni64(Uni::ACTIVE),
            cells: (0..Uni::TEMP0.0).map(|n| registers.uni(Uni(n))).collect(),
            facts: WaveFacts {
                rows: registers.counts().rows,
                absent: registers.counts().absent.0..registers.counts().absent.1,
                private_memory: Some(registers.counts().private_base.first()),
                exceptions: None,
            },
            rows: registers.counts().all_rows().map(|row| (row, registers.row(row))).collect(),
            at: None,
        });
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        let mut starts = self.0.0.lock().expect("no watcher panicked");
        if let Some(start) = starts.iter_mut().find(|start| start.wave == instruction.wave) {
            start.at.get_or_insert((instruction.pc, instruction.context));
        }
    }
}

/// What holds for all waves at their start.
fn entry(starts: &[Start]) -> Entry {
    let Some(first) = starts.first() else { return Entry::default() };
    let mut entry = Entry::default();
    for (n, (row, _)) in first.rows.iter().enumerate() {
        let shapes = starts.iter().map(|start| Shape::exact_in(&start.rows[n].1, start.active));
        entry.rows.extend(shapes.reduce(Shape::join).map(|shape| (*row, shape)));
        let rows = starts.iter().map(|start| &start.rows[n].1);
        entry.rows_in_all_lanes.push((*row, Shape::any_of(rows)));
    }
    for n in 0..Uni::ACTIVE.0 {
        let shapes = starts.iter().map(|start| Shape::constant(32, start.cells[usize::from(n)].into()));
        entry.cells.extend(shapes.reduce(Shape::join).map(|shape| (Uni(n), shape)));
    }
    entry
}

type Blocks = Graph<Box<Block>>;

/// The analyses of a program from one entry. They live as long as the test.
#[derive(Clone, Copy, Debug)]
struct Analysed {
    graph: &'static Blocks,
    shapes: &'static Shapes<'static, Box<Block>>,
}

/// The code of a kernel, at the addresses where it runs.
struct Program {
    lifter: Gcn,
    image: Image,
    /// Added to addresses of the object.
    moved: u64,
    context: u32,
}

impl Program {
    fn analyse(&self, at: u64, wave: &WaveFacts, full: bool, entry: &Entry) -> Analysed {
        let mut fetch = |pc: u64, into: &mut [u8; 16]| {
            let at = pc.wrapping_sub(self.moved).checked_sub(self.image.start);
            let rest = at.and_then(|at| self.image.bytes.get(at as usize..)).unwrap_or(&[]);
            let n = rest.len().min(16);
            into[..n].copy_from_slice(&rest[..n]);
            n
        };
        let block = |at| Box::new(self.lifter.block(at, self.context, &mut fetch));
        let graph: &'static Blocks = Box::leak(Box::new(Graph::new(at, Limits::default(), block)));
        let wave: &'static WaveFacts = Box::leak(Box::new(wave.clone()));
        let full: &'static Full = Box::leak(Box::new(Full::new(graph, wave, full)));
        Analysed { graph, shapes: Box::leak(Box::new(Shapes::new(graph, wave, full, entry))) }
    }
}

/// Where a wave is: in a node, in front of a guest instruction.
struct Place {
    analysed: Analysed,
    node: usize,
    guest: usize,
    walk: Walk<'static, 'static, Box<Block>>,
    compared: u64,
}

impl Place {
    fn new(analysed: Analysed, node: usize) -> Option<Place> {
        let walk = analysed.shapes.walk(node)?;
        Some(Place { analysed, node, guest: 0, walk, compared: 0 })
    }

    /// The place of the instruction that runs next; `None` if the graph does not lead there.
    fn next(self, pc: u64) -> Option<Place> {
        let node = &self.analysed.graph.nodes()[self.node];
        if node.block.guest.get(self.guest + 1) == Some(&pc) {
            return Some(Place { guest: self.guest + 1, ..self });
        }
        let ends = self.guest + 1 >= node.block.guest.len();
        let next = node.successors.iter().find(|next| self.analysed.graph.nodes()[**next].block.start == pc);
        let next = next.filter(|_| ends)?;
        Some(Place { compared: self.compared, ..Place::new(self.analysed, *next)? })
    }
}

#[derive(Default)]
struct Checked {
    places: HashMap<WaveId, Option<Place>>,
    /// Analyses of code that indirect jumps lead to, about whose registers nothing is known.
    elsewhere: BTreeMap<u64, Analysed>,
    problem: Option<String>,
    compared: u64,
    entered: u64,
}

struct Checks {
    program: Program,
    wave: WaveFacts,
    main: Analysed,
    entry: u64,
    state: Mutex<Checked>,
}

impl std::fmt::Debug for Checks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Checks")
    }
}

impl Observer for Checks {
    fn interests(&self) -> Interests {
        Interests { instructions: true, ..Interests::default() }
    }

    fn watches(&self, wave: WaveId) -> bool {
        is_watched(wave)
    }

    fn watcher(&self, _: Reporter) -> Box<dyn Watcher + '_> {
        Box::new(Checker(self))
    }
}

struct Checker<'a>(&'a Checks);

impl Watcher for Checker<'_> {
    fn instruction(&mut self, instruction: &Instruction<'_>) {
        let Checks { program, wave, main, entry, state } = self.0;
        let mut state = state.lock().expect("no watcher panicked");
        let Instruction { pc, registers, .. } = *instruction;
        let place = match state.places.remove(&instruction.wave) {
            None if pc == *entry => Place::new(*main, 0),
            None => None,
            // It has been compared for long enough.
            Some(None) => {
                state.places.insert(instruction.wave, None);
                return;
            }
            Some(Some(place)) => {
                let compared = place.compared;
                place.next(pc).or_else(|| {
                    state.entered += 1;
                    let analysed = *state
                        .elsewhere
                        .entry(pc)
                        .or_insert_with(|| program.analyse(pc, wave, false, &Entry::default()));
                    Some(Place { compared, ..Place::new(analysed, 0)? })
                })
            }
        };
        let Some(mut place) = place else {
            state.problem.get_or_insert(format!("{:?} starts at {pc:#x}", instruction.wave));
            return;
        };
        let block = &place.analysed.graph.nodes()[place.node].block;
        let operation = block.insts.partition_point(|inst| (inst.guest as usize) < place.guest);
        while place.walk.place() < operation {
            place.walk.step();
        }
        let wrong = place.walk.contradiction(|cell| registers.uni(cell), |row| registers.row(row));
        if let Some(wrong) = wrong {
            let text = format!("{:?} at {pc:#x}: {wrong}\n{block}", instruction.wave);
            state.problem.get_or_insert(text);
        }
        place.compared += 1;
        state.compared += 1;
        let goes_on = place.compared < instructions();
        state.places.insert(instruction.wave, goes_on.then_some(place));
    }
}

/// Shapes hold for the values of rows, and control flow is that of the graph.
pub(crate) fn shapes(case: &Case, code: Code) -> Result<(), Failed> {
    // With one thread, waves have the same private memory in both launches.
    let way = Way { threads: 1, engine: wavemill::launch::Engine::default() };
    let starts = Starts::default();
    launch_watched(case, code, way, &starts)?;
    let starts = starts.0.into_inner().expect("no watcher panicked");
    let (at, context) = starts.iter().find_map(|start| start.at).ok_or("no wave was watched")?;
    let bytes = fixture_at(code.target, code.level, case.object)?;
    let object = CodeObject::parse(&bytes)?;
    let target = Target::GCN.into_iter().find(|target| target.name() == code.target.name());
    let target = target.ok_or("no instruction set of that name")?;
    let kernel = object.kernels().iter().find(|kernel| kernel.name == case.kernel).ok_or("no such kernel")?;
    let lifter = Gcn { target, sramecc: true, matrix: MatrixRule::Exact };
    let image = object.image(&wavemill_object::Limits::default())?;
    // Segments are at whole pages. A kernel whose arguments are preloaded starts behind its entry.
    let moved = at.wrapping_sub(kernel.entry_address) & !0xfff;
    let program = Program { lifter, image, moved, context };
    let wave = WaveFacts { exceptions: program.lifter.exceptions(), ..starts[0].facts.clone() };
    let full = starts.iter().all(|start| start.active == !0);
    let main = program.analyse(at, &wave, full, &entry(&starts));
    let checks = Checks { program, wave, main, entry: at, state: Mutex::default() };
    launch_watched(case, code, way, &checks)?;
    let state = checks.state.into_inner().expect("no watcher panicked");
    if let Some(problem) = state.problem {
        return Err(problem.into());
    }
    assert!(state.compared > 0 && state.places.len() == starts.len());
    // Only calls leave the graph.
    assert!(state.entered * 5 < state.compared, "{} of {} by jumps", state.entered, state.compared);
    Ok(())
}

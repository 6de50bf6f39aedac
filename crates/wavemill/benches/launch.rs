//! The cost of a launch besides the work of its waves: a kernel for one wave, and for a few workgroups.

use std::num::NonZeroUsize;

use criterion::{Criterion, criterion_group, criterion_main};
use wavemill::{Arg, Device, Launch, Module, RunOptions};
use wavemill_kernels::{Target, fixture};

fn launches(c: &mut Criterion) {
    let mut group = c.benchmark_group("launch");
    for target in [Target::Gfx906, Target::Gfx942] {
        let object = fixture(target, "vector_add").expect("a kernel of the corpus");
        let device = Device::for_object(object).expect("a device");
        let module = Module::load(&device, object).expect("a module");
        let kernel = module.kernel("vector_add").expect("a kernel");
        let buffers = ["a", "b", "c"].map(|name| device.buffer(name, 4096).expect("memory"));
        for (workgroups, threads) in [(1, Some(1)), (4, Some(1)), (4, Some(2)), (4, None)] {
            let args = || buffers.iter().map(Arg::from).chain([Arg::from(1024u32)]);
            let threads = threads.and_then(NonZeroUsize::new);
            let on = threads.map_or("threads by itself".to_owned(), |n| format!("{n} threads"));
            let name = format!("{}/{workgroups} workgroups/{on}", target.name());
            group.bench_function(name, |b| {
                b.iter(|| {
                    Launch::new(&kernel)
                        .workgroups([workgroups, 1, 1])
                        .workgroup_size([64, 1, 1])
                        .args(args())
                        .options(RunOptions { threads, ..RunOptions::default() })
                        .run()
                        .expect("the launch finishes")
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, launches);
criterion_main!(benches);

//! Developer chores: fixtures, generated pages, benches against peers.

fn main() {}

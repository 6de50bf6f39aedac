//! Programs of Cayman run.

use crate::common::{Folder, err, expect, out, repository};
use crate::schemas::Schemas;

/// Each thread stores two numbers where its arguments say, behind a loop without a count.
const SUMS: &str = "        .program sums
        loop_start_dx10 @6
        alu     one
        loop_break @5
        alu     add
        jump    @5
        loop_end @1
        alu     where, kc0=cb0[0:15]
        mem_rat_cacheless store_dword rat0, r1.x, [r2.x] type:write_ind
        end
one:    x: pred_setge_int _.x, r1.y, r0.x exec ;;
";

#[test]
fn examples_give_their_numbers() {
    let path = repository().join("examples/cayman/saxpy.toml");
    let folder = Folder::new("cayman_run");
    for more in [&[][..], &["--engine", "reference"], &["--threads", "1", "--tier", "portable"], &["--block", "100"]] {
        let line = [&["run", path.to_str().unwrap()], more].concat();
        assert_eq!(out(&expect(&folder, 0, &line)), "y: 200 elements as expected\n", "{more:?}");
    }
}

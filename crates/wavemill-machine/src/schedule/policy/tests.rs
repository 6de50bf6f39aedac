use super::*;

/// Workgroups by name, to check that each keeps its running state.
type Named = Policy<u64>;

fn policy(total: u64, resident: u32) -> Named {
    Policy::new(total, resident, true)
}

fn pace() -> Pace {
    Pace::UNKNOWN
}

/// The workgroup that starts next.
fn starts(policy: &mut Named) -> Standing {
    match policy.next(&pace(), 1, 0) {
        Next::Start { standing, .. } => standing,
        other => panic!("expected a start, got {other:?}"),
    }
}

/// The workgroup that has its next turn.
fn resumes(policy: &mut Named) -> (Standing, bool) {
    match policy.next(&pace(), 1, 0) {
        Next::Resume { standing, group, in_vain, .. } => {
            assert_eq!(standing.linear(), group, "the workgroup is another one");
            (standing, in_vain)
        }
        other => panic!("expected a turn, got {other:?}"),
    }
}

fn back(policy: &mut Named, standing: Standing, became: Became, cost: u64) -> Goes<u64> {
    let group = standing.linear();
    policy.give_back(standing, group, became, cost, false)
}

#[test]
fn workgroups_start_in_order_and_slots_are_used_again() {
    let mut p = policy(3, 2);
    let (a, b) = (starts(&mut p), starts(&mut p));
    assert_eq!((a.linear(), a.slot(), b.linear(), b.slot()), (0, 0, 1, 1));
    // No slot is left.
    assert!(matches!(p.next(&pace(), 1, 0), Next::Wait));
    assert!(matches!(back(&mut p, b, Became::Done, 10), Goes::Ended(1)));
    match p.next(&pace(), 1, 0) {
        Next::Start { standing } => {
            assert_eq!((standing.linear(), standing.slot()), (2, 1));
            assert!(matches!(back(&mut p, standing, Became::Done, 10), Goes::Ended(2)));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(p.next(&pace(), 1, 0), Next::Wait));
    assert!(matches!(back(&mut p, a, Became::Done, 10), Goes::Ended(0)));
    assert!(matches!(p.next(&pace(), 1, 0), Next::Nothing));
    assert_eq!(p.not_started(), 0);
}

#[test]
fn what_was_claimed_follows_or_is_given_back() {
    let mut p = policy(100, 4);
    let mut cheap = pace();
    cheap.saw(1, TURN);
    let Next::Start { mut standing, .. } = p.next(&cheap, 1, 0) else { panic!("nothing starts") };
    assert_eq!(p.not_started(), 100 - 25, "one and 24 of the 99 behind it");
    assert!(standing.follow(|_| true));
    assert_eq!((standing.linear(), standing.ran()), (1, 2));
    // One that is not needed does not follow, and nothing changes.
    assert!(!standing.follow(|linear| linear != 2));
    assert_eq!(standing.linear(), 1);
    assert!(matches!(back(&mut p, standing, Became::Again, 10), Goes::Queued));
    assert_eq!(p.not_started(), 98);
    // The lowest one that was given back starts before the unclaimed ones.
    let (old, _) = resumes(&mut p);
    assert_eq!(old.linear(), 1);
    assert_eq!(starts(&mut p).linear(), 2);
}

#[test]
fn behind_a_fault_nobody_is_wanted_and_the_first_one_counts() {
    let mut p = Policy::new(6, 6, false);
    let mut all: Vec<Standing> = (0..5).map(|_| starts(&mut p)).collect();
    let [four, three, two] = [all.remove(4), all.remove(3), all.remove(2)];
    let (zero, one) = (all.remove(0), all.remove(0));
    assert!(matches!(back(&mut p, three, Became::Again, 1), Goes::Queued));
    assert!(matches!(back(&mut p, one, Became::Again, 1), Goes::Queued));
    assert!(matches!(back(&mut p, two, Became::Fault, 1), Goes::Faulted));
    assert_eq!(p.faulted(), 2);
    // Workgroup 3 has left the queue, 4 is dropped, and its fault would not be the first one. 5 does not start.
    assert!(matches!(back(&mut p, four, Became::Fault, 1), Goes::Dropped));
    let (one, _) = resumes(&mut p);
    assert_eq!(one.linear(), 1);
    assert!(matches!(p.next(&pace(), 1, 0), Next::Wait));
    // Lower ones may still run for a while.
    assert!(matches!(back(&mut p, one, Became::Again, GRACE - 1), Goes::Queued));
    let (one, _) = resumes(&mut p);
    assert!(matches!(back(&mut p, one, Became::Again, GRACE), Goes::Dropped));
    assert!(matches!(back(&mut p, zero, Became::Fault, 1), Goes::Faulted));
    assert_eq!(p.faulted(), 0);
    assert!(matches!(p.next(&pace(), 1, 0), Next::Nothing));
}

#[test]
fn a_run_that_is_over_keeps_what_is_unfinished() {
    let mut p = policy(2, 2);
    let (a, b) = (starts(&mut p), starts(&mut p));
    assert!(matches!(back(&mut p, a, Became::Again, 1), Goes::Queued));
    assert!(matches!(p.give_back(b, 1, Became::Again, 1, true), Goes::Unfinished(1)));
    assert_eq!(p.take_queue().collect::<Vec<_>>(), [0]);
}

#[test]
fn a_grid_without_an_end_is_looked_at_when_no_thread_has_a_workgroup() {
    let mut p = policy(2, 2);
    let (a, b) = (starts(&mut p), starts(&mut p));
    assert!(matches!(back(&mut p, a, Became::Again, SUSPICIOUS), Goes::Queued));
    assert!(matches!(p.next(&pace(), 2, 0), Next::Wait), "another thread has a workgroup");
    assert!(matches!(back(&mut p, b, Became::Again, 5), Goes::Queued));
    assert!(matches!(p.next(&pace(), 2, 0), Next::Look));
    assert_eq!(p.begin_look(), SUSPICIOUS + 5);
    // The second one continues: it has the next turn, and the next check comes after twice the
    // cost.
    assert!(!p.looked(Found::GoesOn(1)));
    let (b, _) = resumes(&mut p);
    assert_eq!(b.linear(), 1);
    assert!(matches!(back(&mut p, b, Became::Again, 2 * SUSPICIOUS - 1), Goes::Queued));
    let (a, _) = resumes(&mut p);
    assert!(matches!(back(&mut p, a, Became::Again, 1), Goes::Queued));
    assert!(matches!(p.next(&pace(), 2, 0), Next::Look));
    p.begin_look();
    assert!(p.looked(Found::Faults(0)));
    assert_eq!(p.faulted(), 1, "the one at the head of the queue has faulted");
    assert_eq!(p.slots, [1], "its slot is free again");
}

#[test]
fn a_workgroup_that_ends_makes_up_for_those_that_do_not() {
    let mut p = policy(2, 2);
    let (a, b) = (starts(&mut p), starts(&mut p));
    assert!(matches!(back(&mut p, a, Became::Again, SUSPICIOUS), Goes::Queued));
    assert!(matches!(back(&mut p, b, Became::Done, 1), Goes::Ended(1)));
    let (a, _) = resumes(&mut p);
    assert_eq!(a.linear(), 0);
}

#[test]
fn a_grid_that_is_stuck_has_nothing_left() {
    let mut p = policy(1, 1);
    let a = starts(&mut p);
    assert!(matches!(back(&mut p, a, Became::Again, SUSPICIOUS), Goes::Queued));
    assert!(matches!(p.next(&pace(), 1, 0), Next::Look));
    p.begin_look();
    assert!(!p.looked(Found::Stuck));
    assert!(matches!(p.next(&pace(), 1, 0), Next::Nothing));
}

/// A turn whose looks return these results.
fn turn(standing: &mut Standing, results: &[Stepped]) -> Vec<Step> {
    let (mut turn, first) = Turn::begin(standing, true);
    let mut steps = vec![first];
    for stepped in results {
        steps.extend(turn.after(standing, *stepped));
    }
    steps
}

#[test]
fn turns_of_those_that_wait_are_short() {
    use Stepped::{Looked, Ran};
    let mut one = Standing::new(0, 0, 0..0);
    // The first quantum is used up: a look after it shows that it waits.
    assert_eq!(turn(&mut one, &[Ran(QUANTUM), Looked(true)]), [Step::Run(QUANTUM), Step::Look]);
    assert!(one.waits());
    // It still waits: nothing runs.
    assert_eq!(turn(&mut one, &[Looked(true)]), [Step::Look]);
    assert!(one.waits() && !one.got_on);
    // It continues for a slice; as it waited before, another look follows.
    let steps = turn(&mut one, &[Looked(false), Ran(SLICE), Looked(false)]);
    assert_eq!(steps, [Step::Look, Step::Run(SLICE), Step::Look]);
    assert!(!one.waits() && one.got_on);
    // One that computes gets a look after 4, 8, 16 quanta, not after each.
    let looks: Vec<bool> = (3..=8).map(|_| turn(&mut one, &[Ran(QUANTUM)]).contains(&Step::Look)).collect();
    assert_eq!(looks, [false, true, false, false, false, true]);
    // No look follows a quantum that is not used up.
    assert_eq!(turn(&mut one, &[Ran(QUANTUM - 1)]), [Step::Run(QUANTUM)]);
}

#[test]
fn where_all_wait_the_last_one_runs_alone() {
    let mut p = policy(2, 2);
    let (mut a, mut b) = (starts(&mut p), starts(&mut p));
    for standing in [&mut a, &mut b] {
        turn(standing, &[Stepped::Ran(QUANTUM), Stepped::Looked(true)]);
    }
    let mut left = vec![a, b];
    for _ in 0..2 {
        let standing = left.remove(0);
        assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    }
    // Each look is in vain, until it is clear that no other workgroup will end the wait.
    for n in 0..4 {
        let (mut standing, in_vain) = resumes(&mut p);
        assert!(!in_vain, "after {n} looks");
        assert_eq!(turn(&mut standing, &[Stepped::Looked(true)]), [Step::Look]);
        assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    }
    let (mut standing, in_vain) = resumes(&mut p);
    assert!(in_vain);
    assert_eq!(turn(&mut standing, &[]), [Step::Run(QUANTUM)], "it runs without a look");
    // Whether it made progress is unknown: the looks in vain still count.
    assert!(!standing.got_on && standing.waits());
}

#[test]
fn one_that_computes_has_several_turns_among_many_that_wait() {
    let mut p = policy(33, 33);
    let mut all: Vec<Standing> = (0..33).map(|_| starts(&mut p)).collect();
    let computes = all.pop().expect("33 have started");
    for mut standing in all {
        turn(&mut standing, &[Stepped::Ran(QUANTUM), Stepped::Looked(true)]);
        assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    }
    assert!(matches!(back(&mut p, computes, Became::Again, 1), Goes::Queued));
    // 32 others wait: it has its turn and two more.
    for _ in 0..2 {
        let (standing, _) = resumes(&mut p);
        assert_eq!(standing.linear(), 32);
        assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    }
    let (standing, _) = resumes(&mut p);
    assert_eq!(standing.linear(), 0);
}

/// Both workgroups of a policy for two, held since that number of releases.
fn two_held(p: &mut Named, releases: u64) {
    for mut standing in [starts(p), starts(p)] {
        assert_eq!(turn(&mut standing, &[Stepped::Held(releases)]), [Step::Run(QUANTUM)]);
        assert!(matches!(back(p, standing, Became::Again, 1), Goes::Queued));
    }
}

#[test]
fn those_that_are_held_have_no_turns_before_a_release() {
    let mut p = policy(3, 3);
    two_held(&mut p, 0);
    // A thread without other work starts what may end the waits.
    let (mut third, next) = (starts(&mut p), p.next(&pace(), 2, 0));
    assert!(matches!(next, Next::Wait), "the third one may end the waits, not {next:?}");
    assert!(!p.has_more(0));
    // It goes on, and the same thread passes over the others.
    turn(&mut third, &[Stepped::Ran(QUANTUM), Stepped::Looked(false)]);
    assert!(matches!(back(&mut p, third, Became::Again, QUANTUM), Goes::Queued));
    assert!(p.has_more(0));
    let (third, _) = resumes(&mut p);
    assert_eq!(third.linear(), 2);
    assert!(!p.has_more(0) && matches!(p.next(&pace(), 2, 0), Next::Wait));
    // After a release, each has a turn to see whether it was meant: only the second one was.
    assert!(p.has_more(1));
    for (held, linear) in [(true, 0), (false, 1)] {
        let Next::Resume { mut standing, group, in_vain, .. } = p.next(&pace(), 2, 1) else {
            panic!("workgroup {linear} has no turn")
        };
        assert_eq!((standing.linear(), group, in_vain), (linear, linear, false));
        let result = if held { Stepped::Held(1) } else { Stepped::Looked(false) };
        turn(&mut standing, &[result]);
        assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    }
    let Next::Resume { standing, .. } = p.next(&pace(), 2, 1) else { panic!("the second one has no turn") };
    assert_eq!(standing.linear(), 1);
    assert!(!p.has_more(1) && matches!(p.next(&pace(), 2, 1), Next::Wait));
}

#[test]
fn a_grid_in_which_all_are_held_is_looked_at_at_once() {
    let mut p = policy(2, 2);
    two_held(&mut p, 5);
    // The wait of one of them has ended since it was seen.
    let Next::Resume { mut standing, .. } = p.next(&pace(), 1, 6) else { panic!("nothing has a turn") };
    turn(&mut standing, &[Stepped::Held(6)]);
    assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    let Next::Resume { mut standing, .. } = p.next(&pace(), 1, 6) else { panic!("nothing has a turn") };
    turn(&mut standing, &[Stepped::Held(6)]);
    assert!(matches!(p.next(&pace(), 2, 6), Next::Wait), "another thread has a workgroup");
    assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    assert!(matches!(p.next(&pace(), 1, 6), Next::Look));
    // The check finds that one goes on: it has a turn, whatever the number.
    p.begin_look();
    assert!(!p.looked(Found::GoesOn(1)));
    let Next::Resume { mut standing, .. } = p.next(&pace(), 1, 6) else { panic!("nothing has a turn") };
    assert_eq!(standing.linear(), 1);
    turn(&mut standing, &[Stepped::Held(6)]);
    assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    assert!(matches!(p.next(&pace(), 1, 6), Next::Look));
    p.begin_look();
    assert!(!p.looked(Found::Stuck));
    assert!(matches!(p.next(&pace(), 1, 6), Next::Nothing));
}

#[test]
fn where_stalls_are_not_found_those_that_are_held_have_turns() {
    let mut p = Policy::new(2, 2, false);
    two_held(&mut p, 0);
    // Another launch may end the waits.
    for linear in [0, 1, 0] {
        let (mut standing, _) = resumes(&mut p);
        assert_eq!(standing.linear(), linear);
        turn(&mut standing, &[Stepped::Held(0)]);
        assert!(matches!(back(&mut p, standing, Became::Again, 1), Goes::Queued));
    }
}

#[test]
fn what_is_left_for_others_counts_workgroups_that_go_on() {
    let mut p = policy(3, 3);
    let mut pace = pace();
    pace.saw(1, 1000);
    let first = starts(&mut p);
    assert_eq!(p.left_for_others(&pace), 2000);
    let (second, third) = (starts(&mut p), starts(&mut p));
    assert_eq!(p.left_for_others(&pace), 0);
    assert!(matches!(back(&mut p, first, Became::Again, 1000), Goes::Queued));
    assert_eq!(p.left_for_others(&pace), 0, "this thread runs it itself");
    assert!(matches!(back(&mut p, second, Became::Again, 1500), Goes::Queued));
    assert!(matches!(back(&mut p, third, Became::Again, 700), Goes::Queued));
    assert_eq!(p.left_for_others(&pace), 1700);
    // Costs of turns add up; one that waits leaves nothing to do.
    let (first, _) = resumes(&mut p);
    assert!(matches!(back(&mut p, first, Became::Again, 1000), Goes::Queued));
    assert_eq!(p.left_for_others(&pace), 1500 + 700);
    let (mut second, _) = resumes(&mut p);
    turn(&mut second, &[Stepped::Held(0)]);
    assert!(matches!(back(&mut p, second, Became::Again, 1), Goes::Queued));
    assert_eq!(p.left_for_others(&pace), 700);
}

#[test]
fn whether_another_thread_computes_is_known_while_it_does() {
    let mut p = policy(3, 3);
    let (mut a, mut b, c) = (starts(&mut p), starts(&mut p), starts(&mut p));
    for standing in [&mut a, &mut b] {
        turn(standing, &[Stepped::Ran(QUANTUM), Stepped::Looked(true)]);
    }
    assert!(matches!(back(&mut p, a, Became::Again, 1), Goes::Queued));
    assert!(matches!(back(&mut p, b, Became::Again, 1), Goes::Queued));
    // The third one runs meanwhile.
    let Next::Resume { standing: mut a, others_compute: true, .. } = p.next(&pace(), 2, 0) else {
        panic!("the first one has its turn beside one that computes")
    };
    turn(&mut a, &[Stepped::Looked(true)]);
    assert!(matches!(back(&mut p, c, Became::Done, 1), Goes::Ended(2)));
    let Next::Resume { standing: b, others_compute: false, .. } = p.next(&pace(), 2, 0) else {
        panic!("the second one has its turn beside one that waits")
    };
    assert!(matches!(back(&mut p, a, Became::Again, 1), Goes::Queued));
    assert!(matches!(back(&mut p, b, Became::Again, 1), Goes::Queued));
    assert_eq!((p.running, p.computing), (0, 0));
}

//! Text of Cayman: words and groups are printed and parsed, programs are disassembled and
//! assembled.

mod dumps;
mod errors;
mod mesa;
mod programs;
mod texts;

use std::process::ExitCode;

use wavemill_oracle::{Suite, Tool};

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("texts are all that words say", texts::words);
    suite.test("texts are all that groups say", texts::groups);
    suite.test("texts have the documented form", texts::forms);
    suite.test("other spellings are accepted", texts::spellings);
    suite.test("any text is read or refused", texts::any_text);
    suite.test("what LLVM wrote comes back", programs::what_llvm_wrote);
    suite.oracle_test("what LLVM writes comes back", &[Tool::Program("llc-22")], programs::what_llc_writes);
    suite.test("programs with changed bits come back", programs::changed_bits_come_back);
    suite.test("random programs come back", programs::random_programs_come_back);
    suite.test("clauses stand anywhere", programs::clauses_stand_anywhere);
    suite.test("messages about lines", errors::of_lines);
    suite.test("messages about sources", errors::of_sources);
    suite.test("dumps of Mesa are read", dumps::are_read);
    suite.test("dumps of Mesa are what they say, and come back", mesa::dumps_are_what_they_say);
    suite.run()
}

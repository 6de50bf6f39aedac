//! Text of Cayman: words and groups are printed and parsed, programs are disassembled and assembled.

mod texts;

use std::process::ExitCode;

use wavemill_oracle::Suite;

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("texts are all that words say", texts::words);
    suite.test("texts are all that groups say", texts::groups);
    suite.test("texts have the documented form", texts::forms);
    suite.test("other spellings are accepted", texts::spellings);
    suite.test("any text is read or refused", texts::any_text);
    suite.run()
}

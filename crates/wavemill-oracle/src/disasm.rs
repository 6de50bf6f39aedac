//! Runs LLVM's disassembler in a child process.

/// LLVM's answer for one machine word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not an instruction of the target.
    Invalid,
    /// LLVM's disassembler crashed or hung on it.
    Crashed,
    /// An instruction.
    Decoded {
        /// Its size in bytes.
        size: usize,
        /// Its text, without the leading tab and without comments.
        text: String,
        /// The comments that LLVM printed: decoded constants, and errors such as misaligned
        /// registers. Empty if none.
        comment: String,
    },
}

#[cfg(target_os = "linux")]
pub use linux::LlvmOracle;
#[cfg(target_os = "linux")]
pub(crate) use linux::check_library;
#[cfg(not(target_os = "linux"))]
pub use other::LlvmOracle;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::check_library;

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{CString, c_char, c_int, c_uint, c_void};
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::mem::ManuallyDrop;
    use std::os::fd::{AsRawFd as _, FromRawFd as _, RawFd};
    use std::path::PathBuf;
    use std::ptr::NonNull;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use super::Verdict;
    use crate::TRIPLE;
    use crate::tools::OracleMissing;

    /// Paths of the library in the packages of Debian and the LLVM project.
    const LIBRARY_PATHS: &[&str] = &[
        "/usr/lib/llvm-22/lib/libLLVM.so.22.1",
        "/usr/lib/x86_64-linux-gnu/libLLVM.so.22.1",
        "/usr/lib/aarch64-linux-gnu/libLLVM.so.22.1",
        "/usr/lib64/libLLVM.so.22.1",
        "libLLVM.so.22.1",
    ];
    const LIBRARY_VARIABLE: &str = "WAVEMILL_LIBLLVM";
    const LIBRARY_MAJOR: c_uint = 22;

    /// `LLVMDisassembler_Option_SetInstrComments`.
    const OPTION_COMMENTS: u64 = 8;

    type CreateDisasm = unsafe extern "C" fn(
        triple: *const c_char,
        cpu: *const c_char,
        features: *const c_char,
        dis_info: *mut c_void,
        tag_type: c_int,
        get_op_info: *const c_void,
        symbol_lookup: *const c_void,
    ) -> *mut c_void;
    type DisposeDisasm = unsafe extern "C" fn(context: *mut c_void);
    type SetOptions = unsafe extern "C" fn(context: *mut c_void, options: u64) -> c_int;
    type DisasmInstruction = unsafe extern "C" fn(
        context: *mut c_void,
        bytes: *mut u8,
        bytes_size: u64,
        pc: u64,
        out: *mut c_char,
        out_size: usize,
    ) -> usize;

    /// The entry points of libLLVM in use; the library stays loaded for the life of the process.
    struct Api {
        create: CreateDisasm,
        dispose: DisposeDisasm,
        set_options: SetOptions,
        disassemble: DisasmInstruction,
    }

    fn api() -> Result<&'static Api, OracleMissing> {
        static API: OnceLock<Result<Api, OracleMissing>> = OnceLock::new();
        API.get_or_init(load).as_ref().map_err(Clone::clone)
    }

    pub(crate) fn check_library() -> Result<(), OracleMissing> {
        api().map(drop)
    }

    fn load() -> Result<Api, OracleMissing> {
        let named = std::env::var_os(LIBRARY_VARIABLE).map(PathBuf::from);
        let candidates: Vec<PathBuf> = match named {
            Some(path) => vec![path],
            None => LIBRARY_PATHS.iter().map(PathBuf::from).collect(),
        };
        // SAFETY: libLLVM is an ordinary shared library; nothing here depends on the order of its
        // initialisers.
        let library = candidates.iter().find_map(|path| unsafe { libloading::Library::new(path) }.ok());
        let library = library.ok_or_else(|| {
            OracleMissing::new(format!("libLLVM 22 is not installed ({LIBRARY_VARIABLE} can name the file)"))
        })?;
        // The symbols below outlive this function, so the library must never be unloaded.
        let library = ManuallyDrop::new(library);
        let absent =
            |error: libloading::Error| OracleMissing::new(format!("libLLVM lacks an entry point: {error}"));
        // SAFETY: the types match the declarations in llvm-c/Core.h, llvm-c/Target.h and
        // llvm-c/Disassembler.h.
        unsafe {
            let version = library
                .get::<unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint)>(b"LLVMGetVersion")
                .map_err(absent)?;
            let (mut major, mut minor, mut patch) = (0, 0, 0);
            version(&mut major, &mut minor, &mut patch);
            if major != LIBRARY_MAJOR {
                return Err(OracleMissing::new(format!("libLLVM is version {major}, not {LIBRARY_MAJOR}")));
            }
            for name in [
                "LLVMInitializeAMDGPUTargetInfo",
                "LLVMInitializeAMDGPUTargetMC",
                "LLVMInitializeAMDGPUDisassembler",
            ] {
                (*library.get::<unsafe extern "C" fn()>(name.as_bytes()).map_err(absent)?)();
            }
            Ok(Api {
                create: *library.get::<CreateDisasm>(b"LLVMCreateDisasmCPUFeatures").map_err(absent)?,
                dispose: *library.get::<DisposeDisasm>(b"LLVMDisasmDispose").map_err(absent)?,
                set_options: *library.get::<SetOptions>(b"LLVMSetDisasmOptions").map_err(absent)?,
                disassemble: *library.get::<DisasmInstruction>(b"LLVMDisasmInstruction").map_err(absent)?,
            })
        }
    }

    /// Words in a batch for the child.
    const BATCH: usize = 4096;
    /// Largest size of a word in bytes.
    const WORD: usize = 16;
    /// Largest size of an answer's text in bytes; LLVM's longest instruction text with comments has
    /// about 300.
    const TEXT: usize = 1024;
    /// Time limit of the child for one batch, in milliseconds; after that it counts as hung.
    const PATIENCE: c_int = 20_000;

    #[repr(C)]
    struct Question {
        len: u8,
        bytes: [u8; WORD],
    }

    #[repr(C)]
    struct Answer {
        /// Size of the instruction in bytes; 0 if it is invalid.
        size: u32,
        text: [u8; TEXT],
    }

    /// Memory shared by both processes. The parent writes `questions` only while the child waits
    /// for a command.
    #[repr(C)]
    struct Shared {
        /// The index in the batch of the word that the child is processing.
        at: u32,
        questions: [Question; BATCH],
        answers: [Answer; BATCH],
    }

    /// LLVM's disassembler for one target, in a separate process.
    ///
    /// The child is forked, not executed, so a test binary needs no helper program. It restarts
    /// whenever LLVM crashes, and ends with this value or, at the latest, with the parent.
    #[derive(Debug)]
    pub struct LlvmOracle {
        api: &'static Api,
        /// LLVM's context. The parent makes it but never uses it, so that it is ready in each new
        /// child.
        context: *mut c_void,
        shared: NonNull<Shared>,
        child: Option<Child>,
    }

    impl std::fmt::Debug for Api {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Api").finish_non_exhaustive()
        }
    }

    #[derive(Debug)]
    struct Child {
        pid: libc::pid_t,
        commands: File,
        replies: File,
    }

    // SAFETY: only this value owns the shared mapping and the context; no thread identity is
    // involved.
    unsafe impl Send for LlvmOracle {}

    impl LlvmOracle {
        /// Opens the disassembler for a target by LLVM's name for it, such as `gfx942`.
        ///
        /// # Errors
        /// [`OracleMissing`] if libLLVM 22 is missing or does not know the target, or if the child
        /// cannot be started.
        pub fn open(target: &str) -> Result<Self, OracleMissing> {
            let api = api()?;
            // SAFETY: an anonymous mapping at an address that the kernel chooses; the result is
            // checked below.
            let memory = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    size_of::<Shared>(),
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                    -1,
                    0,
                )
            };
            let shared = match NonNull::new(memory.cast::<Shared>()) {
                Some(shared) if memory != libc::MAP_FAILED => shared,
                _ => return Err(OracleMissing::new("no shared memory for the disassembler")),
            };
            let mut oracle = Self { api, context: std::ptr::null_mut(), shared, child: None };
            oracle.context = create_context(api, target)?;
            // `s_endpgm` is an instruction everywhere: a broken child is detected at once.
            match oracle.disassemble(&[[0x00, 0x00, 0x81, 0xbf]]).first() {
                Some(Verdict::Decoded { .. }) => Ok(oracle),
                _ => Err(OracleMissing::new(format!("libLLVM does not disassemble for {target}"))),
            }
        }

        /// LLVM's answer for each word: the bytes at the start of each item, of which at most 16
        /// count.
        pub fn disassemble<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Vec<Verdict> {
            let mut verdicts = Vec::with_capacity(words.len());
            while verdicts.len() < words.len() {
                let rest = &words[verdicts.len()..];
                self.batch(&rest[..rest.len().min(BATCH)], &mut verdicts);
            }
            verdicts
        }

        /// Answers all of `words` (at most `BATCH`), or those up to and including one that LLVM crashes on.
        fn batch<W: AsRef<[u8]>>(&mut self, words: &[W], verdicts: &mut Vec<Verdict>) {
            for (index, word) in words.iter().enumerate() {
                let word = word.as_ref();
                let len = word.len().min(WORD);
                let mut bytes = [0; WORD];
                bytes[..len].copy_from_slice(&word[..len]);
                // SAFETY: `index` is below BATCH; the child reads questions only after its next
                // command.
                unsafe {
                    (&raw mut (*self.shared.as_ptr()).questions[index])
                        .write(Question { len: len as u8, bytes })
                };
            }
            // SAFETY: in bounds; the child waits for a command or does not exist.
            unsafe { (&raw mut (*self.shared.as_ptr()).at).write_volatile(0) };
            let finished = self.command(words.len() as u32);
            let done = match finished {
                true => words.len(),
                // SAFETY: the child is gone; the counter is plain memory again.
                false => (unsafe { (&raw const (*self.shared.as_ptr()).at).read_volatile() } as usize)
                    .min(words.len().saturating_sub(1)),
            };
            for index in 0..done {
                // SAFETY: the child has finished with this answer, and `index` is below BATCH.
                let answer = unsafe { &(*self.shared.as_ptr()).answers[index] };
                verdicts.push(verdict(answer));
            }
            if !finished {
                verdicts.push(Verdict::Crashed);
            }
        }

        /// Sends one command and waits for its reply; false if the child died or hung, and has been
        /// removed.
        fn command(&mut self, count: u32) -> bool {
            if self.child.is_none() {
                self.child = self.fork();
            }
            let Some(child) = &mut self.child else { return false };
            let mut reply = [0; 1];
            let answered = child.commands.write_all(&count.to_ne_bytes()).is_ok()
                && readable(child.replies.as_raw_fd())
                && child.replies.read_exact(&mut reply).is_ok();
            if !answered {
                self.stop();
            }
            answered
        }

        fn fork(&self) -> Option<Child> {
            // One fork at a time: if a sibling child inherited a pipe end, it would hide this
            // child's death.
            static FORK: Mutex<()> = Mutex::new(());
            let _guard = FORK.lock().unwrap_or_else(PoisonError::into_inner);
            let (command_read, command_write) = pipe()?;
            let (reply_read, reply_write) = pipe()?;
            // SAFETY: the child calls only libLLVM (no other thread of the parent touches its state
            // after loading), malloc (which the C library keeps consistent across a fork) and
            // system calls, and leaves by `_exit`.
            match unsafe { libc::fork() } {
                -1 => None,
                0 => {
                    close_all_but(command_read.as_raw_fd(), reply_write.as_raw_fd());
                    self.serve(command_read, reply_write)
                }
                pid => Some(Child { pid, commands: command_write, replies: reply_read }),
            }
        }

        /// Runs the child: answers batches until the parent's end of the pipe closes.
        fn serve(&self, mut commands: File, mut replies: File) -> ! {
            let exit = |code| -> ! {
                // SAFETY: exits without the parent's exit handlers.
                unsafe { libc::_exit(code) }
            };
            // Crashes are expected here. Exit at once, without the kernel's log line and core file,
            // which cost milliseconds each.
            for signal in
                [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP]
            {
                // SAFETY: the handler only calls `_exit`, which is allowed in a signal handler.
                unsafe { libc::signal(signal, leave as *const () as libc::sighandler_t) };
            }
            let mut count = [0; 4];
            while commands.read_exact(&mut count).is_ok() {
                for index in 0..(u32::from_ne_bytes(count) as usize).min(BATCH) {
                    // SAFETY: in bounds; the parent waits for the reply. The counter is volatile because the parent
                    // reads it after a crash.
                    unsafe {
                        let shared = self.shared.as_ptr();
                        (&raw mut (*shared).at).write_volatile(index as u32);
                        let question = &mut (*shared).questions[index];
                        let answer = &mut (*shared).answers[index];
                        answer.text[0] = 0;
                        let bytes = question.bytes.as_mut_ptr();
                        let text = answer.text.as_mut_ptr().cast();
                        answer.size = (self.api.disassemble)(
                            self.context,
                            bytes,
                            u64::from(question.len),
                            0,
                            text,
                            TEXT,
                        ) as u32;
                    }
                }
                if replies.write_all(&[1]).is_err() {
                    break;
                }
            }
            exit(0)
        }

        fn stop(&mut self) {
            if let Some(child) = self.child.take() {
                let mut status = 0;
                // SAFETY: the pid is our own child, and only this code waits for it.
                unsafe {
                    libc::kill(child.pid, libc::SIGKILL);
                    libc::waitpid(child.pid, &mut status, 0);
                }
            }
        }
    }

    impl Drop for LlvmOracle {
        fn drop(&mut self) {
            self.stop();
            if !self.context.is_null() {
                // SAFETY: our own context. Only the child used it, and the child is gone.
                unsafe { (self.api.dispose)(self.context) };
            }
            // SAFETY: our own mapping; nothing refers to it now.
            unsafe { libc::munmap(self.shared.as_ptr().cast(), size_of::<Shared>()) };
        }
    }

    extern "C" fn leave(_signal: c_int) {
        // SAFETY: ends the process without running anything else.
        unsafe { libc::_exit(3) };
    }

    fn create_context(api: &Api, target: &str) -> Result<*mut c_void, OracleMissing> {
        let text = |text: &str| CString::new(text).map_err(|_| OracleMissing::new("a name with a zero byte"));
        let (triple, cpu) = (text(TRIPLE)?, text(target)?);
        let null = std::ptr::null();
        let create = || {
            // SAFETY: the strings live until the call returns; no callbacks are passed.
            unsafe {
                (api.create)(triple.as_ptr(), cpu.as_ptr(), c"".as_ptr(), std::ptr::null_mut(), 0, null, null)
            }
        };
        // LLVM ends the process if it does not know the target, so a child tries first.
        let mut status = -1;
        // SAFETY: as in `LlvmOracle::fork`; the parent waits for exactly this child.
        unsafe {
            let pid = libc::fork();
            if pid == 0 {
                close_all_but(0, 0);
                libc::_exit(c_int::from(create().is_null()));
            }
            libc::waitpid(pid, &mut status, 0);
        }
        if status != 0 {
            return Err(OracleMissing::new(format!("libLLVM does not disassemble for {target}")));
        }
        let context = create();
        if context.is_null() {
            return Err(OracleMissing::new("libLLVM makes no disassembler"));
        }
        // SAFETY: a live context.
        unsafe { (api.set_options)(context, OPTION_COMMENTS) };
        Ok(context)
    }

    fn verdict(answer: &Answer) -> Verdict {
        if answer.size == 0 {
            return Verdict::Invalid;
        }
        let len = answer.text.iter().position(|&byte| byte == 0).unwrap_or(TEXT);
        assert!(
            len + 1 < TEXT,
            "libLLVM's text does not fit its slot: {:?}",
            String::from_utf8_lossy(&answer.text)
        );
        let all = String::from_utf8_lossy(&answer.text[..len]);
        let (text, comment) = match all.find([';', '\n']).into_iter().chain(all.find("//")).min() {
            Some(at) => all.split_at(at),
            None => (&*all, ""),
        };
        let comment = comment.trim_matches([';', '/', ' ', '\t', '\n']).to_owned();
        Verdict::Decoded { size: answer.size as usize, text: text.trim().to_owned(), comment }
    }

    fn pipe() -> Option<(File, File)> {
        let mut ends: [RawFd; 2] = [-1; 2];
        // SAFETY: `pipe2` fills the two descriptors, which nothing else owns.
        unsafe {
            (libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) == 0)
                .then(|| (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
        }
    }

    /// Waits for data, or for the end of the other side; false after [`PATIENCE`].
    fn readable(descriptor: RawFd) -> bool {
        let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        loop {
            // SAFETY: one live pollfd.
            match unsafe { libc::poll(&mut poll, 1, PATIENCE) } {
                -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
                ready => return ready == 1,
            }
        }
    }

    /// Closes descriptors that the child inherited and must not hold: siblings' pipes, and the
    /// terminal, where LLVM would report its crashes.
    fn close_all_but(first: RawFd, second: RawFd) {
        let (low, high) = (first.min(second) as c_uint, first.max(second) as c_uint);
        // SAFETY: system calls on descriptors of the child. It owns no Rust objects except the two
        // that stay open.
        unsafe {
            for (from, to) in
                [(3, low.wrapping_sub(1)), (low + 1, high.wrapping_sub(1)), (high + 1, c_uint::MAX)]
            {
                if from <= to && to != low {
                    libc::syscall(libc::SYS_close_range, from, to, 0);
                }
            }
            let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            if null >= 0 {
                libc::dup2(null, 1);
                libc::dup2(null, 2);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use super::Verdict;
    use crate::tools::OracleMissing;

    /// LLVM's disassembler in a forked process. It is always missing on this system.
    #[derive(Debug)]
    pub struct LlvmOracle {
        never: std::convert::Infallible,
    }

    pub(crate) fn check_library() -> Result<(), OracleMissing> {
        Err(OracleMissing::new("the libLLVM oracle runs on Linux only"))
    }

    impl LlvmOracle {
        /// Opens the disassembler for a target.
        ///
        /// # Errors
        /// Always, on this system.
        pub fn open(_target: &str) -> Result<Self, OracleMissing> {
            Err(OracleMissing::new("the libLLVM oracle runs on Linux only"))
        }

        /// LLVM's answer for each word.
        pub fn disassemble<W: AsRef<[u8]>>(&mut self, _words: &[W]) -> Vec<Verdict> {
            match self.never {}
        }
    }
}

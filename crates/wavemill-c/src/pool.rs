//! Devices of runs of code without a code object.
//!
//! Such a run needs a device for the time of a call. Devices are kept for the next calls, as new as
//! those just built: nothing of a run is left ([`Device::renewed`]).

use std::sync::Mutex;

use wavemill::Device;
use wavemill::device::AddressMode;

use crate::device::choice;
use crate::message::Result;

/// Most devices that are kept: those of threads that run code at the same time, and of several
/// targets.
const KEPT: usize = 16;

/// A device that no run uses, and the text that it was built for.
struct Idle {
    target: String,
    device: Device,
}

/// The devices that no run uses, the last one at the end. Nothing drops them when the process ends.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

/// A device for a call. When it is dropped, it is kept for another one.
pub(crate) struct Pooled(Option<Idle>);

impl Pooled {
    /// A device for a target or a product, whose guest addresses are those of the host.
    pub(crate) fn take(target: &str) -> Result<Pooled> {
        // Nobody waits: another thread may have the lock when the process forks, and the child then
        // never gets it.
        let kept = IDLE.try_lock().ok().and_then(|mut idle| {
            let at = idle.iter().rposition(|one| one.target == target)?;
            Some(idle.remove(at))
        });
        let idle = match kept {
            Some(idle) => idle,
            None => {
                let device = Device::builder(choice(target)?).addresses(AddressMode::Identity).build()?;
                Idle { target: target.to_owned(), device }
            }
        };
        Ok(Pooled(Some(idle)))
    }

    /// The device.
    pub(crate) fn get(&self) -> &Device {
        match &self.0 {
            Some(idle) => &idle.device,
            None => unreachable!("it has a device until it is dropped"),
        }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        // After a panic, nobody knows what state the device is in.
        if std::thread::panicking() {
            return;
        }
        let Some(Idle { target, device }) = self.0.take() else { return };
        let Some(device) = device.renewed() else { return };
        let oldest = match IDLE.try_lock() {
            Ok(mut idle) => {
                idle.push(Idle { target, device });
                (idle.len() > KEPT).then(|| idle.remove(0))
            }
            Err(_) => None,
        };
        // Without the lock.
        drop(oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_code::{WM_DEFAULT_RSRC1, WM_DEFAULT_RSRC3, wm_run_code, wm_run_code_t};

    /// The tests use the same devices, so they run one after another.
    fn alone() -> std::sync::MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Number of devices that are kept for a text.
    fn kept(target: &str) -> usize {
        IDLE.lock().expect("no test panics with it").iter().filter(|one| one.target == target).count()
    }

    #[test]
    fn devices_are_kept_and_few() {
        let _alone = alone();
        let name = "gfx90a:xnack-";
        {
            let (one, other) = (Pooled::take(name).expect("a device"), Pooled::take(name).expect("another"));
            assert_eq!((one.get().target().to_string(), kept(name)), (name.to_owned(), 0));
            drop(other);
            assert_eq!(kept(name), 1);
        }
        assert_eq!(kept(name), 2);
        let again = Pooled::take(name).expect("a device");
        assert_eq!(kept(name), 1);
        drop(again);
        let many: Vec<Pooled> = (0..2 * KEPT).map(|_| Pooled::take("gfx906").expect("a device")).collect();
        drop(many);
        assert_eq!((kept("gfx906"), IDLE.lock().expect("no test panics with it").len()), (KEPT, KEPT));
        assert!(Pooled::take("no target").is_err());
    }

    #[test]
    fn runs_keep_their_device() {
        let _alone = alone();
        let name = c"gfx90a:sramecc+";
        // s_endpgm, and a word that is no instruction.
        for code in [0xbf81_0000u32, 0xffff_ffff] {
            // SAFETY: zeros are a value of the structure.
            let zeros = unsafe { std::mem::zeroed::<wm_run_code_t>() };
            let run = wm_run_code_t {
                struct_size: size_of::<wm_run_code_t>(),
                target: name.as_ptr(),
                code: (&raw const code).cast(),
                code_size: 4,
                rsrc1: WM_DEFAULT_RSRC1,
                rsrc3: WM_DEFAULT_RSRC3,
                grid: [1; 3],
                block: [1; 3],
                ..zeros
            };
            // SAFETY: the pointers lead to what they say.
            let message = unsafe { wm_run_code(&run) };
            assert_eq!(message.is_null(), code == 0xbf81_0000);
            assert_eq!(kept("gfx90a:sramecc+"), 1);
        }
    }

    #[test]
    fn a_device_in_use_is_not_kept() {
        let _alone = alone();
        let name = "gfx908:xnack-";
        let device = Pooled::take(name).expect("a device");
        let buffer = device.get().buffer("x", 64).expect("memory");
        drop(device);
        assert_eq!((kept(name), buffer.size()), (0, 64));
    }
}

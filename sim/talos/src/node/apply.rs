//! Giving a node another configuration.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use emhost_sim_kit::Platform;
use emhost_talos_api::machine::{self, ApplyConfigurationRequestMode as Mode};

use super::Node;
use super::settings::Settings;
use crate::config::{self, Config};
use crate::seam::Caller;
use crate::wire::Status;

/// How long a configuration is tried where nobody says.
const TRIAL: Duration = Duration::from_mins(1);

impl Node {
    fn mode(&self) -> config::Mode {
        match self.boot.image.platform {
            Platform::Metal => config::Mode::Metal,
            Platform::Nocloud => config::Mode::Cloud,
        }
    }

    /// `ApplyConfiguration`.
    pub(super) fn apply(
        &self,
        caller: &Caller,
        request: &machine::ApplyConfigurationRequest,
    ) -> Result<machine::ApplyConfiguration, Status> {
        let mode = Mode::try_from(request.mode)
            .map_err(|_| Status::unknown(format!("incorrect mode '{}' specified for the apply config call", request.mode)))?;
        if self.settings().is_none() {
            return self.apply_first(caller, request, mode);
        }
        if self.version.since(1, 13) && self.state().leaving {
            return Err(Status::precondition("the machine is rebooting, configuration can't be applied"));
        }
        if mode != Mode::Try
            && let Some(trial) = self.state().trial.take()
        {
            trial.abort();
        }
        let loaded = config::load(&request.data, self.version).map_err(|error| Status::invalid(error.to_string()))?;
        if !loaded.is_complete() {
            return Err(Status::invalid(
                "the applied machine configuration doesn't contain v1alpha1 config, did you mean to patch the machine config instead?",
            ));
        }
        // What is installed need not say how to install it.
        let validation = if self.installed() { config::Mode::Cloud } else { self.mode() };
        let warnings = self.validated(&loaded, validation).map_err(Status::invalid)?;
        let current = self.need_settings()?;
        let hindrance = match config::scope(&current.config, &loaded, self.version) {
            config::Scope::AtOnce => None,
            config::Scope::Reboot { why } => Some(why),
        };
        let (mode, mut details) = match mode {
            Mode::Try | Mode::NoReboot => {
                if let Some(why) = hindrance {
                    return Err(Status::invalid(why));
                }
                (mode, "Applied configuration without a reboot".to_owned())
            }
            Mode::Staged => (mode, "Staged configuration to be applied after the next reboot".to_owned()),
            Mode::Reboot => (mode, "Applied configuration with a reboot".to_owned()),
            Mode::Auto => match hindrance {
                Some(why) => (Mode::Reboot, format!("Applied configuration with a reboot: {why}")),
                None => (Mode::NoReboot, "Applied configuration without a reboot".to_owned()),
            },
        };
        if request.dry_run {
            let diff = config::diff(&current.config, &loaded);
            let diff = if diff.is_empty() { "No changes.".to_owned() } else { diff };
            let short = details.split(':').next().unwrap_or_default();
            let mode_details = format!("Dry run summary:\n{short} (skipped in dry-run).\nConfig diff:\n\n{diff}");
            return Ok(machine::ApplyConfiguration { metadata: None, warnings: Vec::new(), mode: mode as i32, mode_details });
        }
        self.journal.talos(&format!("apply config request: mode {}", format!("{mode:?}").to_lowercase()));
        let settings = Arc::new(Settings::of(loaded));
        if mode == Mode::Try {
            let timeout: Duration = request.try_mode_timeout.map_or(TRIAL, Into::into);
            let _ = write!(
                details,
                "
The config is applied in 'try' mode and will be automatically reverted back in {}",
                go_duration(timeout)
            );
            self.try_out(&settings, &current, timeout);
        } else {
            self.keep(&settings.text).map_err(Status::unknown)?;
            match mode {
                Mode::NoReboot => self.take_over(&settings),
                Mode::Reboot => self.reboot_for("", true),
                _ => {}
            }
        }
        Ok(machine::ApplyConfiguration { metadata: None, warnings, mode: mode as i32, mode_details: details })
    }

    fn validated(&self, loaded: &Config, mode: config::Mode) -> Result<Vec<String>, String> {
        let mut warnings = config::validate(loaded, mode).map_err(|invalid| invalid.to_string())?;
        warnings.extend(self.runtime_validated(loaded, mode).map_err(|invalid| invalid.to_string())?);
        Ok(warnings)
    }

    fn runtime_validated(&self, loaded: &Config, mode: config::Mode) -> Result<Vec<String>, config::Invalid> {
        let disks: Vec<_> = self.disks().iter().map(Settings::facts).collect();
        let uefi = matches!(self.boot.machine.firmware, emhost_sim_kit::Firmware::Uefi { .. });
        let running = config::Running { disks: &disks, systemd_boot: uefi && self.version.since(1, 10) };
        config::runtime_validate(loaded, mode, running)
    }

    /// The first configuration, in maintenance.
    fn apply_first(
        &self,
        caller: &Caller,
        request: &machine::ApplyConfigurationRequest,
        mode: Mode,
    ) -> Result<machine::ApplyConfiguration, Status> {
        let late = self.version.since(1, 13);
        if !caller.maintenance {
            return Err(Status::unavailable("the machine is booting"));
        }
        if !late && matches!(mode, Mode::NoReboot | Mode::Staged) {
            let word = if mode == Mode::Staged { "staged" } else { "no-reboot" };
            return Err(Status::unimplemented(format!("apply configuration --mode='{word}' is not supported in maintenance mode")));
        }
        let loaded = config::load(&request.data, self.version).map_err(|error| {
            if late { Status::invalid(error.to_string()) } else { Status::unknown(format!("failed to parse config: {error}")) }
        })?;
        let mut warnings = config::validate(&loaded, self.mode())
            .map_err(|invalid| Status::invalid(format!("configuration validation failed: {invalid}")))?;
        let at_runtime = self
            .runtime_validated(&loaded, self.mode())
            .map_err(|invalid| Status::invalid(format!("runtime configuration validation failed: {invalid}")))?;
        warnings.extend(at_runtime);
        let mut answer = machine::ApplyConfiguration { metadata: None, warnings, ..Default::default() };
        if request.dry_run {
            "Dry run summary:\nNode is running in maintenance mode and does not have a config yet.".clone_into(&mut answer.mode_details);
            return Ok(answer);
        }
        if late {
            answer.mode = Mode::NoReboot as i32;
            "Applied configuration without a reboot".clone_into(&mut answer.mode_details);
        }
        if loaded.is_complete() {
            self.journal.talos("apply config request: maintenance");
            self.offered.send_replace(Some(Arc::new(Settings::of(loaded))));
        } else if late {
            // Documents alone are kept and the node waits for the rest.
            self.set_up_network(&loaded.links());
        }
        Ok(answer)
    }

    /// Runs with a configuration until somebody keeps it, or the time is over.
    fn try_out(&self, settings: &Arc<Settings>, before: &Arc<Settings>, timeout: Duration) {
        let Some(node) = self.me() else { return };
        let before = before.clone();
        if let Some(trial) = self.state().trial.take() {
            trial.abort();
        }
        self.take_over(settings);
        let trial = self.spawn(async move {
            tokio::time::sleep(timeout).await;
            node.journal.talos("config trial timed out, reverting");
            node.take_over(&before);
        });
        self.state().trial = trial;
    }

    /// Goes on with another configuration without a reboot.
    fn take_over(&self, settings: &Arc<Settings>) {
        let before = self.settings();
        self.adopt(settings);
        let kubelet = |settings: &Settings| settings.kubernetes.kubelet_image.clone();
        if before.is_some_and(|before| kubelet(&before) != kubelet(settings)) {
            self.end_service("kubelet");
            self.start_kubelet();
        }
        let Some(node) = self.me() else { return };
        let settings = settings.clone();
        self.spawn(async move {
            node.prove_identity(&settings).await;
            // A changed address must not cut off the answer that tells of it.
            tokio::time::sleep(super::sequence::PARTING).await;
            node.answer_on_all().await;
        });
    }
}

/// A duration as Go prints it.
fn go_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_go_writes_them() {
        assert_eq!(go_duration(Duration::from_mins(1)), "1m0s");
        assert_eq!(go_duration(Duration::from_secs(3725)), "1h2m5s");
    }
}

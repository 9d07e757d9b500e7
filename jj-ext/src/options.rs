//! What the command line says about the repository.

use jj_cli::cli_util::CommandHelper;
use jj_lib::settings::UserSettings;

/// How a repository is opened. The default is what `tether` does: the newest operation, the settings found where jj finds them.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--at-operation`: another operation than the newest. Only reading is allowed then.
    pub(crate) at_operation: Option<String>,
    /// `--ignore-working-copy`. Only reading is allowed then.
    pub(crate) ignore_working_copy: bool,
    /// `--no-integrate-operation`. Only reading is allowed then.
    pub(crate) no_integrate_operation: bool,
    /// `--ignore-immutable`.
    pub(crate) ignore_immutable: bool,
    /// The settings that `jj` loaded, `--config` included; `None` where nobody did.
    pub(crate) settings: Option<UserSettings>,
}

impl Options {
    /// What `jj` was called with.
    pub(crate) fn of(command: &CommandHelper) -> Self {
        let args = command.global_args();
        Self {
            at_operation: args.at_operation.clone(),
            ignore_working_copy: args.ignore_working_copy,
            no_integrate_operation: args.no_integrate_operation,
            ignore_immutable: args.ignore_immutable,
            settings: Some(command.settings().clone()),
        }
    }

    /// Whether `--color` and `ui.color` of `jj` ask for colour; `None` leaves it to the terminal.
    pub fn colour(&self) -> Option<bool> {
        let choice = self.settings.as_ref()?.get_string("ui.color").ok()?;
        match choice.as_str() {
            "always" | "debug" => Some(true),
            "never" => Some(false),
            _ => None,
        }
    }
}

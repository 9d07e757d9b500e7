//! jj's settings, found where jj finds them: defaults, system, environment, user, repository, workspace.

use std::path::Path;

use jj_cli::command_error::CommandError;
use jj_cli::config::{
    ConfigEnv, config_from_environment, default_config_layers, default_config_migrations,
};
use jj_cli::ui::Ui;
use jj_lib::settings::UserSettings;
use tether_engine::{Error, Result};

use crate::failed;

/// The settings that apply in the workspace at `root`, whose repository is at `repository`.
pub(crate) fn load(root: &Path, repository: &Path) -> Result<UserSettings> {
    let ui = Ui::null();
    let mut raw = config_from_environment(default_config_layers());
    let mut env = ConfigEnv::from_environment();
    let config = |error| failed("cannot read jj's configuration", error);
    env.reload_system_config(&mut raw).map_err(config)?;
    env.reload_user_config(&mut raw).map_err(config)?;
    env.reset_repo_path(repository);
    env.reload_repo_config(&ui, &mut raw).map_err(refused)?;
    env.reset_workspace_path(root);
    env.reload_workspace_config(&ui, &mut raw)
        .map_err(refused)?;
    let mut resolved = env
        .resolve_config(&raw)
        .map_err(|error| failed("cannot read jj's configuration", error))?;
    jj_lib::config::migrate(&mut resolved, &default_config_migrations())
        .map_err(|error| failed("cannot read jj's configuration", error))?;
    UserSettings::from_config(resolved)
        .map_err(|error| failed("cannot use jj's configuration", error))
}

/// An error of jj's command line as one of ours.
pub(crate) fn refused(error: CommandError) -> Error {
    Error::vcs("jj refused").with_source(error.error)
}

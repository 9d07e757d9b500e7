//! What this build adds to jj's default configuration: templates and colours (`tether.toml`, which says what each is).

use jj_lib::config::{ConfigLayer, ConfigLoadError, ConfigSource};

/// The added defaults, below every layer a user can write. An error is a mistake in this build, not a user's.
pub(crate) fn defaults() -> Result<ConfigLayer, Box<ConfigLoadError>> {
    ConfigLayer::parse(ConfigSource::Default, include_str!("tether.toml")).map_err(Box::new)
}

#[cfg(test)]
mod tests {
    use super::defaults;

    #[test]
    fn the_added_defaults_are_toml() {
        let layer = defaults().unwrap();
        for name in [
            "templates.log",
            "template-aliases.'format_operation(op)'",
            "colors.tether",
        ] {
            assert!(layer.look_up_item(name).unwrap().is_some(), "{name}");
        }
    }
}

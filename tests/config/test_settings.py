"""The defaults in `Settings` and in config.schema.json are the same."""

from __future__ import annotations

from postrender.config.load import defaults
from postrender.config.settings import Settings, settings_from


def test_the_schema_and_the_settings_have_the_same_defaults() -> None:
    assert settings_from(defaults()) == Settings()


def test_the_schema_gives_a_default_for_every_setting() -> None:
    values = defaults()
    assert all(key in values for key in ("strict", "attacher", "history", "naming", "rules"))
    assert values["attacher"]["timeout"] == Settings().attacher.timeout

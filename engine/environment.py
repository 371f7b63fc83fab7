"""The environment in which the engine runs: ours where the user has set nothing, the user's own where they have."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from engine import install


def pulumi_environment(project: Path) -> dict[str, str]:
    """Return the environment for `pulumi` in `project`; makes the backend's folder and the passphrase file at first use."""
    state = project / os.environ.get("BURNIN_STATE", ".state")
    defaults = {
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PYDANTIC_DISABLE_PLUGINS": "__all__",  # none is used, and looking for them reads what every package says of itself
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    if "PULUMI_BACKEND_URL" not in os.environ:
        defaults["PULUMI_BACKEND_URL"] = f"file://{_made(state / 'pulumi')}"
    if not {"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"} & os.environ.keys():
        defaults["PULUMI_CONFIG_PASSPHRASE_FILE"] = str(_passphrase(_made(state) / "passphrase"))
    home, users = install.home(project), install.users_home()
    if home != users and (users / "credentials.json").exists():
        defaults["PULUMI_CREDENTIALS_PATH"] = str(users)  # a backend that the user is logged in to
    path = f"{install.programs(project)}:{os.environ.get('PATH', '')}"
    return {**defaults, **os.environ, "PATH": path, "PULUMI_HOME": str(home)}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _passphrase(path: Path) -> Path:
    """Make it once, readable for its owner alone; without it the stack's secrets cannot be read again."""
    if not path.exists():
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
        try:
            os.link(fresh, path)  # whoever comes second keeps the first one's
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return path

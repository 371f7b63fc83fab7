"""The local platform: this machine. Folders are disks, a supervised process group is the instance."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pulumi
from pulumi_command import local

from components.config import ConfigError, ConfigErrors, Disk, Experiment
from components.platforms.base import InstanceArgs, Machine, Made, ProofArgs
from components.platforms.local_gpus import find_machine
from components.platforms.local_state import deleted, made_but_gone, next_generation, next_revision, taken
from components.programs import pack


@dataclass(frozen=True, kw_only=True)
class Step:
    """One program run as a command resource: `word` creates and updates, `end` deletes, both read the same spec."""

    program: str
    word: str
    spec: pulumi.Input[Mapping[str, Any]]
    end: str | None = None
    triggers: Sequence[Any] = ()


@dataclass(frozen=True, kw_only=True)
class Local:
    """This machine, with everything of the experiment in one folder below `.state/local` (or `platform.root`)."""

    kind: ClassVar[str] = "local"
    experiment: Experiment
    project: Path
    state: Path

    @property
    def root(self) -> Path:
        """The folder of the experiment: disks, instance record, ledger, logs, results."""
        return Path(self.experiment.platform.root or self.state / "local") / self.experiment.name

    def machine(self) -> Machine:
        """See NVML and the disks' markers; raise ConfigErrors when declared GPUs or known disks are missing."""
        if problems := (*self._vanished(), *self._no_place_for_copies()):
            raise ConfigErrors(problems, f"experiment {self.experiment.name}")
        return find_machine(self.experiment.instances)

    def _vanished(self) -> Iterator[ConfigError]:
        for index, disk in enumerate(self.experiment.disks):
            folder = Path(self.folder(disk))
            if (how := deleted(folder)) is not None:
                yield from _restorable(index, disk, how)
            elif (made := made_but_gone(folder)) is not None:
                yield ConfigError(
                    path=f"disks[{index}]",
                    line=None,
                    rule=f"disk {disk.name} vanished: {folder} has lost its marker",
                    hint=f"mount or move it back; to give it up for good and start empty, remove {made}",
                )

    def _no_place_for_copies(self) -> Iterator[ConfigError]:
        """A copy inside what is deleted, or in what `git clean` takes, is none; a folder that is missing is a volume that is."""
        end = self.experiment.budget.disks_end
        if end is None:
            return
        place = Path(end.snapshot_to).resolve()
        for folder, words in ((self.root, "the experiment's own folder"), (self.state, "the project's state")):
            if folder.resolve() in (place, *place.parents):
                yield _misplaced(end.snapshot_to, f"lies inside {words}, {folder}", "name a folder elsewhere")
                return
        if not place.is_dir():
            yield _misplaced(end.snapshot_to, "expected a folder that is there", f"mount it, or `mkdir -p {place}`")

    def logs(self, half: str) -> str:
        """Folder of the rank logs."""
        return str(self.root / "logs" / half)

    def folder(self, disk: Disk) -> str:
        """A folder beside the others of the experiment."""
        return str(self.root / "disks" / disk.name)

    def disk(self, name: str, disk: Disk, opts: pulumi.ResourceOptions) -> Made:
        """A folder with a marker file."""
        spec = {
            "schema": "burnin.disk-spec/2",
            "path": self.folder(disk),
            "experiment": self.experiment.name,
            "name": disk.name,
            "size_gib": disk.size_gib,
            "instead_of": disk.instead_of,
            "taken": taken(Path(self.folder(disk))),
        }
        return self._make(name, Step(program="burnhost", word="disk-ensure", spec=spec), opts)

    def alarm(self, name: str, plan: pulumi.Input[Mapping[str, Any]], opts: pulumi.ResourceOptions) -> Made:
        """A detached process; a dead one is seen here and started again."""
        spec = pulumi.Output.from_input(plan).apply(self._placed_plan)
        return self._make(name, Step(program="burnmeter", word="arm", end="disarm", spec=spec), opts)

    def image(self, name: str, reference: str, opts: pulumi.ResourceOptions) -> Made:
        """Resolved by docker or podman where one answers."""
        spec = {"schema": "burnin.image-spec/1", "reference": reference}
        return self._make(name, Step(program="burnhost", word="image-resolve", spec=spec), opts)

    def instance(self, name: str, args: InstanceArgs, opts: pulumi.ResourceOptions) -> Made:
        """A supervisor that holds the deadline; a dead one is seen here and replaced."""
        budget = self.experiment.budget
        spec = {
            "schema": "burnin.instance-spec/1",
            "root": str(self.root),
            "experiment": self.experiment.name,
            "generation": next_generation(self.root),
            "lifetime_s": int(budget.lifetime_h * 3600),
            "grace_s": budget.grace_s,
            "permit": [self._python(), self._program("burnmeter"), "permit", str(self.root / "meter")],
            "facts": {
                "limit": str(budget.limit),
                "driver": args.machine.driver,
                "disks": [self.folder(disk) for disk in self.experiment.disks],
            },
        }
        triggers = [spec["generation"], args.image, args.machine.model, args.machine.count, args.machine.driver]
        step = Step(program="burnhost", word="instance-start", end="instance-stop", spec=spec, triggers=triggers)
        return self._make(name, step, opts)

    def proof(self, name: str, args: ProofArgs, opts: pulumi.ResourceOptions) -> Made:
        """gpuverify inside the image, on its torch; without one in a process group of its own, on that of `.venv-verify`."""
        spec = pulumi.Output.all(args.instance, args.image).apply(lambda given: self._run_spec(name, args, *given))
        program = pack(self.project, self.state, "gpuverify")
        step = Step(program="burnhost", word="run", spec=spec, triggers=[*args.triggers, program.sha256])
        return self._make(name, step, opts)

    def connect(self) -> str:
        """The instance is this machine."""
        return f"cd {shlex.quote(str(self.root / 'disks'))}"

    def _run_spec(self, name: str, args: ProofArgs, instance: str, image: Mapping[str, Any]) -> dict[str, Any]:
        container = self._container(image, on_gpus=args.plan["device"] == "cuda")
        return {
            "schema": "burnin.run-spec/1",
            "root": str(self.root),
            "instance": instance,
            "name": name,
            "argv": ["python3" if container else self._torch_python(), self._program("gpuverify"), "run"],
            "stdin": json.dumps(args.plan),
            "env": {},
            "cwd": str(self.project),
            "deadline_s": args.plan["deadline_s"] + self.experiment.budget.grace_s,
            "result": str(self.root / "results" / f"{args.half}.json"),
            "log": str(self.root / "logs" / f"{name}.log"),
            "on_failure": self.experiment.verification.on_failure,
            "go_on": list(args.go_on),
            "container": container,
        }

    def _container(self, image: Mapping[str, Any], *, on_gpus: bool) -> dict[str, Any] | None:
        """What of this machine the image sees: the program, its logs, and each disk, at its mount and as the plan names it."""
        if image["runtime"] == "none":
            return None
        program, logs = self._program("gpuverify"), str(self.root / "logs")
        mounts = [_mount(program, program, writable=False), _mount(logs, logs)]
        for disk in self.experiment.disks:
            folder = self.folder(disk)
            mounts += [_mount(folder, folder), _mount(folder, disk.mount)]
        return {"runtime": image["runtime"], "image": image["digest"], "gpus": on_gpus, "mounts": mounts}

    def _make(self, name: str, step: Step, opts: pulumi.ResourceOptions) -> Made:
        run = f"exec {shlex.quote(self._python())} {shlex.quote(self._program(step.program))}"
        command = local.Command(
            name,
            create=f"{run} {step.word}",
            delete=f"{run} {step.end}" if step.end else None,
            stdin=pulumi.Output.json_dumps(step.spec),
            triggers=list(step.triggers),
            logging=local.Logging.STDERR,
            add_previous_output_in_env=False,
            opts=opts,
        )
        return Made(resource=command, facts=command.stdout.apply(json.loads))

    def _placed_plan(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The plan with this machine's folders and the programs that act on it."""
        host, root = [self._python(), self._program("burnhost")], str(self.root)
        permit = [self._python(), self._program("burnmeter"), "permit", str(self.root / "meter")]
        checkpoint = given["checkpoint"]
        if checkpoint is not None:
            knock = {"schema": "burnin.workload-signal/1", "root": root, "signal": checkpoint["signal"]}
            rest = {key: value for key, value in checkpoint.items() if key != "signal"}
            checkpoint = {**rest, "program": [*host, "workload-signal"], "stdin": json.dumps(knock)}
        ending = {"schema": "burnin.instance-stop/1", "root": root, "reason": "budget"}
        renewal = {"schema": "burnin.instance-renew/1", "root": root, "permit": permit}
        return {
            **given,
            "folder": str(self.root / "meter"),
            "instance": str(self.root / "instance" / "current.json"),
            "signs": str(self.root / "run"),
            "release": [*host, "instance-stop"],
            "release_stdin": json.dumps(ending),
            "stop": [*host, "workload-stop"],
            "stop_stdin": json.dumps({"schema": "burnin.workload-stop/1", "root": root}),
            "renew": [*host, "instance-renew"],
            "renew_stdin": json.dumps(renewal),
            "checkpoint": checkpoint,
            "disks_end": self._placed_end(given["disks_end"], host) if given["disks_end"] else None,
            "channels": [self._placed(channel) for channel in given["channels"]],
            "revision": next_revision(self.root / "meter"),
        }

    def _placed_end(self, end: Mapping[str, Any], host: list[str]) -> dict[str, Any]:
        spec = {
            "schema": "burnin.disk-end/1",
            "root": str(self.root),
            "experiment": self.experiment.name,
            "names": end["disks"],
            "snapshot_to": end["snapshot_to"],
        }
        programs = {"snapshot": [*host, "disk-snapshot"], "delete": [*host, "disk-delete"]}
        return {**end, **programs, "snapshot_stdin": json.dumps(spec), "delete_stdin": json.dumps(spec)}

    def _placed(self, channel: Mapping[str, Any]) -> dict[str, Any]:
        """A file is named from the project, a program too where its name has a slash; the meter runs elsewhere."""
        placed = dict(channel)
        if "path" in channel:
            placed["path"] = str(self.project / channel["path"])
        if "command" in channel and "/" in channel["command"][0]:
            placed["command"] = [str(self.project / channel["command"][0]), *channel["command"][1:]]
        return placed

    def _program(self, name: str) -> str:
        return str(self.project / pack(self.project, self.state, name).path)

    def _python(self) -> str:
        return sys.executable

    def _torch_python(self) -> str:
        proving = self.project / ".venv-verify" / "bin" / "python"
        return str(proving) if proving.exists() else sys.executable


def _restorable(index: int, disk: Disk, how: Mapping[str, Any]) -> Iterator[ConfigError]:
    if disk.instead_of == how["id"]:
        return
    rule = f"disk {disk.name} was deleted on {how['at']}, as `budget.disks_end` said; its copy is {how['snapshot']}"
    hint = f"restore it: {how['restore']}; to give it up and start empty, write `instead_of: {how['id']}` here"
    yield ConfigError(path=f"disks[{index}]", line=None, rule=rule, hint=hint)


def _misplaced(place: str, rule: str, hint: str) -> ConfigError:
    return ConfigError(path="budget.disks_end.snapshot_to", line=None, rule=rule, value=place, hint=hint)


def _mount(host: str, inside: str, *, writable: bool = True) -> dict[str, Any]:
    return {"host": host, "inside": inside, "writable": writable}

"""The design's limits, held over the syntax tree: what a reader can rely on in every file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = ("components", "cli", "engine", "bench", "images")
FILES = [ROOT / "__main__.py", *(path for folder in CODE for path in sorted((ROOT / folder).rglob("*.py")))]
LONGEST_FUNCTION, LONGEST_FILE, MOST_PARAMETERS = 60, 300, 5


def _id(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_file(path: Path) -> None:
    text = path.read_text()
    lines = len(text.splitlines())
    assert lines <= LONGEST_FILE or "catalog" in path.parts, f"{lines} lines: which part has a name of its own?"
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module says in one line what it is"
    problems = [*_functions(tree), *_classes(tree), *_outputs(tree)]
    assert problems == []


def test_the_program_is_a_table_of_contents() -> None:
    assert len((ROOT / "__main__.py").read_text().splitlines()) <= 30


def _functions(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        size = (node.end_lineno or node.lineno) - node.lineno + 1
        if size > LONGEST_FUNCTION:
            yield f"{node.name} has {size} lines"
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        named = [one for one in arguments if one.arg not in ("self", "cls")]
        if len(named) > MOST_PARAMETERS:
            yield f"{node.name} has {len(named)} parameters: a dataclass?"
        if node.returns is None or any(one.annotation is None for one in named):
            yield f"{node.name} is not annotated"
        public = not node.name.startswith("_") and node.name[0].islower()
        if public and node in tree.body and not ast.get_docstring(node):
            yield f"{node.name} is public and not documented"
        if any(
            isinstance(n, ast.Raise) and n.exc and "NotImplementedError" in ast.unparse(n.exc) for n in ast.walk(node)
        ):
            yield f"{node.name} is a stub"


def _classes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        if node in tree.body and not node.name.startswith("_") and not ast.get_docstring(node):
            yield f"{node.name} is public and not documented"
        if any(word in node.name for word in ("Manager", "Helper", "Utils")):
            yield f"{node.name} says nothing"
        if "ComponentResource" in ast.unparse(ast.Tuple(elts=node.bases)):
            last = ast.unparse(next(n for n in node.body if getattr(n, "name", "") == "__init__").body[-1])
            if not last.startswith("self.register_outputs("):
                yield f"{node.name} does not end in register_outputs"


def _outputs(tree: ast.Module) -> Iterator[str]:
    """No resource is made inside an apply: what decides that one exists is never an output."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "apply":
            made = [n for n in ast.walk(node) if isinstance(n, ast.Call) and "opts" in {k.arg for k in n.keywords}]
            if made:
                yield f"line {node.lineno}: a resource inside apply"

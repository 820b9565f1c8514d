# All targets set themselves up: a machine with Python, pip and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

.PHONY: demo loops elements api docs viewer browser test test-rest test-deep lint bench bars papers papers-page clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP)-core: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(STAMP)-%: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	touch $@

demo: $(STAMP)-plot  ## a quarter car over a bump, from a model file: certificate, quarter_car.csv, quarter_car.png
	$(BIN)/whippletree run examples/quarter_car.yaml --csv quarter_car.csv --plot quarter_car.png

loops: $(STAMP)-loops  ## the machine code of the time loops, after they were edited; about two minutes
	$(BIN)/python -m whippletree.simulate.loop_compiler.make_loops

elements: $(STAMP)-core  ## the methods of Mechanism for element types and their page, after one was added or changed
	$(BIN)/python tools/element_methods.py

api: $(STAMP)-core  ## the list of public names and the page of tolerances, after one came, went or changed
	$(BIN)/python tools/public_names.py docs/api.txt
	$(BIN)/python tools/tolerances_page.py docs/theory/tolerances.md

docs: $(STAMP)-docs  ## the site, in build/site; the examples run for it, some minutes
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	@echo "open build/site/index.html"

PAGE := src/whippletree/viewer/page

viewer:  ## the script of the viewer's page, after it was edited (needs Node)
	cd $(PAGE) && npm ci --no-audit --no-fund && npm run build

browser: $(STAMP)-browser  ## a Chromium for the tests of the viewer's page, if there is none; no root needed
	cd tests && ../$(BIN)/python -m support.install_browser

test: $(STAMP)-test  ## the tests, each thing once: five minutes on two cores
	$(BIN)/python -m pytest -n 2 -m core

test-rest: $(STAMP)-test  ## the same things in further cases, five minutes more
	$(BIN)/python -m pytest -n 2 -m "not core and not deep"

test-deep: $(STAMP)-test  ## everything, the long comparisons included
	$(BIN)/python -m pytest -n 2

lint: $(STAMP)-lint  ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

bench: $(STAMP)-bench  ## our speed beside the peers', one core (needs gcc and g++)
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/loops.py
	$(BIN)/python benchmarks/simulation.py
	$(BIN)/python benchmarks/control.py
	$(BIN)/python benchmarks/growth.py families lcaba compile
	$(BIN)/python benchmarks/choice.py
	$(BIN)/python benchmarks/assembly.py

bars: $(STAMP)-bench  ## every bar of every benchmark, met or missed; some hours on a quiet machine
	$(BIN)/python benchmarks/every_bar.py

papers: $(STAMP)-core  ## the papers' tables and figures with ours beside them
	$(BIN)/whippletree papers

papers-page: $(STAMP)-core  ## the same as pages of docs/theory, and each text's equations
	$(BIN)/whippletree papers --page docs/theory/papers_tables.md
	for text in kang-yoon nikravesh critchley-anderson garcia-de-jalon jain; do \
		$(BIN)/whippletree papers $$text --page docs/theory/equations_$$(echo $$text | tr - _).md; done
	$(BIN)/whippletree papers errata --page docs/theory/errata.md

clean:
	rm -rf $(VENV) benchmarks/.build

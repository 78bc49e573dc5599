# What people who change cepsql type; .ci/run does the same in a fresh environment.
.PHONY: install check test docs bench

install:
	python -m pip install --quiet -e '.[java,test,docs]'

check:
	ruff check
	ruff format --check
	lint-imports
	mypy

test:
	pytest

docs:
	python docs/make_reference.py
	python docs/make_syntax.py
	mkdocs build --strict

bench:
	python tests/bench/run.py

# A menu. The work is done by script/* and by the command itself.
# ARGS goes to what is called: make test ARGS="-k window -x"
ARGS =
BIN = .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test torture clients docs site man format lint types layers bench lock clean setup

help:
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

demo:    ## see it work, offline
	@sh script/demo $(ARGS)

test:    ## every check: format, lint, types, layers, tests
	@sh script/test $(ARGS)

torture: ## every test, those that run long included, with new seeds
	@sh script/torture $(ARGS)

clients: ## install the coding clients that some tests run (needs npm)
	@sh script/clients

docs:    ## make anew the parts of docs/ that come from the code
	@sh script/docs $(ARGS)

site:    ## build the documentation as a site, in build/site-src/site
	@sh script/site $(ARGS)

man:     ## write a manual page for each command, in build/man
	@sh script/man $(ARGS)

format: setup ## lay the code out, mend what can be mended by machine
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format

lint: setup ## style and common mistakes
	$(BIN)/ruff check $(ARGS)

types: setup ## types, strictly
	$(BIN)/mypy $(ARGS)
	$(BIN)/basedpyright --level error

layers: setup ## imports only go down
	$(BIN)/lint-imports --no-logo $(ARGS)

bench: setup ## time the kernel
	$(BIN)/pagefault bench kernel $(ARGS)

lock:    ## write requirements.lock anew (needs uv)
	@sh script/lock $(ARGS)

clean:   ## remove .venv, caches and builds
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

setup:
	@sh script/bootstrap

"""Tests of the operator. Each folder here is a package: without that, their modules would be named
after the folder ``operator`` and stand where the standard library's module of that name does."""

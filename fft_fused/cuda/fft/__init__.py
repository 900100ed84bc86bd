"""Texts of FFTs for one block of threads: shapes, codelets and the stages between them."""

"""Reading the user's own files: one reader for `fewfold label`, ``source: file`` and Python.

`reading` picks the reader for a kind of file; `table_files`, `array_files` and `cell_files` are
those readers. A table's columns are understood one by one (`columns`) into a plan of plain values
(`plan`), by which its rows, and those of later tables, become features (`encoding`). `marks` lists
the cells that hold nothing.
"""

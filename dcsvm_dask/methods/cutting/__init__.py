"""Linear SVMs by cutting planes in the primal: OCAS and CPA (Franc, Sonnenburg, ICML 2008).

Rows that are one part are iterated over in memory; of several parts each finds the outputs and the
cut of its rows, and what they sum up to has a fixed size.
"""

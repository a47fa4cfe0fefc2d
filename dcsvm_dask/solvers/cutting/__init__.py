"""Linear SVMs by cutting planes in the primal: OCAS and the plain cutting plane algorithm."""

"""SpSVM (Keerthi, Chapelle, DeCoste, JMLR 2006): a greedy choice of basis vectors."""

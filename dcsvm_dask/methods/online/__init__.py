"""LaSVM (Bordes, Ertekin, Weston, Bottou, JMLR 2005): rows one by one, in one task."""

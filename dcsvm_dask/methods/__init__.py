"""What methods of training are made of, and a folder for each; no Dask, no files but by storage."""

"""What methods of linear SVMs share: their parameters, the rows of a part, the model."""

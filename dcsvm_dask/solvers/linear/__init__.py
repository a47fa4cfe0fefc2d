"""Linear SVMs by dual coordinate descent."""

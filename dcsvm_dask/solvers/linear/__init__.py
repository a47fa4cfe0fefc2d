"""Linear SVMs: dual coordinate descent, Newton's method, the l1 penalty, many classes at once."""

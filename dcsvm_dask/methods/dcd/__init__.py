"""Linear SVMs by dual coordinate descent (Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008).

Rows stream by chunk, in one part or in several that descend side by side.
"""

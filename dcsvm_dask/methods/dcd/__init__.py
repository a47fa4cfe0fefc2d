"""Linear SVMs by dual coordinate descent (Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML 2008).

Rows stream by chunk, in one part or in several that descend side by side. All classes may share one
problem (Crammer, Singer, JMLR 2, 2001), whose rows are in memory.
"""

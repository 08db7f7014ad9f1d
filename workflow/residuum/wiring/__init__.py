"""The inputs, options and resources of every job, for the rules, `plan`, `explain` and `bundle`.

The rules use `residuum.wiring.driver.Wiring`.
"""

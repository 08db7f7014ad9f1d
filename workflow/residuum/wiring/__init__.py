"""Which files belong together: every decision of the graph, shared by rules, plan, explain, bundle.

`residuum.wiring.driver.Wiring` is what rules use. `run_ids`, `paths`, `specs` and `bound` know no
registry, so that stages may import them; no stage may import the others.
"""

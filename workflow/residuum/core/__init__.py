"""What every stage shares: schema, registry, file contracts, manifests, seeds.

Must not know torch, the JVM or the network.
"""

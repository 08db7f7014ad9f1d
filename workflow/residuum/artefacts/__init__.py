"""Files that stages exchange: one writer and one checking reader per type, hashes, manifests.

Must not know stages, rules or config/.
"""

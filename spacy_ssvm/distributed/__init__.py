"""Training and annotation on several machines: shards, workers and one learner."""

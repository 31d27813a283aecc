"""What models share that give labels to tokens or units: weights, training, explanations."""

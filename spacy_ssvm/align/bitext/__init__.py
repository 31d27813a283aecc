"""Word association from parallel texts: Dice, IBM Model 1, and the HMM alignment model."""

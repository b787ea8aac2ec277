# Uniform: any size up to 1 MB is as likely as any other. Not measured anywhere; easy to calculate with.
# bytes      probability of at most so many
0            0
1000000      1
